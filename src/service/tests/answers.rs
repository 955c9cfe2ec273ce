//! The meaning of answers, as a table (`docs/api.md`, A7).

use super::super::{
    ErrorKind,
    answer::{Verdict, check_success, is_html, judge, shown},
    client::REMAINING,
};
use chrono::Utc;
use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use std::time::Duration;

const NO: &str = r#"{"success":false,"message":"no such thing"}"#;
const PAGE: &str = "<html>";
const DOWN: ErrorKind = ErrorKind::Unavailable { retry_after: None };

fn judged(status: u16, body: &str) -> Verdict {
    judge(status, &HeaderMap::new(), body.as_bytes(), Utc::now())
}

#[test]
fn s7_every_status_has_one_meaning() {
    let limited = ErrorKind::RateLimited { retry_after: None };
    let cases = [
        (301, "", ErrorKind::Unauthorized),
        (302, PAGE, ErrorKind::Unauthorized),
        (400, NO, ErrorKind::Refused),
        (401, NO, ErrorKind::Unauthorized),
        (401, PAGE, ErrorKind::Unauthorized),
        (403, NO, ErrorKind::Forbidden),
        (403, PAGE, ErrorKind::Unauthorized),
        (404, NO, ErrorKind::NotFound),
        (404, PAGE, ErrorKind::Unreadable),
        (404, "", ErrorKind::Unreadable),
        (404, r#"{"error":"no route"}"#, ErrorKind::Unreadable),
        (404, r#"{"success":true}"#, ErrorKind::Unreadable),
        (404, &NO[..20], ErrorKind::Unreadable),
        (405, NO, ErrorKind::Refused),
        (408, "", DOWN),
        (409, NO, ErrorKind::Refused),
        (413, PAGE, ErrorKind::Refused),
        (422, NO, ErrorKind::Refused),
        (429, PAGE, limited),
        (500, NO, DOWN),
        (501, "", ErrorKind::Refused),
        (502, PAGE, DOWN),
        (503, "", DOWN),
        (504, "", DOWN),
        (304, "", ErrorKind::Unauthorized),
        (700, "", ErrorKind::Unreadable),
    ];
    for (status, body, kind) in cases {
        let verdict = judged(status, body);
        assert_eq!(verdict.kind, kind, "{status} {body}");
    }
}

#[test]
fn f014_a_write_may_have_been_carried_out_unless_the_service_refused_it() {
    let cases = [
        (302, "", false),
        (401, NO, false),
        (403, NO, false),
        (404, NO, false),
        (404, PAGE, true),
        (408, "", true),
        (422, NO, false),
        (429, "", false),
        (500, NO, true),
        (502, PAGE, true),
        (504, "", true),
    ];
    for (status, body, lost) in cases {
        let verdict = judged(status, body);
        assert_eq!(
            verdict.may_have_arrived(Some(status)),
            lost,
            "{status} {body}"
        );
    }
}

#[test]
fn s8_a_refusal_with_nothing_left_counts_as_429() {
    let mut headers = HeaderMap::new();
    headers.insert(REMAINING, HeaderValue::from_static("0"));
    headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
    for status in [400, 403, 404, 409, 422, 429] {
        let retry_after = Some(Duration::from_secs(7));
        let verdict = judge(status, &headers, NO.as_bytes(), Utc::now());
        assert_eq!(
            verdict.kind,
            ErrorKind::RateLimited { retry_after },
            "{status}"
        );
    }
    let signed_out = judge(401, &headers, NO.as_bytes(), Utc::now());
    assert_eq!(signed_out.kind, ErrorKind::Unauthorized);
}

#[test]
fn s7_details_of_any_layout_are_shown() {
    let cases = [
        (r#"{"success":false,"message":"taken"}"#, "taken"),
        (
            r#"{"message":"invalid","errors":{"slug":["is taken","is long"],"title":"missing"}}"#,
            "invalid: slug: is taken; slug: is long; title: missing",
        ),
        (
            r#"{"message":"The slug is bad.","errors":{"slug":["The slug is bad."]}}"#,
            "slug: The slug is bad.",
        ),
        (
            r#"{"message":"It is invalid.","errors":["a"]}"#,
            "It is invalid: a",
        ),
        (
            r#"{"errors":["a",{"field":{"deep":1}},null]}"#,
            "a; deep: 1",
        ),
        (r#"{"message":7}"#, ""),
        ("[1]", ""),
        ("garbage", ""),
    ];
    for (body, message) in cases {
        let verdict = judged(422, body);
        assert_eq!(verdict.message, message, "{body}");
    }
}

#[test]
fn f140_control_characters_are_escaped_and_messages_cut() {
    assert_eq!(
        shown("a\u{1b}[31m\r\nb\u{202e}c\u{61c}d", 100),
        "a\\u{1b}[31m\\r\\nb\\u{202e}c\\u{61c}d"
    );
    assert_eq!(shown("äöü", 2), "äö…");
    assert_eq!(shown("äöü", 3), "äöü");
    let body = format!(r#"{{"message":"{}\u001b]0;x\u0007"}}"#, "x".repeat(5));
    let verdict = judged(422, &body);
    assert_eq!(verdict.message, "xxxxx\\u{1b}]0;x\\u{7}");
}

#[test]
fn s7_4_a_success_says_so() {
    let ok = |body: &str| check_success(None, body.as_bytes()).map_err(|v| v.kind);
    assert_eq!(ok(r#"{"success":true}"#), Ok(()));
    assert_eq!(ok(r#"{"success":1}"#), Ok(()));
    for body in [
        r#"{"success":false,"message":"no"}"#,
        r#"{"message":"fine"}"#,
        r#"{"success":null}"#,
        "[]",
        "OK",
        r#"{"success":true} trailing"#,
    ] {
        assert_eq!(ok(body), Err(ErrorKind::Unreadable), "{body}");
    }
    assert_eq!(ok(" \n<html>"), Err(ErrorKind::Unauthorized));
}

#[test]
fn f020_a_success_that_is_empty_or_breaks_off_is_a_broken_connection() {
    for body in [
        "",
        " \n",
        "{",
        r#"{"success":true"#,
        r#"{"success":true,"article":{"id":"#,
    ] {
        let verdict = check_success(None, body.as_bytes()).expect_err(body);
        assert_eq!(verdict.kind, DOWN, "{body}");
        assert!(verdict.may_have_arrived(Some(200)), "{body}");
    }
}

#[test]
fn f018_a_web_page_is_known_by_type_or_first_byte() {
    assert!(is_html(Some("text/html; charset=utf-8"), b"{}"));
    assert!(is_html(Some("TEXT/HTML"), b""));
    assert!(is_html(Some("application/json"), b"\n <!doctype html>"));
    assert!(!is_html(Some("application/json"), b"{}"));
    assert!(!is_html(None, b""));
}
