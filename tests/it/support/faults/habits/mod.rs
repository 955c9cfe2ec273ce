//! The habits of the service behind a test: choices for facts that `docs/api.md` does not show.
//!
//! The sandbox alone is the friendliest plausible service. A habit changes a request before the sandbox carries it out,
//! or the answer afterwards; a fault may spoil that answer. Facts that need the sandbox's store are its `Options`.

mod normalise;

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    response::Response,
};
use kbsync::sandbox::CarryOut;
pub(crate) use normalise::Normalise;

/// All habits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Habits {
    /// How the service rewrites what it is sent before it stores it.
    pub(crate) normalise: Normalise,
}

impl Habits {
    /// Makes a function that carries out a request as a service with these habits does.
    pub(super) fn around(self, carry_out: CarryOut) -> CarryOut {
        if self == Self::default() {
            return carry_out;
        }
        Box::new(|request| Box::pin(self.answer(request, carry_out)))
    }

    async fn answer(self, request: Request, carry_out: CarryOut) -> Response {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body in memory");
        let body = self.normalise.rewrite(body);
        carry_out(Request::from_parts(parts, Body::from(body))).await
    }
}
