//! Listings: every shape with every way of paging, and every fault that voids a listing.

use super::super::{
    Answer, ErrorKind, ListEnd, ListRequest, Listed, Purpose, ServiceRead as _, Validator,
    budget::{Budget, BudgetLimits, clock::Clock, clocks::TokioClock},
    client::ClientOptions,
    fingerprint::{Fingerprinter, KnownEntries},
};
use super::{Asked, Reply, Responder, Setup, article_id, article_json, category_id, workspace_id};
use crate::model::{ArticleId, Fingerprint};
use std::{fmt::Write as _, sync::Arc};

pub(super) fn request() -> ListRequest {
    ListRequest {
        workspace: workspace_id(),
        categories: vec![category_id(1), category_id(2)],
        validator: None,
        known: None,
        purpose: Purpose::Poll,
    }
}

async fn list(setup: &Setup, request: &ListRequest) -> (Answer<ListEnd>, Vec<Listed>) {
    let mut listed = Vec::new();
    let end = setup
        .client
        .list(request, &mut |entry| listed.push(entry))
        .await;
    (end, listed)
}

fn articles(listed: &[Listed]) -> Vec<String> {
    listed
        .iter()
        .map(|entry| match entry {
            Listed::Article(article) => article.title.clone(),
            Listed::Known(id) => panic!("not read: {id}"),
            Listed::Category(category) => panic!("a category: {}", category.id),
            Listed::Unreadable { id, why } => panic!("unreadable: {id:?} {why}"),
            Listed::Restart => panic!("void"),
        })
        .collect()
}

const SHAPES: [&str; 6] = [
    "articles",
    "data",
    "base.articles",
    "base[0].articles",
    "categories[].articles",
    "data.data",
];

const STYLES: [&str; 4] = ["none", "next_page_url", "links.next", "meta"];

/// One page in one shape, with its paging fields beside the array.
fn page(shape: &str, entries: &str, paging: &str) -> String {
    let around = format!(r#"{{"success":true{paging}"#);
    match shape {
        "articles" | "data" => format!(r#"{around},"{shape}":[{entries}]}}"#),
        "base.articles" => format!(
            r#"{around},"base":{{"id":"{}","articles":[{entries}]}}}}"#,
            workspace_id()
        ),
        "base[0].articles" => format!(
            r#"{around},"base":[{{"id":"{}","articles":[{entries}]}}]}}"#,
            workspace_id()
        ),
        "categories[].articles" => format!(
            r#"{around},"categories":[{{"id":"{}","articles":[{entries}]}},{{"id":"{}","articles":[]}}]}}"#,
            category_id(1),
            category_id(2)
        ),
        "data.data" => format!(r#"{{"success":true,"data":{{"data":[{entries}]{paging}}}}}"#),
        other => panic!("no such shape: {other}"),
    }
}

/// The paging fields of page `n` of 3.
fn paging(style: &str, n: u32) -> String {
    let next = if n < 3 {
        format!(r#""/api/base/{}/articles?page={}""#, workspace_id(), n + 1)
    } else {
        "null".to_owned()
    };
    match style {
        "none" => String::new(),
        "next_page_url" => format!(r#","next_page_url":{next}"#),
        "links.next" => format!(r#","links":{{"prev":null,"next":{next}}}"#),
        "meta" => format!(r#","meta":{{"current_page":{n},"last_page":3,"total":6}}"#),
        other => panic!("no such style: {other}"),
    }
}

fn page_asked(asked: &Asked) -> u32 {
    asked
        .target
        .split_once("page=")
        .map_or(1, |(_, n)| n.parse().expect("a number"))
}

#[tokio::test]
async fn s4_5_every_shape_is_read_with_every_way_of_paging() {
    for shape in SHAPES {
        for style in STYLES {
            for bodies in [true, false] {
                let name = format!("{shape}, {style}, bodies: {bodies}");
                let body = if bodies {
                    r#","text":"<p class=\"x\">[}]\\\"</p>""#
                } else {
                    ""
                };
                let service = Responder::start(move |_, asked| {
                    let n = page_asked(asked);
                    let of_page = if style == "none" {
                        1..=6
                    } else {
                        2 * n - 1..=2 * n
                    };
                    let entries: Vec<String> = of_page.map(|n| article_json(n, body)).collect();
                    Reply::json(200, page(shape, &entries.join(" ,\n"), &paging(style, n)))
                })
                .await;
                let setup = service.client();
                let (end, listed) = list(&setup, &request()).await;
                assert_eq!(
                    end.unwrap_or_else(|error| panic!("{name}: {error}")),
                    ListEnd::Whole {
                        validator: None,
                        by_category: false
                    },
                );
                let titles: Vec<String> = (1..=6).map(|n| format!("Title {n}")).collect();
                assert_eq!(articles(&listed), titles, "{name}");
                for entry in &listed {
                    let Listed::Article(article) = entry else {
                        panic!("an article");
                    };
                    let text = bodies.then_some("<p class=\"x\">[}]\\\"</p>");
                    assert_eq!(article.text.as_deref(), text, "{name}");
                }
                assert_eq!(
                    service.count(),
                    if style == "none" { 1 } else { 3 },
                    "{name}"
                );
            }
        }
    }
}

#[tokio::test]
async fn f020_a_listing_that_breaks_off_anywhere_is_never_whole() {
    for shape in ["articles", "categories[].articles", "data.data"] {
        let document = page(shape, &article_json(1, r#","text":"\"}""#), "");
        let length = document.len();
        // The announced length is that of the cut document: only the JSON shows that the document is incomplete.
        let service = Responder::start(move |count, _| {
            let bytes = (count / TRIES).min(length);
            Reply::json(200, document[..bytes].to_owned())
        })
        .await;
        let setup = service.client_with(|options| {
            let clock: Arc<dyn Clock> = options.budget.clock().clone();
            let limits = BudgetLimits {
                per_minute: 10_000,
                per_day: 10_000,
                reserve_for_pushes: 0,
            };
            options.budget = Budget::in_memory(limits, clock);
        });
        for bytes in 0..length {
            let (end, listed) = list(&setup, &request()).await;
            let error = end.expect_err("not whole");
            assert_eq!(
                error.kind,
                ErrorKind::Unavailable { retry_after: None },
                "{shape} at {bytes}"
            );
            let counts = left(&listed).len();
            assert_eq!(counts, listed.len().min(1), "{shape} at {bytes}");
        }
        assert_eq!(service.count(), length * TRIES, "{shape}");
        let (end, _) = list(&setup, &request()).await;
        end.expect("the whole document");
    }
}

/// The number of attempts for one listing.
const TRIES: usize = 5;

/// The entries that count, after all restarts.
fn left(listed: &[Listed]) -> &[Listed] {
    let mut parts = listed.rsplit(|entry| matches!(entry, Listed::Restart));
    parts.next().unwrap_or_default()
}

#[tokio::test]
async fn f020_a_listing_that_breaks_off_is_taken_back_and_read_again() {
    let document = page("articles", &article_json(1, ""), "");
    for cut in [document.len() - 1, document.len() - 2, 60, 0] {
        let reply = Reply::json(200, document.clone());
        let service = Responder::script(vec![reply.clone().cut_at(cut), reply]).await;
        let setup = service.client();
        let (end, listed) = list(&setup, &request()).await;
        end.expect("read again");
        let handed_over = cut > 60;
        assert_eq!(listed.len(), if handed_over { 3 } else { 1 }, "at {cut}");
        assert_eq!(articles(left(&listed)), ["Title 1"], "at {cut}");
        assert_eq!(service.count(), 2, "at {cut}");
    }
}

#[tokio::test]
async fn f020_a_later_page_that_breaks_off_after_an_entry_ends_the_listing() {
    let pages = |n: u32| {
        let entries = [2 * n - 1, 2 * n].map(|n| article_json(n, ""));
        page("articles", &entries.join(","), &paging("next_page_url", n))
    };
    let broken = Reply::json(200, pages(2)).cut_at(pages(2).len() - 10);
    // Without an entry, the page alone is requested again.
    let empty = Reply::json(200, pages(2)).cut_at(0);
    let mut replies = vec![Reply::json(200, pages(1)), empty, broken];
    replies.extend([1, 2, 3].map(|n| Reply::json(200, pages(n))));
    let service = Responder::script(replies).await;
    let setup = service.client();
    let (end, listed) = list(&setup, &request()).await;
    let error = end.expect_err("not whole");
    assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: None });
    assert_eq!(articles(&listed[..2]), ["Title 1", "Title 2"]);
    assert_eq!(service.count(), 3);
    let (end, listed) = list(&setup, &request()).await;
    end.expect("read to its end");
    assert_eq!(articles(&listed).len(), 6);
    assert_eq!(service.count(), 6);
}

#[tokio::test]
async fn f020_a_category_that_breaks_off_is_read_again() {
    let reply = category_reply(1);
    let cut = reply.body.len() - 2;
    let service = Responder::script(vec![reply.clone().cut_at(cut), reply]).await;
    let client = service.client().client;
    let read = client.category(category_id(1), Purpose::Poll).await;
    let (category, listed) = read.expect("read again");
    assert_eq!(category.id, category_id(1));
    assert_eq!(articles(&listed), ["Title 1"]);
    assert_eq!(service.count(), 2);
}

#[tokio::test]
async fn f039_an_entry_that_cannot_be_read_is_unknown_and_not_absent() {
    let id = article_id(2);
    let entries = format!(
        r#"{},{{"id":"{id}","title":{{}}}},7,null,{{"no":"id"}}"#,
        article_json(1, "")
    );
    let service = Responder::script(vec![Reply::json(200, page("articles", &entries, ""))]).await;
    let (end, listed) = list(&service.client(), &request()).await;
    end.expect("a whole listing");
    let ids: Vec<_> = listed[1..]
        .iter()
        .map(|entry| match entry {
            Listed::Unreadable { id, .. } => *id,
            Listed::Article(article) => panic!("readable: {}", article.id),
            Listed::Known(id) => panic!("not read: {id}"),
            Listed::Category(category) => panic!("a category: {}", category.id),
            Listed::Restart => panic!("void"),
        })
        .collect();
    assert_eq!(ids, [Some(id), None, None, None]);
}

#[tokio::test]
async fn f039_bytes_that_are_no_utf8_spoil_only_their_article() {
    let entries = format!(
        "{},{}",
        article_json(1, r#","text":"@""#),
        article_json(2, "")
    );
    let mut bytes = page("articles", &entries, "").into_bytes();
    let at = bytes.iter().position(|&byte| byte == b'@').expect("there");
    bytes[at] = 0xff;
    let service = Responder::script(vec![Reply::json(200, "").bytes(bytes)]).await;
    let (end, listed) = list(&service.client(), &request()).await;
    end.expect("a whole listing");
    assert!(matches!(&listed[0], Listed::Unreadable { id, .. } if *id == Some(article_id(1))));
    assert!(matches!(&listed[1], Listed::Article(article) if article.id == article_id(2)));
}

#[tokio::test]
async fn f039_half_of_an_emoji_spoils_only_its_article() {
    let (whole, cut) = (article_json(1, ""), article_json(2, r#","text":"\ud83d""#));
    let document = page("articles", &format!("{whole},{cut}"), "");
    let service = Responder::script(vec![Reply::json(200, document)]).await;
    let (end, listed) = list(&service.client(), &request()).await;
    end.expect("a whole listing");
    assert!(matches!(&listed[0], Listed::Article(article) if article.id == article_id(1)));
    assert!(matches!(&listed[1], Listed::Unreadable { id, .. } if *id == Some(article_id(2))));
}

#[tokio::test]
async fn f128_entries_without_an_id_take_bounded_memory() {
    let entries = vec!["0"; 1001].join(",");
    let service = Responder::script(vec![Reply::json(200, page("articles", &entries, ""))]).await;
    let (end, listed) = list(&service.client(), &request()).await;
    let error = end.expect_err("too many");
    assert!(error.message.contains("more than 1000 entries"), "{error}");
    assert_eq!(listed.len(), 1000);
}

#[tokio::test]
async fn f128_a_giant_article_is_left_out_alone() {
    let giant = article_json(2, &format!(r#","text":"{}""#, "x".repeat(50_000)));
    let entries = format!("{},{giant},{}", article_json(1, ""), article_json(3, ""));
    let service = Responder::script(vec![Reply::json(200, page("data.data", &entries, ""))]).await;
    let setup = service.client_with(|options| options.max_article = 10_000);
    let (end, listed) = list(&setup, &request()).await;
    end.expect("a whole listing");
    assert_eq!(listed.len(), 3);
    assert!(matches!(&listed[1], Listed::Unreadable { id, .. } if *id == Some(article_id(2))));

    let setup = service.client_with(|options| options.max_body = 10_000);
    let (end, _) = list(&setup, &request()).await;
    assert_eq!(end.expect_err("too large").kind, ErrorKind::TooLarge);
}

#[tokio::test]
async fn what_voids_a_listing() {
    let one = article_json(1, "");
    let two = article_json(2, "");
    let cases = [
        (
            "f127 two with one id",
            page("articles", &format!("{one},{one}"), ""),
        ),
        (
            "f021 more than counted",
            page("articles", &format!("{one},{two}"), r#","total":1"#),
        ),
        (
            "f021 fewer than counted",
            page("data", &one, r#","meta":{"total":2}"#),
        ),
        (
            "no success",
            page("articles", &one, "").replace("true", "false"),
        ),
        (
            "no articles among them",
            page("data", r#"{"id":"x","name":"n"},{"id":"y"}"#, ""),
        ),
        (
            "another page",
            page("articles", &one, r#","current_page":2,"last_page":2"#),
        ),
        (
            "the same page again",
            page("articles", &one, r#","next_page_url":"?""#),
        ),
        ("no JSON in an article", page("articles", "{a:1}", "")),
        (
            "no JSON after it",
            format!("{} x", page("articles", &one, "")),
        ),
        (
            "unknown shape",
            format!(r#"{{"success":true,"rows":[{one}]}}"#),
        ),
        (
            "more in an unknown way",
            page("articles", &one, r#","has_more":true"#),
        ),
    ];
    for (name, document) in cases {
        let service = Responder::script(vec![Reply::json(200, document)]).await;
        let (end, _) = list(&service.client(), &request()).await;
        let error = end.expect_err(name);
        assert_eq!(error.kind, ErrorKind::Unreadable, "{name}: {error}");
        assert!(!error.message.is_empty(), "{name}");
        assert!(service.count() <= 2, "{name}");
    }
}

#[tokio::test]
async fn f127_one_id_on_two_pages_voids_the_listing() {
    let service = Responder::start(|_, asked| {
        let n = page_asked(asked);
        let entries = article_json(if n == 3 { 1 } else { n }, "");
        Reply::json(200, page("articles", &entries, &paging("next_page_url", n)))
    })
    .await;
    let (end, _) = list(&service.client(), &request()).await;
    let error = end.expect_err("twice");
    assert!(
        error.message.contains(&article_id(1).to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn f021_a_count_that_changes_between_pages_voids_the_listing() {
    let service = Responder::start(|_, asked| {
        let n = page_asked(asked);
        let meta = format!(
            r#","meta":{{"current_page":{n},"last_page":2,"total":{}}}"#,
            1 + n
        );
        Reply::json(200, page("articles", &article_json(n, ""), &meta))
    })
    .await;
    let (end, _) = list(&service.client(), &request()).await;
    let error = end.expect_err("changed");
    assert!(
        error.message.contains("changed while it was read"),
        "{error}"
    );
}

#[tokio::test]
async fn f019_a_page_that_fails_voids_the_listing() {
    let no = r#"{"success":false,"message":"no"}"#;
    let cases = [
        (Reply::json(404, no), ErrorKind::NotFound),
        (Reply::page(404), ErrorKind::Unreadable),
        (Reply::json(401, no), ErrorKind::Unauthorized),
        (Reply::json(403, no), ErrorKind::Forbidden),
        (Reply::page(200), ErrorKind::Unauthorized),
        (Reply::json(302, ""), ErrorKind::Unauthorized),
        (
            Reply::page(503),
            ErrorKind::Unavailable { retry_after: None },
        ),
        (Reply::json(304, ""), ErrorKind::Unauthorized),
    ];
    for (reply, kind) in cases {
        let shown = format!("{reply:?}");
        let service = Responder::start(move |_, asked| match page_asked(asked) {
            1 => Reply::json(
                200,
                page("articles", &article_json(1, ""), &paging("links.next", 1)),
            ),
            _ => reply.clone(),
        })
        .await;
        let (end, listed) = list(&service.client(), &request()).await;
        assert_eq!(end.expect_err(&shown).kind, kind, "{shown}");
        assert_eq!(listed.len(), 1);
    }
}

#[tokio::test]
async fn f132_a_page_cursor_does_not_leave_the_service() {
    let elsewhere = Responder::script(vec![Reply::json(200, page("articles", "", ""))]).await;
    for cursor in [
        elsewhere.url.clone(),
        "https://evil.example/api".to_owned(),
        "//evil.example/api".to_owned(),
        "http://user:pw@127.0.0.1/".to_owned(),
        "ftp://127.0.0.1/".to_owned(),
        "javascript:alert(1)".to_owned(),
    ] {
        let document = page(
            "articles",
            &article_json(1, ""),
            &format!(r#","next_page_url":"{cursor}""#),
        );
        let service = Responder::script(vec![Reply::json(200, document)]).await;
        let (end, _) = list(&service.client(), &request()).await;
        assert_eq!(
            end.expect_err(&cursor).kind,
            ErrorKind::Unreadable,
            "{cursor}"
        );
        assert_eq!(service.count(), 1);
    }
    assert_eq!(elsewhere.count(), 0);
}

#[tokio::test]
async fn f132_a_page_cursor_does_not_leave_the_service_s_path() {
    for (cursor, requests) in [
        ("/etc?page=2", 1),
        ("../../../../x?page=2", 1),
        ("/tenant/%2e%2e/other?page=2", 1),
        ("/tenant-2/api?page=2", 1),
        ("?page=2", 2),
        ("/tenant/pages/2", 2),
    ] {
        let service = Responder::start(move |count, _| {
            let n = u32::try_from(count).expect("few") + 1;
            let next = if n == 1 {
                format!(r#","next_page_url":"{cursor}""#)
            } else {
                String::new()
            };
            Reply::json(200, page("articles", &article_json(n, ""), &next))
        })
        .await;
        let setup = Setup::new(&format!("{}/tenant", service.url), |_| {});
        let (end, _) = list(&setup, &request()).await;
        assert_eq!(service.count(), requests, "{cursor}");
        if requests == 2 {
            end.expect(cursor);
        } else {
            let error = end.expect_err(cursor);
            assert!(error.message.contains("not at the service"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_part_of_an_answer_is_no_listing() {
    let document = page("articles", &article_json(1, ""), "");
    let service = Responder::script(vec![Reply::json(206, document)]).await;
    let (end, listed) = list(&service.client(), &request()).await;
    let error = end.expect_err("a part");
    assert_eq!(error.kind, ErrorKind::Unreadable, "{error}");
    assert!(error.message.contains("a partial answer"), "{error}");
    assert!(listed.is_empty());
}

#[tokio::test]
async fn pages_take_at_most_a_quarter_of_the_day() {
    let limited = |per_day| {
        move |options: &mut ClientOptions| {
            let limits = BudgetLimits {
                per_minute: 10_000,
                per_day,
                reserve_for_pushes: 0,
            };
            options.budget = Budget::in_memory(limits, Arc::new(TokioClock::default()));
        }
    };
    // Each page names a next page.
    let endless = || {
        Responder::start(|count, _| {
            let n = u32::try_from(count).expect("few") + 1;
            let next = format!(r#","next_page_url":"?page={}""#, n + 1);
            Reply::json(200, page("articles", &article_json(n, ""), &next))
        })
    };
    for (per_day, pages) in [(80, 20), (20, 10)] {
        let service = endless().await;
        let setup = service.client_with(limited(per_day));
        let (end, _) = list(&setup, &request()).await;
        let error = end.expect_err("without end");
        let words = format!("more than {pages} pages, and each costs a request");
        assert!(error.message.contains(&words), "{error}");
        assert_eq!(service.count(), pages);
    }
    // A first page that states the number of pages is the only request.
    let meta = r#","meta":{"current_page":1,"last_page":21}"#;
    let document = page("articles", &article_json(1, ""), meta);
    let service = Responder::script(vec![Reply::json(200, document)]).await;
    let setup = service.client_with(limited(80));
    let (end, _) = list(&setup, &request()).await;
    assert!(end.is_err(), "{end:?}");
    assert_eq!(service.count(), 1);
}

#[tokio::test]
async fn pages_without_an_end_are_given_up() {
    let service = Responder::start(|count, _| {
        let next = format!(r#","next_page_url":"?page={}""#, count % 3 + 1);
        let entries = article_json(u32::try_from(count).expect("few"), "");
        Reply::json(200, page("articles", &entries, &next))
    })
    .await;
    let (end, _) = list(&service.client(), &request()).await;
    let error = end.expect_err("a circle");
    assert!(error.message.contains("circle"), "{error}");
    assert_eq!(service.count(), 4);
}

#[tokio::test]
async fn an_empty_listing_is_one_when_the_service_says_so() {
    for shape in SHAPES {
        let service = Responder::script(vec![Reply::json(200, page(shape, "", ""))]).await;
        let (end, listed) = list(&service.client(), &request()).await;
        end.unwrap_or_else(|error| panic!("{shape}: {error}"));
        assert!(listed.is_empty());
    }
}

#[tokio::test]
async fn the_category_is_taken_from_around_an_entry_that_names_none() {
    let mut entries = article_json(1, "");
    let own = format!(r#""category_id":"{}","#, category_id(1));
    entries = entries.replace(&own, "");
    let document = page("categories[].articles", &entries, "");
    let service = Responder::script(vec![Reply::json(200, document)]).await;
    let (end, listed) = list(&service.client(), &request()).await;
    end.expect("a whole listing");
    assert!(matches!(&listed[0], Listed::Article(article) if article.category == category_id(1)));
}

#[tokio::test]
async fn a_validator_is_sent_back_and_304_means_unchanged() {
    let etag = r#"W/"abc""#;
    let service = Responder::start(move |count, _| match count {
        0 => Reply::json(200, page("articles", &article_json(1, ""), ""))
            .with("etag", etag)
            .with("last-modified", "Fri, 20 Nov 2026 10:00:00 GMT"),
        _ => Reply::json(304, ""),
    })
    .await;
    let setup = service.client();
    let (end, _) = list(&setup, &request()).await;
    let validator = Validator {
        etag: etag.to_owned(),
    };
    assert_eq!(
        end.expect("whole"),
        ListEnd::Whole {
            validator: Some(validator.clone()),
            by_category: false
        }
    );
    let again = ListRequest {
        validator: Some(validator),
        ..request()
    };
    let (end, listed) = list(&setup, &again).await;
    assert_eq!(end.expect("unchanged"), ListEnd::NotModified);
    assert!(listed.is_empty());
    let asked = service.asked();
    assert_eq!(asked[0].header("if-none-match"), None);
    assert_eq!(asked[1].header("if-none-match"), Some(etag));
    assert_eq!(asked[1].header("if-modified-since"), None);
}

#[tokio::test]
async fn the_validator_of_a_first_page_says_nothing_about_the_others() {
    let service = Responder::start(|_, asked| {
        let n = page_asked(asked);
        let document = page(
            "articles",
            &article_json(n, ""),
            &paging("next_page_url", n),
        );
        Reply::json(200, document).with("etag", "\"x\"")
    })
    .await;
    let setup = service.client();
    let conditional = ListRequest {
        validator: Some(Validator {
            etag: "\"old\"".to_owned(),
        }),
        ..request()
    };
    let (end, _) = list(&setup, &conditional).await;
    assert!(matches!(
        end,
        Ok(ListEnd::Whole {
            validator: None,
            ..
        })
    ));
    let conditions: Vec<bool> = service
        .asked()
        .iter()
        .map(|asked| asked.header("if-none-match").is_some())
        .collect();
    assert_eq!(conditions, [true, false, false]);
}

fn category_reply(n: u32) -> Reply {
    Reply::json(
        200,
        format!(
            r#"{{"success":true,"category":{{"id":"{}","name":"N","slug":"n","articles":[{}]}}}}"#,
            category_id(n),
            article_json(n, "")
        ),
    )
}

#[tokio::test]
async fn without_the_endpoint_the_known_categories_are_read() {
    let no = r#"{"success":false,"message":"no route"}"#;
    for (missing, extra) in [
        (Reply::page(404), 0),
        (Reply::json(404, no), 1),
        (Reply::json(405, no), 0),
        (Reply::page(501), 0),
    ] {
        let service = Responder::start(move |_, asked| {
            if asked.target.ends_with("/articles") {
                missing.clone()
            } else if asked.target.contains("/base/") {
                let id = workspace_id();
                Reply::json(
                    200,
                    format!(r#"{{"success":true,"base":[{{"id":"{id}"}}]}}"#),
                )
            } else if asked.target.ends_with(&category_id(1).to_string()) {
                category_reply(1)
            } else {
                category_reply(2)
            }
        })
        .await;
        let setup = service.client();
        for requests in [3 + extra, 2 * (3 + extra)] {
            let (end, listed) = list(&setup, &request()).await;
            assert_eq!(
                end.expect("whole"),
                ListEnd::Whole {
                    validator: None,
                    by_category: true
                }
            );
            let (categories, listed): (Vec<_>, Vec<_>) = listed
                .into_iter()
                .partition(|entry| matches!(entry, Listed::Category(_)));
            assert_eq!(categories.len(), 2, "their words are read on the way");
            assert_eq!(articles(&listed), ["Title 1", "Title 2"]);
            assert_eq!(service.count(), requests, "the endpoint is asked for first");
        }
    }
}

#[tokio::test]
async fn f049_a_workspace_that_is_not_there_is_no_missing_endpoint() {
    let no = Reply::json(404, r#"{"success":false,"message":"no such base"}"#);
    let service = Responder::script(vec![no]).await;
    let (end, _) = list(&service.client(), &request()).await;
    assert_eq!(end.expect_err("not there").kind, ErrorKind::NotFound);
    assert_eq!(service.count(), 2);
}

#[tokio::test]
async fn f019_a_category_that_fails_voids_a_listing_by_category() {
    let no = r#"{"success":false,"message":"no"}"#;
    for (reply, kind) in [
        (Reply::page(404), Some(ErrorKind::Unreadable)),
        (Reply::json(403, no), Some(ErrorKind::Forbidden)),
        (Reply::page(200), Some(ErrorKind::Unauthorized)),
        (category_reply(1), Some(ErrorKind::Unreadable)),
        (Reply::json(404, no), None),
    ] {
        let shown = format!("{reply:?}");
        let service = Responder::start(move |_, asked| {
            if asked.target.ends_with("/articles") {
                Reply::page(404)
            } else if asked.target.ends_with(&category_id(1).to_string()) {
                category_reply(1)
            } else {
                reply.clone()
            }
        })
        .await;
        let (end, _) = list(&service.client(), &request()).await;
        assert_eq!(end.err().map(|error| error.kind), kind, "{shown}");
    }
}

#[tokio::test]
async fn f039_a_category_without_a_readable_article_spoils_only_itself() {
    let service = Responder::start(|_, asked| {
        if asked.target.ends_with("/articles") {
            Reply::page(404)
        } else if asked.target.ends_with(&category_id(1).to_string()) {
            category_reply(1)
        } else {
            let body = String::from_utf8(category_reply(2).body).expect("text");
            let body = body.replace("\"Title 2\"", "null");
            Reply::json(200, body)
        }
    })
    .await;
    let (end, listed) = list(&service.client(), &request()).await;
    end.expect("a whole listing");
    let odd = |entry: &&Listed| matches!(entry, Listed::Unreadable { .. });
    assert_eq!(listed.iter().filter(odd).count(), 1, "{listed:?}");
}

#[tokio::test]
async fn a_large_listing_comes_through_whole() {
    let mut entries = String::new();
    for n in 0..3000 {
        let between = if n == 0 { "" } else { "," };
        let text = "\\u003cp\\u003e\\\"äöü\\\\".repeat(20);
        write!(
            entries,
            "{between}{}",
            article_json(n, &format!(r#","text":"{text}""#))
        )
        .expect("text");
    }
    let service = Responder::script(vec![Reply::json(200, page("articles", &entries, ""))]).await;
    let (end, listed) = list(&service.client(), &request()).await;
    end.expect("whole");
    assert_eq!(listed.len(), 3000);
    assert_eq!(articles(&listed)[2999], "Title 2999");
}

/// A request with known entries, which need not be parsed again.
fn asking(known: &KnownEntries) -> ListRequest {
    ListRequest {
        known: Some(Arc::new(known.clone())),
        ..request()
    }
}

/// The fingerprints of the parsed entries.
fn marks(listed: &[Listed]) -> Vec<(Fingerprint, ArticleId)> {
    listed
        .iter()
        .filter_map(|entry| match entry {
            Listed::Article(article) => Some((article.fingerprint?, article.id)),
            Listed::Known(_)
            | Listed::Category(_)
            | Listed::Unreadable { .. }
            | Listed::Restart => None,
        })
        .collect()
}

/// The articles of the entries, each with whether its entry was parsed.
fn read(listed: &[Listed]) -> Vec<(ArticleId, bool)> {
    listed
        .iter()
        .map(|entry| match entry {
            Listed::Article(article) => (article.id, true),
            Listed::Known(id) => (*id, false),
            Listed::Category(category) => panic!("a category: {}", category.id),
            Listed::Unreadable { id, why } => panic!("unreadable: {id:?} {why}"),
            Listed::Restart => panic!("void"),
        })
        .collect()
}

#[tokio::test]
async fn an_entry_with_a_known_fingerprint_is_not_parsed_and_one_byte_more_is() {
    let entry = |n: u32| article_json(n, r#","text":"<p>\u00e9</p>""#);
    let before = [entry(1), entry(2), entry(3)].join(",");
    let after = [
        entry(3),
        entry(2).replace("\\u00e9", "\\u00e8"),
        article_json(4, ""),
        entry(1),
    ]
    .join(",");
    let replies = [before, after].map(|entries| Reply::json(200, page("articles", &entries, "")));
    let service = Responder::script(replies.to_vec()).await;
    let setup = service.client();
    let fingerprinter = Fingerprinter::draw();
    let nothing = KnownEntries::new(fingerprinter, Vec::new());
    let (end, first) = list(&setup, &asking(&nothing)).await;
    end.expect("whole");
    let [one, two, three, four] = [1, 2, 3, 4].map(article_id);
    assert_eq!(read(&first), [(one, true), (two, true), (three, true)]);
    let known = KnownEntries::new(fingerprinter, marks(&first));
    let (end, second) = list(&setup, &asking(&known)).await;
    end.expect("whole");
    assert_eq!(
        read(&second),
        [(three, false), (two, true), (four, true), (one, false)]
    );
    // A request without known entries gets no fingerprints, and every entry is parsed.
    let (_, third) = list(&setup, &request()).await;
    assert!(read(&third).iter().all(|&(_, read)| read));
    assert!(marks(&third).is_empty());
}

#[tokio::test]
async fn known_entries_are_recognised_in_any_order() {
    let entry = |n: u32| article_json(n, r#","text":"<p>\"quoted\" }]</p>""#);
    let listing = |numbers: &[u32]| {
        let entries: Vec<String> = numbers.iter().map(|&n| entry(n)).collect();
        page("articles", &entries.join(" ,\n"), "")
    };
    let before = [1, 2, 3, 4, 5];
    let orders: [&[u32]; 8] = [
        &[1, 2, 3, 4, 5],
        // One entry went, and one came at the start, in the middle and at the end.
        &[1, 2, 4, 5],
        &[6, 1, 2, 3, 4, 5],
        &[1, 2, 6, 3, 4, 5],
        &[1, 2, 3, 4, 5, 6],
        // The first entry went to the end, and the last entry to the start.
        &[2, 3, 4, 5, 1],
        &[5, 1, 2, 3, 4],
        &[5, 4, 3, 2, 1],
    ];
    let mut replies = vec![Reply::json(200, listing(&before))];
    replies.extend(orders.iter().map(|order| Reply::json(200, listing(order))));
    let service = Responder::script(replies).await;
    let setup = service.client();
    let fingerprinter = Fingerprinter::draw();
    let (_, first) = list(
        &setup,
        &asking(&KnownEntries::new(fingerprinter, Vec::new())),
    )
    .await;
    let known = KnownEntries::new(fingerprinter, marks(&first));
    for order in orders {
        let (end, listed) = list(&setup, &asking(&known)).await;
        end.expect("whole");
        let expected = order.iter().map(|&n| (article_id(n), n == 6));
        assert_eq!(read(&listed), expected.collect::<Vec<_>>(), "{order:?}");
    }
}

#[tokio::test]
async fn excepted_articles_are_parsed_though_their_entries_are_known() {
    let entries = [1, 2, 3].map(|n| article_json(n, "")).join(",");
    let reply = Reply::json(200, page("articles", &entries, ""));
    let service = Responder::script(vec![reply.clone(), reply.clone(), reply]).await;
    let setup = service.client();
    let fingerprinter = Fingerprinter::draw();
    let (_, first) = list(
        &setup,
        &asking(&KnownEntries::new(fingerprinter, Vec::new())),
    )
    .await;
    let [one, two, three] = [1, 2, 3].map(article_id);
    let except = KnownEntries::new(fingerprinter, marks(&first)).except([two].into());
    let (_, second) = list(&setup, &asking(&except)).await;
    assert_eq!(read(&second), [(one, false), (two, true), (three, false)]);
    let again = except.except([one].into());
    let (_, third) = list(&setup, &asking(&again)).await;
    assert_eq!(read(&third), [(one, true), (two, false), (three, false)]);
}

#[tokio::test]
async fn a_known_entry_counts_like_any_other() {
    let entries = [article_json(1, ""), article_json(2, "")].join(",");
    let twice = [article_json(1, ""), article_json(1, r#","views":1"#)].join(",");
    let total = |count: u32| format!(r#","total":{count}"#);
    let service = Responder::script(vec![
        Reply::json(200, page("articles", &entries, "")),
        Reply::json(200, page("articles", &entries, "")),
        Reply::json(200, page("articles", &entries, &total(2))),
        Reply::json(200, page("articles", &entries, &total(3))),
        Reply::json(200, page("articles", &twice, "")),
    ])
    .await;
    let setup = service.client();
    let fingerprinter = Fingerprinter::draw();
    let (_, first) = list(
        &setup,
        &asking(&KnownEntries::new(fingerprinter, Vec::new())),
    )
    .await;
    let known = KnownEntries::new(fingerprinter, marks(&first));
    for whole in [true, true, false] {
        let (end, _) = list(&setup, &asking(&known)).await;
        assert_eq!(end.is_ok(), whole, "{end:?}");
    }
    let (end, _) = list(&setup, &asking(&known)).await;
    let error = end.expect_err("two entries with one id");
    assert!(error.message.contains("two entries"), "{error}");
}

#[tokio::test]
async fn the_same_bytes_in_another_category_are_another_entry() {
    let own = format!(r#""category_id":"{}","#, category_id(1));
    let entry = article_json(1, "").replace(&own, "");
    let here = page("categories[].articles", &entry, "");
    let there = here.replace(&category_id(1).to_string(), &category_id(2).to_string());
    let replies = [here, there].map(|document| Reply::json(200, document));
    let service = Responder::script(replies.to_vec()).await;
    let setup = service.client();
    let fingerprinter = Fingerprinter::draw();
    let (_, first) = list(
        &setup,
        &asking(&KnownEntries::new(fingerprinter, Vec::new())),
    )
    .await;
    let (_, second) = list(
        &setup,
        &asking(&KnownEntries::new(fingerprinter, marks(&first))),
    )
    .await;
    assert!(matches!(&second[0], Listed::Article(article) if article.category == category_id(2)));
}

#[tokio::test]
async fn a_giant_entry_gets_no_mark() {
    // Only the beginning of a giant entry is stored, and the beginning may be the same when the rest differs.
    let giant = article_json(2, &format!(r#","text":"{}""#, "x".repeat(50_000)));
    let entries = [article_json(1, ""), giant].join(",");
    let service = Responder::script(vec![Reply::json(200, page("articles", &entries, ""))]).await;
    let setup = service.client_with(|options| options.max_article = 10_000);
    let nothing = KnownEntries::new(Fingerprinter::draw(), Vec::new());
    let (end, listed) = list(&setup, &asking(&nothing)).await;
    end.expect("whole");
    assert_eq!(marks(&listed).len(), 1);
    assert!(matches!(&listed[1], Listed::Unreadable { id, .. } if *id == Some(article_id(2))));
}
