//! A silent service is told of after some seconds, long before it is given up.

use super::client::Client;
use super::options::{WaitNote, WaitReason};
use std::{future::Future, pin::pin, time::Duration};

/// Who looks on begins to wonder after so long.
const UNTOLD: Duration = Duration::from_secs(5);

impl Client {
    /// Waits for the service to answer. What it comes to does not depend on what is told.
    pub(super) async fn hear<T>(&self, sign: impl Future<Output = T>) -> T {
        self.hear_or_tell(WaitReason::Silent, sign).await
    }

    /// Waits for the next part of an answer.
    pub(super) async fn hear_more<T>(&self, sign: impl Future<Output = T>) -> T {
        self.hear_or_tell(WaitReason::Stalled, sign).await
    }

    async fn hear_or_tell<T>(&self, reason: WaitReason, sign: impl Future<Output = T>) -> T {
        let Some(notify) = &self.options.notify else {
            return sign.await;
        };
        let mut sign = pin!(sign);
        if let Ok(came) = tokio::time::timeout(UNTOLD, sign.as_mut()).await {
            return came;
        }
        notify(WaitNote {
            reason,
            wait: self.options.idle_timeout.saturating_sub(UNTOLD),
        });
        sign.await
    }
}
