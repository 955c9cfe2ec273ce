//! The tests of the HTTP side, against a responder that answers from a script.

mod answers;
mod budgeted;
mod endpoints;
mod listings;
mod lost;
mod pages;
mod splitting;
mod wires;

use super::{
    budget::{Budget, BudgetLimits, clock::Clock, clocks::SteppedClock},
    client::{Client, ClientOptions, WaitNote},
    token::Token,
};
use crate::model::{ArticleId, CategoryId, WorkspaceId};
use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A token that must never be seen anywhere but in `Authorization`.
pub(super) const CANARY: &str = "CANARY-4711-token";

/// Returns whether a text shows any part of the token. The digits alone may be those of a port.
pub(super) fn shows_token(text: &str) -> bool {
    let parts = ["CANARY", "-4711", "4711-"];
    parts.iter().any(|part| text.contains(part))
}

/// A request that the responder received.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) head: String,
    pub(super) body: String,
}

impl Asked {
    /// A header's value.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// An answer of the responder.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// The number of bytes of head and body together that are sent; `None`: all.
    cut: Option<usize>,
    /// Whether the connection stays open without further bytes.
    hangs: bool,
}

impl Reply {
    /// An answer in JSON.
    pub(super) fn json(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            body: body.into().into_bytes(),
            cut: None,
            hangs: false,
        }
    }

    /// A web page.
    pub(super) fn page(status: u16) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), "text/html; charset=utf-8".into())],
            body: b"<!doctype html><title>Sign in</title>".to_vec(),
            cut: None,
            hangs: false,
        }
    }

    /// Adds a header.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Breaks off after so many bytes of the body.
    pub(super) fn cut_at(mut self, bytes: usize) -> Self {
        self.cut = Some(bytes);
        self
    }

    /// Falls silent after the bytes that were sent.
    pub(super) fn hanging(mut self) -> Self {
        self.hangs = true;
        self
    }

    /// Packs the body.
    pub(super) fn bytes(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    fn head(&self) -> String {
        let mut head = format!(
            "HTTP/1.1 {} X\r\nconnection: close\r\ncontent-length: {}\r\n",
            self.status,
            self.body.len()
        );
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").expect("text");
        }
        head + "\r\n"
    }
}

/// A service that answers by a function.
pub(super) struct Responder {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Responder {
    /// Answers the n-th request with the n-th reply, and all further requests with the last reply.
    pub(super) async fn script(replies: Vec<Reply>) -> Self {
        Self::start(move |count, _| replies[count.min(replies.len() - 1)].clone()).await
    }

    /// Answers by a function of the number of requests so far and of the request.
    pub(super) async fn start(
        answer: impl Fn(usize, &Asked) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut silent = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                if let Some((mut stream, request)) = read_request(stream).await {
                    let count = {
                        let mut heard = heard.lock().expect("no panic");
                        heard.push(request.clone());
                        heard.len() - 1
                    };
                    let reply = answer(count, &request);
                    let body = &reply.body[..reply.cut.unwrap_or(reply.body.len())];
                    let mut bytes = reply.head().into_bytes();
                    bytes.extend_from_slice(body);
                    // The client may have hung up already.
                    if stream.write_all(&bytes).await.is_err() {
                        continue;
                    }
                    if reply.hangs {
                        silent.push(stream);
                    } else {
                        stream.shutdown().await.ok();
                    }
                }
            }
        });
        Self { url, asked }
    }

    /// Returns the requests so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panic").clone()
    }

    /// Returns the number of requests so far.
    pub(super) fn count(&self) -> usize {
        self.asked().len()
    }

    /// A client of this service, on a clock that moves by waiting.
    pub(super) fn client(&self) -> Setup {
        self.client_with(|_| {})
    }

    /// [`Self::client`] with other options.
    pub(super) fn client_with(&self, change: impl FnOnce(&mut ClientOptions)) -> Setup {
        Setup::new(&self.url, change)
    }
}

/// A client, its clock and the waits that it announced.
pub(super) struct Setup {
    pub(super) client: Client,
    pub(super) clock: Arc<SteppedClock>,
    pub(super) waits: Arc<Mutex<Vec<WaitNote>>>,
}

impl Setup {
    pub(super) fn new(url: &str, change: impl FnOnce(&mut ClientOptions)) -> Self {
        let clock = Arc::new(SteppedClock::default());
        let shared: Arc<dyn Clock> = clock.clone();
        let budget = Budget::in_memory(BudgetLimits::default(), shared);
        let token = Token::new(CANARY).expect("a token");
        let mut options = ClientOptions::new(url, token, budget);
        let waits: Arc<Mutex<Vec<WaitNote>>> = Arc::default();
        let noted = Arc::clone(&waits);
        options.notify = Some(Arc::new(move |note| {
            noted.lock().expect("no panic").push(note);
        }));
        change(&mut options);
        let client = Client::new(options).expect("a client");
        Self {
            client,
            clock,
            waits,
        }
    }
}

async fn read_request(mut stream: TcpStream) -> Option<(TcpStream, Asked)> {
    let mut bytes = Vec::new();
    let (head, rest) = loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.ok().filter(|&n| n > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break (bytes[..at].to_vec(), bytes[at + 4..].to_vec());
        }
    };
    let head = String::from_utf8(head).ok()?;
    let mut words = head.lines().next()?.split(' ').map(str::to_owned);
    let mut asked = Asked {
        method: words.next()?,
        target: words.next()?,
        head: head.clone(),
        body: String::new(),
    };
    let length = asked
        .header("content-length")
        .map_or(0, |value| value.parse().expect("a length"));
    let mut body = rest;
    while body.len() < length {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.ok().filter(|&n| n > 0)?;
        body.extend_from_slice(&chunk[..count]);
    }
    asked.body = String::from_utf8(body).ok()?;
    Some((stream, asked))
}

/// The n-th article's id.
pub(super) fn article_id(n: u32) -> ArticleId {
    format!("a0000000-0000-4000-8000-{n:012x}")
        .parse()
        .expect("a UUID")
}

/// The n-th category's id.
pub(super) fn category_id(n: u32) -> CategoryId {
    format!("c0000000-0000-4000-8000-{n:012x}")
        .parse()
        .expect("a UUID")
}

/// The workspace's id.
pub(super) fn workspace_id() -> WorkspaceId {
    "b0000000-0000-4000-8000-000000000001"
        .parse()
        .expect("a UUID")
}

/// An article in the service's JSON, with extra fields at its end.
pub(super) fn article_json(n: u32, extra: &str) -> String {
    format!(
        r#"{{"id":"{}","category_id":"{}","title":"Title {n}","slug":"slug-{n}","updated_at":"2026-01-02T03:04:05.000006Z"{extra}}}"#,
        article_id(n),
        category_id(1),
    )
}
