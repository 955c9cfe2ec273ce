//! The meaning of an answer's status, headers and body. Pure (`docs/api.md`, A5 and A7).
//!
//! | answer | meaning |
//! |---|---|
//! | 3xx, 401, an HTML page with 2xx or 403 | not signed in |
//! | 404 as JSON with `success: false` | not there; any other 404 is a proxy's, and no answer |
//! | 429, or 4xx with `x-ratelimit-remaining: 0` | over the budget |
//! | 403 / other 4xx | no right / refused, with the service's message |
//! | 408, 5xx | not available |
//! | 2xx with an empty body, or one that breaks off | a broken connection |
//! | any other 2xx without `success: true`, 206 | unreadable |

use super::{
    ErrorKind, budget::MINUTE, client::REMAINING, reading::header, retry::retry_after, wire::Head,
};
use chrono::{DateTime, Utc};
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;
use std::{fmt::Write as _, time::Duration};

/// The longest message that is shown, in characters.
pub(super) const LONGEST_MESSAGE: usize = 1000;

/// The fault of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Verdict {
    /// The kind of failure.
    pub(super) kind: ErrorKind,
    /// The service's message, or a description of the fault.
    pub(super) message: String,
}

impl Verdict {
    /// Makes the verdict of a kind.
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// Returns whether the request may have been carried out all the same, as with a success that cannot be read.
    pub(super) fn may_have_arrived(&self, status: Option<u16>) -> bool {
        matches!(status, Some(200..=299))
            || matches!(
                self.kind,
                ErrorKind::Unavailable { .. } | ErrorKind::Unreadable | ErrorKind::TooLarge
            )
    }

    /// An answer that is not the service's.
    pub(super) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unreadable, message)
    }

    /// A success whose body is empty or breaks off: the connection broke.
    pub(super) fn broken_off(empty: bool) -> Self {
        let message = if empty {
            "the answer is empty"
        } else {
            "the answer is incomplete"
        };
        Self::new(ErrorKind::Unavailable { retry_after: None }, message)
    }

    /// A web page in place of JSON: a sign-in page, or a captive portal's.
    pub(super) fn web_page() -> Self {
        Self::not_signed_in("the service answered with a web page")
    }

    fn not_signed_in(why: &str) -> Self {
        Self::new(ErrorKind::Unauthorized, format!("not signed in: {why}"))
    }
}

/// Judges an answer that is no success.
pub(super) fn judge(status: u16, headers: &HeaderMap, body: &[u8], now: DateTime<Utc>) -> Verdict {
    let html = is_html(header(headers, &CONTENT_TYPE), body);
    let message = message_of(body);
    let retry_after = retry_after(header(headers, &RETRY_AFTER), header(headers, &DATE), now);
    let nothing_left = header(headers, &REMAINING).is_some_and(|left| left.trim() == "0");
    // It is unknown who spent the minute, and when, so a refusal with nothing left and without a wait pauses for a whole
    // one.
    let pause = retry_after.or_else(|| nothing_left.then_some(MINUTE));
    match status {
        300..=399 => Verdict::not_signed_in("the service answered with a redirect"),
        401 => Verdict::not_signed_in(message.as_deref().unwrap_or("the token was refused")),
        429 => throttled(pause, message),
        400..=499 if nothing_left => throttled(pause, message),
        403 if html => Verdict::web_page(),
        403 => Verdict::new(ErrorKind::Forbidden, message.unwrap_or_default()),
        404 if says_no(body) => Verdict::new(ErrorKind::NotFound, message.unwrap_or_default()),
        404 => Verdict::unreadable("a 404 that did not come from the service"),
        408 | 500 | 502..=599 => {
            let kind = ErrorKind::Unavailable { retry_after };
            Verdict::new(kind, message.unwrap_or_default())
        }
        206 => Verdict::unreadable("a partial answer that was not requested"),
        400..=499 | 501 => Verdict::new(ErrorKind::Refused, message.unwrap_or_default()),
        _ => Verdict::unreadable("an unexpected status"),
    }
}

/// Checks that a 2xx answer is the service's and has `success: true`.
pub(super) fn check_success(content_type: Option<&str>, body: &[u8]) -> Result<(), Verdict> {
    if is_html(content_type, body) {
        return Err(Verdict::web_page());
    }
    let head: Head = serde_json::from_slice(body).map_err(|error| {
        if error.is_eof() {
            Verdict::broken_off(body.trim_ascii().is_empty())
        } else {
            Verdict::unreadable(format!("no readable JSON: {error}"))
        }
    })?;
    if head.success == Some(true) {
        return Ok(());
    }
    let mut message = "an answer without success: true".to_owned();
    if let Some(said) = &head.message {
        message.push_str(": ");
        message.push_str(&shown(said, LONGEST_MESSAGE));
    }
    Err(Verdict::unreadable(message))
}

/// Returns whether an answer is a web page, by its type or its first byte.
pub(super) fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    let by_type = content_type.is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("text/html") || kind.eq_ignore_ascii_case("application/xhtml+xml")
    });
    by_type || body.trim_ascii_start().first() == Some(&b'<')
}

/// Escapes control characters and invisible direction marks, and shortens the text (failures row 140).
pub(super) fn shown(text: &str, longest: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(longest * 4));
    for (count, character) in text.chars().enumerate() {
        if count == longest {
            shown.push('…');
            break;
        }
        if character.is_control() || is_direction_mark(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Returns whether a character changes the direction of text, which can make a terminal show a different text.
fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn throttled(pause: Option<Duration>, message: Option<String>) -> Verdict {
    let message = message.unwrap_or_else(|| "over the service's limit".to_owned());
    Verdict::new(ErrorKind::RateLimited { retry_after: pause }, message)
}

/// Returns whether a body is JSON with `success: false`.
fn says_no(body: &[u8]) -> bool {
    serde_json::from_slice::<Head>(body).is_ok_and(|head| head.success == Some(false))
}

/// Returns the `message` of a body, with the details under `errors`, whose layout is not specified.
fn message_of(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let message = value.get("message").and_then(Value::as_str);
    let mut text = message.unwrap_or_default().to_owned();
    let mut details = String::new();
    if let Some(errors) = value.get("errors") {
        flatten(errors, "", &mut details);
    }
    // Some services repeat the first detail as the message.
    if details.contains(text.as_str()) {
        text = details;
    } else if !details.is_empty() {
        text = format!("{}: {details}", text.trim_end_matches('.'));
    }
    (!text.is_empty()).then(|| shown(&text, LONGEST_MESSAGE))
}

fn flatten(value: &Value, name: &str, into: &mut String) {
    let mut leaf = |text: &dyn std::fmt::Display| {
        let between = if into.is_empty() { "" } else { "; " };
        let colon = if name.is_empty() { "" } else { ": " };
        // Writing into a text cannot fail.
        let written = write!(into, "{between}{name}{colon}{text}");
        debug_assert!(written.is_ok());
    };
    match value {
        Value::Null => {}
        Value::Bool(flag) => leaf(flag),
        Value::Number(number) => leaf(number),
        Value::String(text) => leaf(text),
        Value::Array(values) => values.iter().for_each(|value| flatten(value, name, into)),
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| flatten(value, key, into)),
    }
}
