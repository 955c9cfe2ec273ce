//! Connections that die in the middle of a write: the request is sent once, and the caller learns that it
//! may have been carried out (failures row 17).

use super::*;
use crate::service::{
    Answer, ArticlePatch, ErrorKind, NewArticle, Purpose, ServiceError, ServiceRead as _,
    ServiceWrite as _,
};
use std::time::Duration;

/// A service that dies in the middle of its second answer on each connection, after so many bytes of the answer.
struct Dying {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

fn answer() -> Vec<u8> {
    let body = format!(r#"{{"success":true,"article":{}}}"#, article_json(1, ""));
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}

impl Dying {
    /// `early`: the service does not even wait for the second request.
    async fn start(bytes: usize, early: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let heard = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let heard = Arc::clone(&heard);
                tokio::spawn(async move {
                    let Some((mut stream, first)) = read_request(stream).await else {
                        return;
                    };
                    heard.lock().expect("no panic").push(first);
                    stream.write_all(&answer()).await.expect("it listens");
                    if early {
                        stream.set_zero_linger().expect("set");
                        return;
                    }
                    let Some((mut stream, second)) = read_request(stream).await else {
                        return;
                    };
                    heard.lock().expect("no panic").push(second);
                    stream
                        .write_all(&answer()[..bytes])
                        .await
                        .expect("it listens");
                    stream.flush().await.expect("flushed");
                    // The bytes that were sent have to arrive before the reset.
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    stream.set_zero_linger().expect("set");
                });
            }
        });
        Self { url, asked }
    }

    /// The number of requests with a method.
    fn count(&self, method: &str) -> usize {
        let asked = self.asked.lock().expect("no panic");
        asked.iter().filter(|one| one.method == method).count()
    }
}

fn new_article() -> NewArticle {
    NewArticle {
        category: category_id(1),
        title: "Title 1".into(),
        slug: "slug-1".into(),
        text: "<p>x</p>".into(),
        introtext: String::new(),
        keywords: String::new(),
        enabled: true,
        draft: false,
    }
}

const WRITES: [&str; 3] = ["POST", "PUT", "DELETE"];

async fn send(client: &Client, method: &str) -> Result<(), ServiceError> {
    let sent: Answer<()> = match method {
        "POST" => client.create_article(&new_article()).await.map(drop),
        "PUT" => {
            let patch = ArticlePatch {
                title: Some("New".into()),
                ..ArticlePatch::default()
            };
            client.update_article(article_id(1), &patch).await.map(drop)
        }
        _ => client.delete_article(article_id(1)).await,
    };
    sent
}

#[tokio::test]
async fn f017_a_write_whose_connection_dies_at_any_byte_of_its_answer_is_sent_once() {
    let whole = answer().len();
    for method in WRITES {
        for bytes in (0..whole).step_by(7).chain([1, whole - 1]) {
            let service = Dying::start(bytes, false).await;
            let client = Setup::new(&service.url, |_| {}).client;
            // The connection has carried a request before.
            client
                .article(article_id(1), Purpose::Push)
                .await
                .expect("an answer");
            let error = send(&client, method).await.expect_err("cut off");
            assert_eq!(service.count(method), 1, "{method} at {bytes}");
            assert!(error.response_lost, "{method} at {bytes}: {error}");
            assert_eq!(
                error.kind,
                ErrorKind::Unavailable { retry_after: None },
                "{method} at {bytes}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn f017_a_write_on_a_pooled_connection_that_is_dead_already_is_not_sent_twice() {
    for method in WRITES {
        for _ in 0..20 {
            let service = Dying::start(0, true).await;
            let client = Setup::new(&service.url, |_| {}).client;
            client
                .article(article_id(1), Purpose::Push)
                .await
                .expect("an answer");
            match send(&client, method).await {
                // The client noticed that the old connection is dead, and opened another.
                Ok(()) => assert_eq!(service.count(method), 1, "{method}"),
                Err(error) => {
                    assert_eq!(service.count(method), 0, "{method}: {error}");
                    assert_eq!(
                        error.kind,
                        ErrorKind::Unavailable { retry_after: None },
                        "{method}: {error}"
                    );
                }
            }
        }
    }
}
