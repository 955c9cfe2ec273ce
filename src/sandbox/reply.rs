//! Answers: JSON with its status, and the refusals of A7.

use axum::{
    body::Body,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

/// Why a request is refused, with a message for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// 400
    Malformed(String),
    /// 403
    Forbidden(String),
    /// 404
    NotFound(&'static str),
    /// 422, with the faulty fields and their messages.
    Invalid(Vec<(&'static str, String)>),
}

impl Refusal {
    /// 422 for one field.
    pub(super) fn field(name: &'static str, wrong: impl Into<String>) -> Self {
        Self::Invalid(vec![(name, wrong.into())])
    }

    /// Formats the answer.
    pub(super) fn answer(self) -> Response {
        match self {
            Self::Malformed(message) => failure(StatusCode::BAD_REQUEST, &message),
            Self::Forbidden(message) => failure(StatusCode::FORBIDDEN, &message),
            Self::NotFound(what) => failure(StatusCode::NOT_FOUND, &format!("{what} not found.")),
            Self::Invalid(fields) => invalid(&fields),
        }
    }
}

fn invalid(fields: &[(&'static str, String)]) -> Response {
    let message = fields
        .first()
        .map_or("The given data was invalid.", |(_, wrong)| wrong.as_str());
    let mut errors = Map::new();
    for (field, wrong) in fields {
        let list = errors.entry(*field).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(json!(wrong));
        }
    }
    let answer = json!({"success": false, "message": message, "errors": errors});
    with_status(StatusCode::UNPROCESSABLE_ENTITY, &answer)
}

/// Makes an error in the shape of A7.3.
pub(super) fn failure(status: StatusCode, message: &str) -> Response {
    with_status(status, &json!({"success": false, "message": message}))
}

/// 200 with JSON.
pub(super) fn ok(answer: &impl serde::Serialize) -> Response {
    with_status(StatusCode::OK, answer)
}

/// JSON with a status.
pub(super) fn with_status(status: StatusCode, answer: &impl serde::Serialize) -> Response {
    match serde_json::to_vec(answer) {
        Ok(bytes) => json_bytes(status, Body::from(bytes)),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Makes an answer from JSON text.
pub(super) fn json_bytes(status: StatusCode, body: Body) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (status, kind, body).into_response()
}

/// HTML with a status.
pub(super) fn html(status: StatusCode, page: String) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    (status, kind, page).into_response()
}
