//! A hostile service: every endpoint of the API that a cycle uses, in every way in which it may misbehave.
//!
//! A cell of the matrix is a mirror with something to do through each endpoint, and one endpoint that answers wrongly
//! for a whole cycle. Nothing may be lost, and nothing may be deleted except what a good service would have made us
//! delete; the report names the fault in words, and the exit code fits; and once the service is good again, three
//! cycles reach the end that a cycle with a good service reaches (failures rows 14 to 39).

use crate::engine::crash::{Outcome, articles, categories, nothing_lost, outcome, sides};
use crate::support::clocks::SteppedClock;
use crate::support::faults::habits::{Habits, Paging};
use crate::support::faults::{AnswerEdit, Fault, FaultKind, Hook, Inject, Matcher, RawAnswer};
use crate::support::hostile::{self, Stage};
use crate::support::words::Written;
use crate::support::world::lines;
use kbsync::engine::report::Report;
use kbsync::model::{ExitCode, WorkspaceId};
use kbsync::sandbox::{Options, Snapshot};
use kbsync::service::budget::{Budget, BudgetLimits};
use kbsync::service::client::{Client, ClientOptions};
use kbsync::service::token::Token;
use kbsync::service::{ErrorKind, ServiceError, ServiceRead as _};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

use Trouble::{
    BrokenOff, Down, Halved, Ids, Large, Names, NotHere, Nothing, Refused, SignedOut, Slow,
    Success, Texts, Throttled, Twice, Unanswered, Unended, Unsent,
};

/// A way to misbehave.
struct Manner {
    name: &'static str,
    trouble: Trouble,
    make: fn() -> FaultKind,
}

const fn manner(name: &'static str, trouble: Trouble, make: fn() -> FaultKind) -> Manner {
    Manner {
        name,
        trouble,
        make,
    }
}

/// The effect of a misbehaviour on the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    /// No trouble: the answer only takes longer.
    Slow,
    /// The request is not carried out, and there is no answer.
    Unsent,
    /// The request is carried out, and there is no answer (a lost response).
    Unanswered,
    /// The request is carried out, and the answer is truncated or does not come in time.
    BrokenOff,
    /// The request is carried out, and the answer's JSON is truncated, although its length is the announced one.
    Halved,
    /// The request is carried out, and the answer never ends.
    Unended,
    /// The request is carried out; names or titles have a wrong type.
    Names,
    /// The request is carried out; ids are missing or have a wrong type.
    Ids,
    /// The request is carried out; texts have a wrong type.
    Texts,
    /// The request is carried out; everything in the answer is there twice.
    Twice,
    /// The request is not carried out; the answer is a success without content, or does not come from the service.
    Nothing,
    /// The request is not carried out; the answer only claims success.
    Success,
    /// The request is not carried out; the answer is a page with 404.
    NotHere,
    /// The request is not carried out; the answer is larger than any limit.
    Large,
    /// The request is not carried out: the service refuses this request.
    Refused,
    /// The request is not carried out: the service refuses all requests until somebody signs in.
    SignedOut,
    /// The request is not carried out: the service carries out none for a while.
    Down,
    /// As in `Down`, because there were too many requests.
    Throttled,
}

fn status(status: u16, body: &str) -> FaultKind {
    FaultKind::Status(status, body.to_owned())
}

pub(crate) fn raw(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> FaultKind {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    FaultKind::Raw(RawAnswer {
        status,
        headers: headers.iter().map(own).collect(),
        body: body.into(),
    })
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
const TOO_MANY: &str = r#"{"success":false,"message":"Too Many Attempts."}"#;

fn throttled(retry_after: &str) -> FaultKind {
    raw(429, &[JSON, ("retry-after", retry_after)], TOO_MANY)
}

fn edit(edit: impl Fn(&mut Value) + Send + Sync + 'static) -> FaultKind {
    FaultKind::Edit(AnswerEdit::new(edit))
}

/// Doubles the first element of every array in an answer.
fn doubled(value: &mut Value) {
    match value {
        Value::Array(elements) => {
            if let Some(first) = elements.first().cloned() {
                elements.push(first);
            }
            elements.iter_mut().for_each(doubled);
        }
        Value::Object(fields) => fields.values_mut().for_each(doubled),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Sets a field of every object that has it.
fn set_all(value: &mut Value, field: &str, to: &Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|one| set_all(one, field, to)),
        Value::Object(fields) => {
            for (key, value) in fields {
                if key == field {
                    *value = to.clone();
                } else {
                    set_all(value, field, to);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn slow(bytes: usize, millis: u64) -> FaultKind {
    let pause = Duration::from_millis(millis);
    FaultKind::Slow { bytes, pause }
}

/// The name of a manner whose answer trickles in: every answer has more than three such drops, so it is not complete
/// within [`SOON`].
const TOO_SLOW: &str = "drops that are waited for in vain";

/// The name of a manner in which not even the headers arrive within [`SOON`].
const LATE: &str = "headers that are waited for in vain";

/// The time limit of an answer in the tests of slow answers.
const SOON: Duration = Duration::from_millis(150);

impl Manner {
    /// Returns a client that meets the manner. A late manner gets a short time limit.
    fn client(&self, stage: &Stage) -> Client {
        if self.is_late() {
            client_within(stage, SOON)
        } else {
            client(stage)
        }
    }

    fn is_late(&self) -> bool {
        [TOO_SLOW, LATE].contains(&self.name)
    }
}

fn bombed(status: u16) -> FaultKind {
    let headers = [JSON, ("content-encoding", "gzip")];
    raw(status, &headers, bomb("{\"message\":\"", 64 << 20))
}

const MANNERS: &[Manner] = &[
    manner("reset before", Unsent, || FaultKind::ResetBefore),
    manner("reset after", Unanswered, || FaultKind::ResetAfter),
    manner("cut at once", BrokenOff, || FaultKind::Truncate(0)),
    manner("cut in the middle", BrokenOff, || FaultKind::Truncate(30)),
    manner("half of the JSON", Halved, || FaultKind::InvalidJson),
    manner("numbers for names", Names, || FaultKind::WrongType),
    manner("a login page", SignedOut, || FaultKind::Html),
    manner("a redirect", SignedOut, || {
        raw(302, &[("location", "/login")], "")
    }),
    manner("an empty 200", Unsent, || raw(200, &[JSON], "")),
    manner("an empty object", Nothing, || status(200, "{}")),
    manner("an empty array", Nothing, || status(200, "[]")),
    manner("null", Nothing, || raw(200, &[JSON], "null")),
    manner("success and nothing else", Success, || {
        status(200, r#"{"success":true}"#)
    }),
    manner("200 that failed", Nothing, || {
        status(200, r#"{"success":false,"message":"No."}"#)
    }),
    manner("bytes that are no UTF-8", Nothing, || {
        raw(200, &[JSON], b"{\"success\":true,\"\xff\xfe\":1}".to_vec())
    }),
    manner("arrays a hundred thousand deep", Large, || {
        raw(200, &[JSON], "[".repeat(100_000))
    }),
    manner("no ids", Ids, || {
        edit(|answer| set_all(answer, "id", &Value::Null))
    }),
    manner("ids of another kind", Ids, || {
        edit(|answer| set_all(answer, "id", &json!(7)))
    }),
    manner("texts of another kind", Texts, || {
        edit(|answer| set_all(answer, "text", &json!({"html": 1})))
    }),
    manner("everything twice", Twice, || edit(doubled)),
    manner("400", Refused, || {
        status(400, r#"{"success":false,"message":"Bad."}"#)
    }),
    manner("403", Refused, || {
        status(403, r#"{"success":false,"message":"Not yours."}"#)
    }),
    manner("403 as a page", SignedOut, || {
        status(403, "<html>blocked</html>")
    }),
    manner("404 as a page", NotHere, || {
        status(404, "<html>not here</html>")
    }),
    manner("408", Down, || status(408, "")),
    manner("422", Refused, || {
        status(422, r#"{"success":false,"message":"Odd."}"#)
    }),
    manner("500", Down, || {
        status(500, r#"{"success":false,"message":"Oops."}"#)
    }),
    manner("502 as a page", Down, || {
        status(502, "<html>bad gateway</html>")
    }),
    manner("503 that asks to wait", Down, || {
        raw(503, &[("retry-after", "20")], "")
    }),
    manner("401", SignedOut, || {
        status(401, r#"{"success":false,"message":"Unauthenticated."}"#)
    }),
    manner("418", Refused, || status(418, "teapot")),
    manner("429", Throttled, || FaultKind::RateLimited {
        retry_after: None,
    }),
    manner("429 for 0 s", Throttled, || throttled("0")),
    manner("429 for 7 s", Throttled, || throttled("7")),
    manner("429 for an hour", Throttled, || throttled("3600")),
    manner("429 until a date that was", Throttled, || {
        throttled("Wed, 21 Oct 2015 07:28:00 GMT")
    }),
    manner("429 until a date to come", Throttled, || {
        throttled("Fri, 21 Oct 2095 07:28:00 GMT")
    }),
    manner("429 for ever", Throttled, || {
        throttled("99999999999999999999999")
    }),
    manner("429 for less than nothing", Throttled, || throttled("-5")),
    manner("429 for nonsense", Throttled, || throttled("soon")),
    manner("no gzip where gzip is said", Down, || {
        raw(200, &[JSON, ("content-encoding", "gzip")], "{}")
    }),
    manner("an answer without an end", Unended, || FaultKind::Endless),
    manner("an answer in drops", Slow, || slow(256, 1)),
    manner(TOO_SLOW, BrokenOff, || slow(8, 50)),
    manner("a bomb", Large, || {
        raw(
            200,
            &[JSON, ("content-encoding", "gzip")],
            bomb("{\"x\":\"", 64 << 20),
        )
    }),
    manner(LATE, Unsent, || FaultKind::Latency(Duration::from_mins(1))),
    manner("422 with a bomb", Refused, || bombed(422)),
    manner("500 with a bomb", Down, || bombed(500)),
    manner("429 with a bomb", Throttled, || bombed(429)),
];

/// Returns a gzip stream of a beginning followed by the letter `a` so many times.
pub(crate) fn bomb(start: &str, bytes: usize) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut held, mut count) = (0_u32, 0_u32);
    let mut put = |bits: u32, width: u32| {
        held |= bits << count;
        count += width;
        while count >= 8 {
            out.push(u8::try_from(held & 0xff).expect("a byte"));
            held >>= 8;
            count -= 8;
        }
    };
    // The last block, with fixed codes; codes go in with their highest bit first.
    put(0b011, 3);
    for byte in start.bytes().chain(*b"a") {
        put((0x30 + u32::from(byte)).reverse_bits() >> 24, 8);
    }
    for _ in 0..bytes / 258 {
        // A back-reference of length 258 and distance 1.
        put(0b1100_0101_u32.reverse_bits() >> 24, 8);
        put(0, 5);
    }
    put(0, 7);
    put(0, 7);
    out.extend([0; 8]);
    out
}

/// The purpose of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Job {
    List,
    ListOn,
    ReadCategory,
    ReadArticle,
    Create,
    Update,
    Probe,
    Delete,
    CreateCategory,
    UpdateCategory,
}

/// An endpoint. `query` and `slugs` narrow its misbehaviour to some queries and articles.
struct Endpoint {
    job: Job,
    method: &'static str,
    path: &'static str,
    query: &'static str,
    slugs: &'static [&'static str],
}

const LISTING: Endpoint = endpoint(Job::List, "GET", "/api/base/*/articles");
const SECOND_PAGE: Endpoint = Endpoint {
    job: Job::ListOn,
    query: "page=2",
    ..LISTING
};
const CATEGORY: Endpoint = endpoint(Job::ReadCategory, "GET", "/api/category/");
const ARTICLE: Endpoint = endpoint(Job::ReadArticle, "GET", "/api/article/");
const CREATE: Endpoint = endpoint(Job::Create, "POST", "/api/article");
const UPDATE: Endpoint = Endpoint {
    slugs: &["edited"],
    ..endpoint(Job::Update, "PUT", "/api/article/")
};
/// A probe: a PUT that changes nothing, and shows whether an article is there.
const PROBE: Endpoint = Endpoint {
    job: Job::Probe,
    slugs: &["gone", "hidden"],
    ..UPDATE
};
const DELETE: Endpoint = endpoint(Job::Delete, "DELETE", "/api/article/");
const CREATE_CATEGORY: Endpoint = endpoint(Job::CreateCategory, "POST", "/api/category");
const UPDATE_CATEGORY: Endpoint = endpoint(Job::UpdateCategory, "PUT", "/api/category/");

const fn endpoint(job: Job, method: &'static str, path: &'static str) -> Endpoint {
    Endpoint {
        job,
        method,
        path,
        query: "",
        slugs: &[],
    }
}

/// Returns the expected result of the cycle in which an endpoint misbehaves: the exit code, `R` if the article whose
/// file was removed is deleted, and `L` if the file of a deleted article is removed.
#[expect(clippy::match_same_arms, reason = "a table is read from above")]
fn due(job: Job, trouble: Trouble) -> &'static str {
    match (job, trouble) {
        (_, Slow) => "0RL",
        // Nothing is deleted where the listing, the network or the sign-in failed.
        (_, Unsent | Down | Throttled) => "5--",
        (_, SignedOut) => "1--",
        (
            Job::List | Job::ListOn | Job::ReadCategory | Job::ReadArticle,
            Unanswered | BrokenOff,
        )
        | (Job::List | Job::ListOn | Job::ReadCategory, Halved) => "5--",
        // The known categories are read instead.
        (Job::List, NotHere) => "0RL, but for what nobody knows of",
        // An article that cannot be read stops only itself. An article without an id may be any article.
        (Job::ListOn, Names | Texts) => "4RL",
        (Job::ListOn, Ids) => "5--",
        (Job::List | Job::ListOn, _) => "1--",
        // The words of a category have no text.
        (Job::ReadCategory, Texts) => "0RL",
        (Job::ReadCategory, _) => "4RL",
        // The article that is read does not exist, so the answer has nothing to spoil.
        (Job::ReadArticle, Names | Ids | Texts | Twice) => "0RL",
        // No answer says that the article is gone, so it waits for a person.
        (Job::ReadArticle, _) => "3R-",
        // The probe of a hidden article has an answer to spoil; the probe of a deleted article has none.
        (Job::Probe, Names | Ids | Texts) => "3RL",
        (Job::Probe, Twice) => "0RL",
        (Job::Probe, Unanswered | BrokenOff | Halved) => "5--",
        (Job::Probe, _) => "3R-",
        // A read settles a lost response, if the read is answered; a creation is sent again, and again has no response.
        (Job::Create | Job::CreateCategory, Unanswered) => "5--",
        (Job::Update, Unanswered | BrokenOff | Halved | Names | Ids | Texts) => "5--",
        (Job::Update, Unended) => "4RL",
        (Job::CreateCategory, Texts | Twice) => "0RL",
        (Job::CreateCategory, BrokenOff | Halved | Unended | Names | Ids) => "3RL",
        (
            Job::Create | Job::Update | Job::Delete | Job::UpdateCategory,
            Unanswered | BrokenOff | Halved | Unended | Names | Ids | Texts | Twice,
        ) => "0RL",
        // The outcome of the request is unknown.
        (_, Nothing | Success | NotHere) => "5--",
        (Job::Delete, Large | Refused) => "4-L",
        (_, Large | Refused) => "4RL",
    }
}

/// Like [`due`], for an endpoint that misbehaves for one request only.
fn due_once(job: Job, trouble: Trouble) -> &'static str {
    match (job, trouble) {
        // A person has to find the id of the new category.
        (Job::CreateCategory, Unanswered | BrokenOff) => "3RL",
        // A probe is not repeated within the cycle.
        (Job::Probe, Unsent | Unanswered | BrokenOff | Down) => "5--",
        _ => "0RL",
    }
}

/// A client whose waits pass at once, and whose limits are small enough to be met by the tests.
fn client(stage: &Stage) -> Client {
    client_within(stage, Duration::from_mins(1))
}

/// Like [`client`], with a time limit for an answer.
fn client_within(stage: &Stage, total_timeout: Duration) -> Client {
    let limits = BudgetLimits {
        per_minute: 100_000,
        per_day: 1_000_000,
        reserve_for_pushes: 20,
    };
    let token = Token::new(&stage.running.token()).expect("a token");
    let budget = Budget::in_memory(limits, Arc::new(SteppedClock::default()));
    Client::new(ClientOptions {
        max_article: 64 * 1024,
        max_body: 256 * 1024,
        total_timeout,
        ..ClientOptions::new(&stage.running.url, token, budget)
    })
    .expect("a client")
}

impl Endpoint {
    fn cell(&self, name: &str) -> String {
        format!("{} {} {}: {name}", self.method, self.path, self.query)
    }

    /// Returns the requests for which the endpoint misbehaves.
    fn matchers(&self, rows: &BTreeMap<String, Uuid>) -> Vec<Matcher> {
        if self.slugs.is_empty() {
            return vec![Matcher::new(self.method, self.path).query(self.query)];
        }
        let path = |slug: &&str| format!("{}{}", self.path, rows[*slug]);
        let paths = self.slugs.iter().map(path);
        paths.map(|path| Matcher::new(self.method, &path)).collect()
    }
}

/// A mirror with something to do through every endpoint.
struct Busy {
    /// The words that people wrote.
    written: Written,
    /// The articles of the first sync.
    rows: BTreeMap<String, Uuid>,
    /// The service as it was at the first sync.
    first: Snapshot,
}

/// Prepares something to do through every endpoint.
async fn busy(stage: &mut Stage) -> Busy {
    stage.renew();
    stage.clock.advance(Duration::from_mins(1));
    let (a, b) = (stage.category("a"), stage.category("b"));
    let text = |slug: &str| format!("<p>First of {slug}.</p>\n<p>Last of {slug}.</p>");
    let slugs = [
        (a, "edited"),
        (a, "removed"),
        (b, "pulled"),
        (b, "gone"),
        (b, "hidden"),
    ];
    let mut ids = Vec::new();
    for (category, slug) in slugs {
        ids.push(stage.article(category, slug, &text(slug)));
    }
    for number in 0..4 {
        stage.article(b, &format!("more-{number}"), "<p>more</p>");
    }
    let report = hostile::sync(stage).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    let first = stage.sandbox().snapshot();
    let mut written = Written::default();
    written.add(&sides(stage));
    stage.edit("a/edited.html", "First", "Mine");
    stage.write("a/new.html", "---\ntitle: New\n---\n<p>new</p>\n");
    stage.write("c/first.html", "---\ntitle: First\n---\n<p>in c</p>\n");
    stage.edit("a/_category.yaml", "name: a", "name: Mine");
    stage.remove("a/removed.html");
    stage
        .sandbox()
        .edit(ids[2], |article| article.text = "<p>theirs</p>".into());
    stage.sandbox().remove(ids[3]);
    stage.sandbox().unpublish(ids[4]);
    let d = stage.category("d");
    stage.article(d, "arrived", "<p>arrived</p>");
    written.add(&sides(stage));
    // The entries from the first sync are no longer recent.
    stage.clock.advance(Duration::from_mins(1));
    let named = slugs.iter().map(|(_, slug)| (*slug).to_owned()).zip(ids);
    Busy {
        written,
        rows: named.collect(),
        first,
    }
}

/// A person follows the report where the API does not show an id.
fn do_as_told(stage: &Stage, report: &Report) {
    let told = report
        .actions
        .iter()
        .filter_map(|line| line.reason.as_deref());
    if told
        .into_iter()
        .any(|why| why.contains("put its id into c/_category.yaml"))
    {
        // If there is no such category, the report had another cause.
        let found = categories(stage).into_iter().find(|one| one.slug == "c");
        if let Some(id) = found.map(|one| one.id) {
            stage.write("c/_category.yaml", &format!("id: {id}\nname: C\n"));
        }
    }
}

/// Checks that a report is in words.
fn assert_clear(report: &Report, cell: &str) {
    let mut said: Vec<&str> = report.problems.iter().map(|p| p.message.as_str()).collect();
    said.extend(
        report
            .actions
            .iter()
            .filter_map(|line| line.reason.as_deref()),
    );
    let silent = report.outcome == ExitCode::Done;
    assert!(silent || !said.is_empty(), "{cell}: {report:#?}");
    for words in said {
        for bad in [
            "Error",
            "Some(",
            "None",
            "{ ",
            "kind:",
            "reqwest",
            "hyper",
            "serde",
            "panicked",
            "sandbox-token",
        ] {
            assert!(!words.contains(bad), "{cell}: {bad:?} in {words:?}");
        }
        assert!(words.len() < 2_000, "{cell}: {words}");
    }
}

/// Checks that neither side lost more than what is to be deleted. Returns the result in the form of [`due`].
fn came_to(stage: &Stage, before: &Sides, report: &Report, cell: &str) -> String {
    let mut came = format!("{}--", report.outcome.number());
    for id in &before.articles {
        if stage.sandbox().article(*id).is_none() {
            assert_eq!(Some(*id), before.removed, "{cell}: {id} was deleted");
            came.replace_range(1..2, "R");
        }
    }
    let files = stage.files();
    for path in &before.files {
        if files.iter().all(|(found, _)| found != path) {
            assert_eq!(path, "b/gone.html", "{cell}: {path} was removed");
            came.replace_range(2..3, "L");
        }
    }
    came
}

struct Sides {
    articles: Vec<Uuid>,
    removed: Option<Uuid>,
    files: Vec<String>,
}

impl Sides {
    fn of(stage: &Stage) -> Self {
        let articles = articles(stage);
        Self {
            removed: articles
                .iter()
                .find(|one| one.slug == "removed")
                .map(|one| one.id),
            articles: articles.into_iter().map(|article| article.id).collect(),
            files: stage.files().into_iter().map(|(path, _)| path).collect(),
        }
    }
}

/// Checks one endpoint that misbehaves so many times in a cycle.
async fn cell(
    stage: &mut Stage,
    endpoint: &Endpoint,
    manner: &Manner,
    times: u32,
    expected: &Outcome,
) {
    let cell = format!("{}, {times} times", endpoint.cell(manner.name));
    let busy = busy(stage).await;
    if manner.is_late() {
        stage.client = Arc::new(client_within(stage, SOON));
    }
    let on = endpoint.matchers(&busy.rows);
    for on in &on {
        let fault = Fault::always(on.clone(), (manner.make)()).times(times);
        stage.sandbox().inject(fault);
    }
    let due = if times == 1 { due_once } else { due };
    let due = Due {
        first: due(endpoint.job, manner.trouble),
        is_late: manner.is_late(),
        last: expected,
    };
    ends_well(stage, &on, &busy.written, &due, &cell).await;
}

/// Checks one endpoint that is stale for a whole cycle: it shows the time before the others' changes, or only the time
/// before the cycle's own changes.
async fn stale_cell(stage: &mut Stage, endpoint: &Endpoint, others: bool, expected: &Outcome) {
    let cell = format!("{} (others: {others})", endpoint.cell("what is no more"));
    let busy = busy(stage).await;
    let past = if others {
        busy.first
    } else {
        stage.sandbox().snapshot()
    };
    let hook = Hook::new(move |sandbox| sandbox.serve_past(&past, 1));
    let on = endpoint.matchers(&busy.rows);
    for on in &on {
        let fault = Fault::always(on.clone(), FaultKind::Hook(hook.clone()));
        stage.sandbox().inject(fault);
    }
    let first = match (endpoint.job, others) {
        // The others' changes are seen as soon as the service shows them.
        (Job::List, true) => "0R-",
        // A category that does not exist yet, or an article that still exists and is not listed.
        (Job::ReadCategory, true) => "4RL",
        (Job::ReadArticle, true) => "5--",
        _ => "0RL",
    };
    let due = Due {
        first,
        is_late: false,
        last: expected,
    };
    ends_well(stage, &on, &busy.written, &due, &cell).await;
    stage.sandbox().serve_past(&stage.sandbox().snapshot(), 0);
}

/// The results that a cell must have.
struct Due<'a> {
    /// The result of the cycle with faults, in the form of [`due`].
    first: &'a str,
    /// Whether a good answer may be too slow as well, which ends that cycle.
    is_late: bool,
    /// Both sides after the good cycles.
    last: &'a Outcome,
}

/// Checks that a cycle with faults loses nothing, and that some good cycles later reach the undisturbed end.
async fn ends_well(
    stage: &mut Stage,
    on: &[Matcher],
    written: &Written,
    due: &Due<'_>,
    cell: &str,
) {
    let before = Sides::of(stage);
    stage.sandbox().clear_requests();
    // A second read settles the creation of a new article.
    let creates = on.iter().any(|on| on.meets("POST", "/api/article", ""));
    let report = if creates {
        hostile::settle(stage).await
    } else {
        hostile::sync(stage).await
    };
    let met = stage.sandbox().requests().into_iter().any(|request| {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        on.iter()
            .any(|matcher| matcher.meets(&request.method, path, query))
    });
    assert_clear(&report, cell);
    let came = came_to(stage, &before, &report, cell);
    nothing_lost(stage, written);
    if !(due.is_late && came.starts_with('5')) {
        assert!(met, "{cell}: no such request");
        assert!(due.first.starts_with(&came), "{cell}: {came}: {report:#?}");
        if due.first == "0RL" {
            assert_eq!(outcome(stage), *due.last, "{cell}: it says that it is done");
        }
    }
    stage.sandbox().clear_faults();
    do_as_told(stage, &report);
    stage.client = Arc::new(client(stage));
    let mut quiet = false;
    for _ in 0..4 {
        // A refused request is sent again a day later.
        stage.clock.advance(Duration::from_hours(25));
        let report = hostile::sync(stage).await;
        assert_clear(&report, cell);
        nothing_lost(stage, written);
        do_as_told(stage, &report);
        quiet = report.outcome == ExitCode::Done && report.actions.is_empty();
        if quiet {
            break;
        }
    }
    assert!(quiet, "{cell}: there is no end of it");
    assert_eq!(outcome(stage), *due.last, "{cell}");
    stage.sandbox().clear_requests();
}

/// A service that refuses a probe is not probed again: articles that are not listed wait for a person.
#[tokio::test]
async fn f026_a_probe_that_is_refused_leaves_what_is_not_listed_to_a_person() {
    let (mut stage, expected) = undisturbed(Habits::default()).await;
    for manner in MANNERS
        .iter()
        .filter(|manner| manner.trouble == Trouble::Refused)
    {
        let cell = PROBE.cell(manner.name);
        let Busy { rows, written, .. } = busy(&mut stage).await;
        for on in PROBE.matchers(&rows) {
            stage.sandbox().inject(Fault::always(on, (manner.make)()));
        }
        let before = Sides::of(&stage);
        let report = hostile::sync(&stage).await;
        assert_clear(&report, &cell);
        assert_eq!(came_to(&stage, &before, &report, &cell), "3R-", "{cell}");
        nothing_lost(&stage, &written);
        stage.sandbox().clear_faults();
        let report = hostile::sync(&stage).await;
        let held = ["b/gone.html", "b/hidden.html"].map(|path| format!("delete local {path} held"));
        assert_eq!(lines(&report), held, "{}: {report:#?}", manner.name);
        assert!(stage.exists("b/gone.html") && stage.exists("b/hidden.html"));
        nothing_lost(&stage, &written);
        // Everything else is as with a good service.
        let found = outcome(&stage);
        let waiting = expected.but_for(&found, &["b/gone.html", "b/hidden.html"]);
        assert_eq!(waiting, found, "{cell}");
    }
}

async fn row(endpoint: Endpoint) {
    row_but(endpoint, None).await;
}

/// Checks all manners except a trouble that no client can detect.
async fn row_but(endpoint: Endpoint, but: Option<Trouble>) {
    row_with(Habits::default(), endpoint, but).await;
}

async fn row_with(habits: Habits, endpoint: Endpoint, but: Option<Trouble>) {
    let (mut stage, expected) = undisturbed(habits).await;
    for manner in MANNERS.iter().filter(|manner| Some(manner.trouble) != but) {
        cell(&mut stage, &endpoint, manner, u32::MAX, &expected).await;
    }
}

/// Returns the result with a good service.
async fn undisturbed(habits: Habits) -> (Stage, Outcome) {
    let mut stage = hostile::world_with(Options::unlimited()).await;
    *stage.sandbox().habits() = habits;
    busy(&mut stage).await;
    for _ in 0..2 {
        let report = hostile::sync(&stage).await;
        assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    }
    let expected = outcome(&stage);
    // The client that each cell leaves to the next has only met a good service.
    stage.client = Arc::new(client(&stage));
    (stage, expected)
}

/// Manners that a client can overcome within the cycle, by a retry or by a read.
const PASSING: &[&str] = &[
    "reset before",
    "reset after",
    "cut in the middle",
    "an empty 200",
    "500",
    "429 for 7 s",
];

#[tokio::test]
async fn f014_f015_f016_what_goes_wrong_once_is_done_once() {
    let (mut stage, expected) = undisturbed(Habits::default()).await;
    for endpoint in [
        LISTING,
        CATEGORY,
        ARTICLE,
        CREATE,
        UPDATE,
        PROBE,
        DELETE,
        CREATE_CATEGORY,
        UPDATE_CATEGORY,
    ] {
        for manner in MANNERS
            .iter()
            .filter(|manner| PASSING.contains(&manner.name))
        {
            cell(&mut stage, &endpoint, manner, 1, &expected).await;
        }
    }
}

#[tokio::test]
async fn f022_reads_of_what_is_no_more() {
    let (mut stage, expected) = undisturbed(Habits::default()).await;
    for endpoint in [LISTING, CATEGORY, ARTICLE] {
        for others in [true, false] {
            stale_cell(&mut stage, &endpoint, others, &expected).await;
        }
    }
}

#[tokio::test]
async fn f018_f019_f020_f021_a_second_page_that_misbehaves() {
    let habits = Habits {
        paging: Paging::Meta,
        page_size: 3,
        ..Habits::default()
    };
    row_with(habits, SECOND_PAGE, None).await;
}

#[tokio::test]
async fn f018_f019_f020_f021_a_listing_that_misbehaves() {
    row(LISTING).await;
}

#[tokio::test]
async fn f018_f019_f020_a_category_that_misbehaves() {
    row(CATEGORY).await;
}

#[tokio::test]
async fn f018_f019_f020_an_article_that_misbehaves() {
    row(ARTICLE).await;
}

#[tokio::test]
async fn f014_a_creation_that_misbehaves() {
    row(CREATE).await;
}

#[tokio::test]
async fn f015_an_update_that_misbehaves() {
    row(UPDATE).await;
}

#[tokio::test]
async fn f019_f026_a_probe_that_misbehaves() {
    row_but(PROBE, Some(Refused)).await;
}

#[tokio::test]
async fn f016_a_deletion_that_misbehaves() {
    // A deletion has no other response than a success, so a false success cannot be detected.
    row_but(DELETE, Some(Success)).await;
}

#[tokio::test]
async fn f014_a_category_creation_that_misbehaves() {
    row(CREATE_CATEGORY).await;
}

#[tokio::test]
async fn f015_a_category_update_that_misbehaves() {
    row(UPDATE_CATEGORY).await;
}

/// Checks the message of an error about an answer.
fn assert_told(error: &ServiceError, path: &str, cell: &str) {
    let said = error.to_string();
    assert!(said.starts_with(path), "{cell}: {said}");
    assert!(!said.contains("Error"), "{cell}: {said}");
    assert!(said.len() < 2_000, "{cell}: {said}");
}

#[tokio::test]
async fn f018_the_list_of_workspaces_that_misbehaves() {
    let stage = hostile::world_with(Options::unlimited()).await;
    // A workspace that is listed twice is known once, and a workspace has no texts.
    let good = client(&stage).workspaces().await.expect("they are listed");
    assert_eq!(good.len(), 1);
    for manner in MANNERS {
        let on = Matcher::new("GET", "/api/bases");
        stage.sandbox().inject(Fault::always(on, (manner.make)()));
        let answer = manner.client(&stage).workspaces().await;
        stage.sandbox().clear_faults();
        match answer {
            Ok(found) => {
                assert_eq!(found, good, "{}", manner.name);
                assert!(
                    [Slow, Texts, Twice].contains(&manner.trouble),
                    "{}",
                    manner.name
                );
            }
            Err(error) => {
                assert_told(&error, "GET /api/bases", manner.name);
                assert!(
                    ![Slow, Texts, Twice].contains(&manner.trouble),
                    "{}: {error}",
                    manner.name
                );
            }
        }
    }
}

#[tokio::test]
async fn f018_a_workspace_that_misbehaves() {
    let stage = hostile::world_with(Options::unlimited()).await;
    let id = WorkspaceId::new(stage.workspace);
    let good = client(&stage).workspace(id).await.expect("it is there");
    for manner in MANNERS {
        let on = Matcher::new("GET", "/api/base/");
        stage.sandbox().inject(Fault::always(on, (manner.make)()));
        let answer = manner.client(&stage).workspace(id).await;
        stage.sandbox().clear_faults();
        match answer {
            Ok(found) => {
                assert_eq!(found, good, "{}", manner.name);
                assert!([Slow, Texts].contains(&manner.trouble), "{}", manner.name);
            }
            Err(error) => {
                assert_told(&error, "GET /api/base/", manner.name);
                assert!(
                    ![Slow, Texts].contains(&manner.trouble),
                    "{}: {error}",
                    manner.name
                );
            }
        }
    }
}

#[tokio::test]
async fn f014_answers_that_come_in_drops_are_not_waited_for_for_ever() {
    let stage = hostile::world_with(Options::unlimited()).await;
    let token = Token::new(&stage.running.token()).expect("a token");
    let limits = BudgetLimits::default();
    let budget = Budget::in_memory(limits, Arc::new(SteppedClock::default()));
    let client = Client::new(ClientOptions {
        total_timeout: Duration::from_millis(300),
        ..ClientOptions::new(&stage.running.url, token, budget)
    })
    .expect("a client");
    let drops = FaultKind::Slow {
        bytes: 1,
        pause: Duration::from_millis(50),
    };
    let on = Matcher::new("GET", "/api/bases");
    stage.sandbox().inject(Fault::always(on, drops));
    let error = client.workspaces().await.expect_err("no answer");
    assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: None });
    assert!(error.to_string().contains("no answer in time"), "{error}");
}
