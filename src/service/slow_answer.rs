//! Notifies after some seconds without an answer, long before the request fails.

use super::client::Client;
use super::options::{WaitNote, WaitReason};
use std::{future::Future, pin::pin, time::Duration};

/// A person begins to wonder after this time.
const NOTICE_AFTER: Duration = Duration::from_secs(5);

impl Client {
    /// Waits for an answer to begin.
    pub(super) async fn await_answer<T>(&self, sign: impl Future<Output = T>) -> T {
        self.with_notice(WaitReason::Silent, sign).await
    }

    /// Waits for the next part of an answer.
    pub(super) async fn await_more<T>(&self, sign: impl Future<Output = T>) -> T {
        self.with_notice(WaitReason::Stalled, sign).await
    }

    async fn with_notice<T>(&self, reason: WaitReason, sign: impl Future<Output = T>) -> T {
        let Some(notify) = &self.options.notify else {
            return sign.await;
        };
        let mut sign = pin!(sign);
        if let Ok(came) = tokio::time::timeout(NOTICE_AFTER, sign.as_mut()).await {
            return came;
        }
        notify(WaitNote {
            reason,
            wait: self.options.idle_timeout.saturating_sub(NOTICE_AFTER),
            cause: None,
        });
        sign.await
    }
}
