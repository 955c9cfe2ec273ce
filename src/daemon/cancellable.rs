//! A service whose requests can be cancelled: after a stop signal no request begins, and a read in flight ends at
//! once.
//!
//! A write in flight is finished, so that its outcome is recorded. A POST that waits for room in the budget at that
//! moment may still be sent. The outage that the last request met is stored for the loop.

use super::outage::Outage;
use crate::{
    model::{ArticleId, CategoryId, WorkspaceId},
    service::{
        Answer, ArticlePatch, CategoryPatch, ErrorKind, ListEnd, ListRequest, Listed, NewArticle,
        NewCategory, Purpose, RemoteArticle, RemoteCategory, Service, ServiceError, ServiceRead,
        ServiceWrite, Usage, Workspace,
    },
};
use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// The stop signal and the last outage, shared by all services of a daemon.
#[derive(Clone, Debug)]
pub struct CancelFlag {
    stop: CancellationToken,
    outage: Arc<Mutex<Option<Outage>>>,
}

impl CancelFlag {
    /// Makes a flag that is set when `stop` is cancelled.
    pub fn new(stop: CancellationToken) -> Self {
        Self {
            stop,
            outage: Arc::default(),
        }
    }

    /// Takes the outage that the last request met, if it met one.
    pub fn take_outage(&self) -> Option<Outage> {
        self.outage
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn set_outage(&self, outage: Option<Outage>) {
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner) = outage;
    }

    /// The answer to every request after the stop signal.
    fn refused(&self, method: &'static str) -> ServiceError {
        self.set_outage(Some(Outage::Stopping));
        ServiceError {
            kind: ErrorKind::Closed,
            method,
            path: String::new(),
            status: None,
            message: "not sent: kbsync is stopping".to_owned(),
            answer_lost: false,
            source: None,
        }
    }
}

/// A service whose requests can be cancelled.
#[derive(Debug)]
pub struct Cancellable<S> {
    inner: S,
    cancel: CancelFlag,
}

impl<S: Service> Cancellable<S> {
    /// Wraps a service.
    pub fn new(inner: S, cancel: CancelFlag) -> Self {
        Self { inner, cancel }
    }

    async fn read<T>(
        &self,
        method: &'static str,
        request: impl Future<Output = Answer<T>> + Send,
    ) -> Answer<T> {
        if self.cancel.stop.is_cancelled() {
            return Err(self.cancel.refused(method));
        }
        tokio::select! {
            biased;
            answer = request => self.recorded(answer),
            () = self.cancel.stop.cancelled() => Err(self.cancel.refused(method)),
        }
    }

    async fn write<T>(
        &self,
        method: &'static str,
        request: impl Future<Output = Answer<T>> + Send,
    ) -> Answer<T> {
        if self.cancel.stop.is_cancelled() {
            return Err(self.cancel.refused(method));
        }
        self.recorded(request.await)
    }

    fn recorded<T>(&self, answer: Answer<T>) -> Answer<T> {
        self.cancel.set_outage(match &answer {
            Ok(_) => None,
            Err(error) => outage_of(&error.kind),
        });
        answer
    }
}

/// Returns the outage that a failure stands for; `None`: other requests may succeed.
pub fn outage_of(kind: &ErrorKind) -> Option<Outage> {
    match kind {
        ErrorKind::Unauthorized => Some(Outage::TokenRejected),
        ErrorKind::RateLimited { retry_after } => Some(Outage::Throttled { wait: *retry_after }),
        ErrorKind::BudgetSpent { free_in } => Some(Outage::BudgetSpent { free_in: *free_in }),
        ErrorKind::Unavailable => Some(Outage::Unreachable),
        ErrorKind::Closed => Some(Outage::Stopping),
        ErrorKind::Forbidden
        | ErrorKind::NotFound
        | ErrorKind::Refused
        | ErrorKind::Unreadable
        | ErrorKind::TooLarge => None,
    }
}

impl<S: Service> ServiceRead for Cancellable<S> {
    async fn workspaces(&self) -> Answer<Vec<Workspace>> {
        self.read("GET", self.inner.workspaces()).await
    }

    async fn workspace(&self, id: WorkspaceId) -> Answer<Workspace> {
        self.read("GET", self.inner.workspace(id)).await
    }

    async fn category(
        &self,
        id: CategoryId,
        purpose: Purpose,
    ) -> Answer<(RemoteCategory, Vec<Listed>)> {
        self.read("GET", self.inner.category(id, purpose)).await
    }

    async fn article(&self, id: ArticleId, purpose: Purpose) -> Answer<RemoteArticle> {
        self.read("GET", self.inner.article(id, purpose)).await
    }

    async fn list(
        &self,
        request: &ListRequest,
        sink: &mut (dyn FnMut(Listed) + Send),
    ) -> Answer<ListEnd> {
        self.read("GET", self.inner.list(request, sink)).await
    }
}

impl<S: Service> ServiceWrite for Cancellable<S> {
    async fn create_article(&self, new: &NewArticle) -> Answer<RemoteArticle> {
        self.write("POST", self.inner.create_article(new)).await
    }

    async fn update_article(&self, id: ArticleId, patch: &ArticlePatch) -> Answer<RemoteArticle> {
        self.write("PUT", self.inner.update_article(id, patch))
            .await
    }

    async fn probe(&self, id: ArticleId, purpose: Purpose) -> Answer<RemoteArticle> {
        // A probe changes nothing, so its answer may be lost.
        self.read("PUT", self.inner.probe(id, purpose)).await
    }

    async fn delete_article(&self, id: ArticleId) -> Answer<()> {
        self.write("DELETE", self.inner.delete_article(id)).await
    }

    async fn create_category(&self, new: &NewCategory) -> Answer<RemoteCategory> {
        self.write("POST", self.inner.create_category(new)).await
    }

    async fn update_category(
        &self,
        id: CategoryId,
        patch: &CategoryPatch,
    ) -> Answer<RemoteCategory> {
        self.write("PUT", self.inner.update_category(id, patch))
            .await
    }
}

impl<S: Service> Service for Cancellable<S> {
    fn usage(&self) -> Usage {
        self.inner.usage()
    }

    async fn reserve(&self, requests: u32, purpose: Purpose) -> Answer<()> {
        self.read("GET", self.inner.reserve(requests, purpose))
            .await
    }

    async fn release(&self) {
        self.inner.release().await;
    }
}
