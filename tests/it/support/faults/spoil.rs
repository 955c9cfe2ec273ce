//! Spoils answers: dropped, cut short, slow, endless, or of the wrong type.

use super::{FaultKind, lines::Line, wrong_types};
use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, StatusCode, header, response::Parts},
    response::Response,
};
use futures_util::{StreamExt, stream};
use kbsync::sandbox::Dropped;
use serde_json::Value;
use std::{convert::Infallible, io, time::Duration};

/// The bytes that [`FaultKind::Endless`] repeats.
const ENDLESS_CHUNK: usize = 64 * 1024;

/// Drops the connection. A request in memory has no connection, so the answer's body fails instead.
pub(super) fn cut(line: &Line) -> Response {
    line.cut();
    let mut response = Response::new(Body::from_stream(stream::once(async {
        Err::<Bytes, _>(io::Error::from(io::ErrorKind::ConnectionReset))
    })));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response.extensions_mut().insert(Dropped);
    response
}

/// Applies a fault to an answer.
pub(super) async fn spoil(response: Response, fault: FaultKind, line: &Line) -> Response {
    match fault {
        FaultKind::Truncate(bytes) => {
            let (parts, whole) = whole(response).await;
            let length = whole.len();
            let kept = whole.slice(..bytes.min(length));
            let line = line.clone();
            let body = stream::iter([Ok(kept)]).chain(stream::once(async move {
                // The bytes so far must be sent before the line is cut.
                tokio::time::sleep(Duration::from_millis(20)).await;
                line.cut();
                Err(io::Error::from(io::ErrorKind::ConnectionReset))
            }));
            let mut response = Response::from_parts(parts, Body::from_stream(body));
            response.headers_mut().insert(
                header::CONTENT_LENGTH,
                HeaderValue::from(length.max(bytes + 1)),
            );
            response
        }
        FaultKind::InvalidJson => {
            let (parts, whole) = whole(response).await;
            Response::from_parts(parts, Body::from(whole.slice(..whole.len() / 2)))
        }
        FaultKind::WrongType => edited(response, wrong_types).await,
        FaultKind::Edit(edit) => edited(response, |answer| edit.apply(answer)).await,
        FaultKind::Slow { bytes, pause } => {
            let (parts, whole) = whole(response).await;
            let drops = stream::unfold(whole, move |mut rest| async move {
                if rest.is_empty() {
                    return None;
                }
                tokio::time::sleep(pause).await;
                let drop = rest.split_to(bytes.clamp(1, rest.len()));
                Some((Ok::<_, Infallible>(drop), rest))
            });
            Response::from_parts(parts, Body::from_stream(drops))
        }
        FaultKind::Endless => {
            let (mut parts, whole) = whole(response).await;
            parts.headers.remove(header::CONTENT_LENGTH);
            let spaces = Bytes::from(vec![b' '; ENDLESS_CHUNK]);
            let start = whole.slice(..whole.len().saturating_sub(1));
            let body = stream::once(async { start }).chain(stream::repeat(spaces));
            Response::from_parts(parts, Body::from_stream(body.map(Ok::<_, Infallible>)))
        }
        FaultKind::Latency(_)
        | FaultKind::Hook(_)
        | FaultKind::HookAfter(_)
        | FaultKind::Status(..)
        | FaultKind::Raw(_)
        | FaultKind::Html
        | FaultKind::RateLimited { .. }
        | FaultKind::ResetBefore
        | FaultKind::ResetAfter => response,
    }
}

/// Reads an answer to its end. Its length may change afterwards.
pub(super) async fn whole(response: Response) -> (Parts, Bytes) {
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    let bytes = axum::body::to_bytes(body, usize::MAX)
        .await
        .unwrap_or_default();
    (parts, bytes)
}

/// Changes the JSON of an answer.
pub(super) async fn edited(response: Response, edit: impl FnOnce(&mut Value)) -> Response {
    let (parts, whole) = whole(response).await;
    let Ok(mut answer) = serde_json::from_slice::<Value>(&whole) else {
        return Response::from_parts(parts, Body::from(whole));
    };
    edit(&mut answer);
    Response::from_parts(parts, Body::from(answer.to_string()))
}
