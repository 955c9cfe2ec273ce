//! A silent service is told of after some seconds, long before it is given up.

use super::client::Client;
use super::options::{WaitNote, WaitReason};
use std::{future::Future, pin::pin, time::Duration};

/// Who looks on begins to wonder after so long.
const UNTOLD: Duration = Duration::from_secs(5);

impl Client {
    /// Waits for a sign of the service. What it comes to does not depend on what is told.
    pub(super) async fn hear<T>(&self, sign: impl Future<Output = T>) -> T {
        let Some(notify) = &self.options.notify else {
            return sign.await;
        };
        let mut sign = pin!(sign);
        if let Ok(came) = tokio::time::timeout(UNTOLD, sign.as_mut()).await {
            return came;
        }
        notify(WaitNote {
            reason: WaitReason::Silent,
            wait: self.options.idle_timeout.saturating_sub(UNTOLD),
        });
        sign.await
    }
}
