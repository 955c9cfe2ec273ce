//! Waits, retries, and the budget as the client spends it.

use super::super::{
    ArticlePatch, ErrorKind, Purpose, Service as _, ServiceRead as _, ServiceWrite as _,
    budget::{Budget, BudgetLimits, clock::Clock, clocks::TokioClock},
    client::{Client, ClientError, ClientOptions, WaitReason},
    token::Token,
};
use super::{CANARY, Reply, Responder, Setup, article_id, article_json, listings};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

fn good() -> Reply {
    Reply::json(
        200,
        format!(r#"{{"success":true,"article":{}}}"#, article_json(1, "")),
    )
}

fn reasons(setup: &Setup) -> Vec<WaitReason> {
    let waits = setup.waits.lock().expect("no panic");
    waits.iter().map(|note| note.reason).collect()
}

#[tokio::test]
async fn s8_a_429_is_waited_out_and_what_a_look_justifies_is_not_sent_after_the_wait() {
    let busy = Reply::json(429, "").with("retry-after", "7");
    let service = Responder::start(move |count, asked| {
        if count.is_multiple_of(2) {
            busy.clone()
        } else if asked.method == "DELETE" {
            Reply::json(200, r#"{"success":true,"message":""}"#)
        } else {
            good()
        }
    })
    .await;
    let setup = service.client();
    let client = &setup.client;
    client
        .article(article_id(1), Purpose::Push)
        .await
        .expect("read");
    let patch = ArticlePatch::default();
    let told = client.update_article(article_id(1), &patch).await;
    let told = told.expect_err("its look would be an old one");
    assert!(
        matches!(told.kind, ErrorKind::RateLimited { .. }),
        "{told:?}"
    );
    assert!(!told.response_lost);
    // Nothing is sent until there is room; `wait_for_room` waits for the read and the next attempt.
    let early = client.delete_article(article_id(1)).await;
    assert!(early.is_err());
    assert_eq!(service.count(), 3);
    client.wait_for_room(2, Purpose::Push).await.expect("room");
    client
        .update_article(article_id(1), &patch)
        .await
        .expect("updated");
    assert_eq!(service.count(), 4);
    assert_eq!(reasons(&setup), [WaitReason::Throttled; 2]);
    assert!(setup.clock.elapsed() >= Duration::from_secs(14));
    assert_eq!(client.budget_left().day_left, 1436);
}

/// Reads an article. The first answer is a refusal when nothing is left of the minute, with further headers.
async fn read_after_a_refusal(status: u16, headers: &[(&'static str, &str)]) -> Setup {
    let mut empty = Reply::json(status, r#"{"success":false,"message":"slow down"}"#)
        .with("x-ratelimit-limit", "60")
        .with("x-ratelimit-remaining", "0");
    for (name, value) in headers {
        empty = empty.with(name, value);
    }
    let service = Responder::script(vec![empty, good()]).await;
    let setup = service.client();
    let read = setup.client.article(article_id(1), Purpose::Push).await;
    read.expect("read");
    assert_eq!(service.count(), 2);
    setup
}

#[tokio::test]
async fn s8_a_refusal_with_nothing_left_is_waited_out() {
    for status in [403, 404, 429] {
        let setup = read_after_a_refusal(status, &[]).await;
        // It is unknown who spent the minute, so all processes pause for a whole one: one wait in all.
        assert!(setup.clock.elapsed() >= Duration::from_mins(1));
        assert_eq!(reasons(&setup), [WaitReason::Throttled], "{status}");
        // The day counts the two requests only.
        assert_eq!(setup.client.budget_left().day_left, 1438, "{status}");
    }
}

#[tokio::test]
async fn f110_the_wait_that_a_refusal_names_is_believed_though_nothing_is_left_of_the_minute() {
    for status in [429, 403, 503] {
        let setup = read_after_a_refusal(status, &[("retry-after", "3")]).await;
        let waited = setup.clock.elapsed();
        assert!(waited >= Duration::from_secs(3), "{status}: {waited:?}");
        assert!(waited < Duration::from_secs(5), "{status}: {waited:?}");
    }
    // An unreadable wait does not count: the pause is a minute.
    for status in [429, 503] {
        let setup = read_after_a_refusal(status, &[("retry-after", "soon")]).await;
        assert!(setup.clock.elapsed() >= Duration::from_mins(1), "{status}");
    }
}

#[tokio::test]
async fn after_five_refusals_it_is_over() {
    let service = Responder::script(vec![Reply::json(429, "")]).await;
    let setup = service.client();
    let error = setup
        .client
        .article(article_id(1), Purpose::Push)
        .await
        .expect_err("busy");
    assert_eq!(error.kind, ErrorKind::RateLimited { retry_after: None });
    assert!(error.stops_all());
    assert_eq!(service.count(), 5);
}

#[tokio::test]
async fn a_wait_beyond_ones_patience_fails_now_and_holds_all_back() {
    let service = Responder::script(vec![
        Reply::json(429, "").with("retry-after", "3600"),
        good(),
    ])
    .await;
    let setup = service.client();
    let hour = Duration::from_hours(1);
    for asked in [1, 1] {
        let error = setup
            .client
            .article(article_id(1), Purpose::Push)
            .await
            .expect_err("busy");
        assert_eq!(
            error.kind,
            ErrorKind::RateLimited {
                retry_after: Some(hour)
            }
        );
        assert_eq!(service.count(), asked, "the second one is not even sent");
    }
    setup.clock.advance(hour);
    setup
        .client
        .article(article_id(1), Purpose::Push)
        .await
        .expect("read");
}

#[tokio::test]
async fn a_read_is_tried_again() {
    let bad = [
        Reply::json(500, ""),
        Reply::page(502),
        Reply::json(503, "").with("retry-after", "3"),
        good().cut_at(30),
        good().cut_at(0),
        Reply::json(200, ""),
        Reply::json(200, r#"{"success":true,"article":{"id":"#),
    ];
    for reply in bad {
        let service = Responder::script(vec![reply.clone(), reply.clone(), good()]).await;
        let setup = service.client();
        setup
            .client
            .article(article_id(1), Purpose::Poll)
            .await
            .unwrap_or_else(|error| panic!("{reply:?}: {error}"));
        assert_eq!(service.count(), 3);
        assert_eq!(reasons(&setup), [WaitReason::Again; 2]);
        assert_eq!(setup.client.requests().get, 3, "each try is paid for");
    }
    // The announced length is that of the body: only the JSON shows that the body is incomplete.
    for body in ["", r#"{"success":true"#] {
        let service = Responder::script(vec![Reply::json(200, body)]).await;
        let setup = service.client();
        let read = setup.client.article(article_id(1), Purpose::Push).await;
        assert_eq!(
            read.expect_err(body).kind,
            ErrorKind::Unavailable { retry_after: None },
            "{body}"
        );
        assert_eq!(service.count(), 5, "{body}");
        // A write is sent once, because it may have been carried out.
        let patch = ArticlePatch::default();
        let written = setup.client.update_article(article_id(1), &patch).await;
        let error = written.expect_err(body);
        assert_eq!(
            error.kind,
            ErrorKind::Unavailable { retry_after: None },
            "{body}"
        );
        assert!(error.response_lost, "{body}");
        assert_eq!(service.count(), 6, "{body}");
    }
    let nobody = Setup::new("http://127.0.0.1:9", |_| {});
    let error = nobody
        .client
        .article(article_id(1), Purpose::Push)
        .await
        .expect_err("nobody there");
    assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: None });
    assert_eq!(reasons(&nobody), [WaitReason::Again; 4]);
    let left = nobody.client.budget_left();
    let get = nobody.client.requests().get;
    assert_eq!(
        (get, left.minute_left, left.day_left),
        (0, 60, 1440),
        "what never left this machine was no request"
    );
}

#[tokio::test]
async fn f114_a_listing_that_the_day_has_no_room_for_ends_with_its_first_page() {
    let page = |number: u32, last: u32| {
        let ids = format!(
            r#"{{"success":true,"articles":[{}],"meta":{{"current_page":{number},"last_page":{last}}}}}"#,
            article_json(number, "")
        );
        Reply::json(200, ids)
    };
    for (per_day, sent, whole) in [(5, 5, true), (4, 1, false), (1, 1, false)] {
        let pages = (1..=5).map(|number| page(number, 5)).collect();
        let service = Responder::script(pages).await;
        let setup = service.client_with(|options| {
            let clock: Arc<dyn Clock> = options.budget.clock().clone();
            let limits = BudgetLimits {
                per_minute: 60,
                per_day,
                reserve_for_pushes: 0,
            };
            options.budget = Budget::in_memory(limits, clock);
        });
        let end = setup.client.list(&listings::request(), &mut |_| {}).await;
        assert_eq!(end.is_ok(), whole, "{end:?}");
        assert_eq!(service.count(), sent, "with {per_day} a day");
    }
}

#[tokio::test]
async fn operations_that_wait_for_the_same_room_do_not_begin_together() {
    let service = Responder::script(Vec::new()).await;
    let mut begun = BTreeSet::new();
    for _ in 0..8 {
        let setup = service.client();
        let budget = setup.client.budget();
        for _ in 0..60 {
            budget.acquire(Purpose::Push).await.expect("room");
        }
        let room = setup.client.wait_for_room(2, Purpose::Push).await;
        room.expect("room");
        begun.insert(setup.clock.elapsed());
    }
    assert!(begun.len() > 1, "{begun:?}");
}

#[tokio::test]
async fn s8_a_full_minute_is_waited_out_and_a_full_day_is_not() {
    let service = Responder::script(vec![good()]).await;
    let setup = service.client_with(|options| {
        let clock: Arc<dyn Clock> = options.budget.clock().clone();
        let limits = BudgetLimits {
            per_minute: 2,
            per_day: 5,
            reserve_for_pushes: 20,
        };
        options.budget = Budget::in_memory(limits, clock);
    });
    for _ in 0..5 {
        setup
            .client
            .article(article_id(1), Purpose::Push)
            .await
            .expect("read");
    }
    assert_eq!(reasons(&setup), [WaitReason::Minute; 2]);
    let error = setup
        .client
        .article(article_id(1), Purpose::Push)
        .await
        .expect_err("the day is spent");
    assert!(
        matches!(error.kind, ErrorKind::BudgetSpent { .. }),
        "{error}"
    );
    assert_eq!(service.count(), 5);
}

#[tokio::test]
async fn f111_the_limits_in_the_headers_are_heeded() {
    for (remaining, minute_left) in [("17", 17), ("0", 0)] {
        // In a success, `Retry-After` is no pause, and the rest counts all the same.
        let reply = good()
            .with("x-ratelimit-limit", "60")
            .with("x-ratelimit-remaining", remaining)
            .with("retry-after", "1");
        let service = Responder::script(vec![reply]).await;
        let setup = service.client();
        setup
            .client
            .article(article_id(1), Purpose::Push)
            .await
            .expect("read");
        assert_eq!(setup.client.budget_left().minute_left, minute_left);
    }
}

#[tokio::test]
async fn f134_clear_text_is_for_this_machine_only() {
    let make = |url: &str, insecure| {
        let token = Token::new(CANARY).expect("a token");
        let budget = Budget::in_memory(BudgetLimits::default(), Arc::new(TokioClock::default()));
        let mut options = ClientOptions::new(url, token, budget);
        options.allow_insecure_http = insecure;
        Client::new(options)
    };
    for url in ["http://kb.example.com", "http://127.0.0.1.example.com"] {
        let error = make(url, false).expect_err("clear text");
        assert!(matches!(error, ClientError::Insecure { .. }), "{error}");
        assert!(!error.to_string().contains("4711"));
        make(url, true).expect("allowed");
    }
    for url in [
        "https://kb.example.com",
        "http://127.0.0.1:1",
        "http://[::1]:1",
        "http://localhost:1/x/",
    ] {
        make(url, false).unwrap_or_else(|error| panic!("{url}: {error}"));
    }
}

#[tokio::test]
async fn f133_only_an_answer_of_a_service_says_that_it_knows_the_token() {
    let empty = r#"{"success":true,"bases":[]}"#;
    let service = Responder::script(vec![
        Reply::page(200),
        Reply::json(200, "{}"),
        Reply::json(401, r#"{"success":false,"message":"who?"}"#),
        Reply::json(200, empty),
        Reply::json(200, empty),
    ])
    .await;
    let told = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&told);
    let setup = Setup::new(&service.url, |options| {
        options.token_accepted = Some(Arc::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }));
    });
    for expected in [0, 0, 0, 1, 1] {
        let answer = setup.client.workspaces().await;
        assert_eq!(answer.is_ok(), expected > 0, "{answer:?}");
        assert_eq!(told.load(Ordering::Relaxed), expected);
    }
}

#[tokio::test]
async fn f133_a_token_that_turns_out_to_belong_elsewhere_is_sent_no_more() {
    let service = Responder::script(vec![Reply::json(200, r#"{"success":true,"bases":[]}"#)]).await;
    let setup = Setup::new(&service.url, |options| {
        options.token_accepted = Some(Arc::new(|| Err("it belongs to another".to_owned())));
    });
    setup.client.workspaces().await.expect("the first answer");
    let error = setup.client.workspaces().await.expect_err("not sent");
    assert!(
        error.stops_all() && error.to_string().contains("another"),
        "{error}"
    );
    assert_eq!(service.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_silent_service_is_reported_long_before_the_request_fails() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a free port");
    let address = listener.local_addr().expect("an address");
    // The listener accepts connections and sends nothing.
    let setup = Setup::new(&format!("http://{address}"), |_| {});
    let error = setup
        .client
        .article(article_id(1), Purpose::Push)
        .await
        .expect_err("nobody answers");
    assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: None });
    let told = reasons(&setup);
    assert_eq!(told.len(), 9, "{told:?}");
    for (at, reason) in told.into_iter().enumerate() {
        let expected = if at % 2 == 0 {
            WaitReason::Silent
        } else {
            WaitReason::Again
        };
        assert_eq!(reason, expected, "{at}");
    }
    let first = setup.waits.lock().expect("no panic")[0].clone();
    assert_eq!(
        first.to_string(),
        "the service is silent: waiting up to 55s"
    );
    drop(listener);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_falls_silent_in_an_answer_is_reported() {
    let silent_in = |status, body: &str| Reply::json(status, body).cut_at(20).hanging();
    let article = good().cut_at(20).hanging();
    let refusal = silent_in(403, r#"{"success":false,"message":"not yours"}"#);
    let listing = silent_in(200, r#"{"success":true,"articles":[],"meta":{}}"#);
    let mut told = Vec::new();
    for (reply, is_listing) in [(article, false), (refusal, false), (listing, true)] {
        let service = Responder::script(vec![reply]).await;
        let setup = service.client();
        if is_listing {
            let end = setup.client.list(&listings::request(), &mut |_| {}).await;
            end.expect_err("silent");
        } else {
            let read = setup.client.article(article_id(1), Purpose::Push).await;
            read.expect_err("silent");
        }
        told.push(reasons(&setup).first().copied());
    }
    assert_eq!(told, [Some(WaitReason::Silent); 3]);
}
