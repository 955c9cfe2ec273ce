//! Silent clients delay neither the daemon's sync nor other clients.

use crate::support::daemon::{BOUND, Daemon, article, get, mirror, until};
use crate::support::kb::{Kb, Service, WORKSPACE};
use kbsync::daemon::{
    Event,
    control::{self, Command, DaemonStatus, Response},
};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::net::UnixStream,
    process,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A number of connections that is larger than the daemon's limit of open files.
const MANY: usize = 300;

/// The largest number of commands that may wait.
const MOST: usize = 32;

/// A daemon with a low limit of open files.
fn with_few_files(kb: &Kb, arguments: &[&str]) -> Daemon {
    let mut command = process::Command::new("/bin/sh");
    command
        .args(["-c", "ulimit -n 256; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_kbsync"))
        .arg("run")
        .args(arguments);
    let daemon = Daemon::spawn_by(command, kb, &[]);
    until("the first cycle", || {
        daemon.log().contains("trigger=startup outcome=done")
    });
    daemon
}

fn open_files(daemon: &Daemon) -> usize {
    let folder = format!("/proc/{}/fd", daemon.child.id());
    std::fs::read_dir(folder).expect("listed").count()
}

/// Checks that a save reaches the service.
fn saves(service: &Service, kb: &Kb, text: &str) {
    let path = article(kb);
    let before = kb.read(&path);
    kb.write(&path, &format!("{before}<p>{text}</p>\n"));
    until("it is live", || {
        let articles = service.sandbox.articles();
        articles.iter().any(|article| article.text.contains(text))
    });
}

#[test]
fn silent_clients_of_the_health_port_hold_up_neither_the_sync_nor_a_probe() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = with_few_files(&kb, &["--listen", "127.0.0.1:0"]);
    let silent: Vec<TcpStream> = (0..MANY)
        .map(|_| {
            let mut stream = TcpStream::connect(daemon.address()).expect("it listens");
            // The daemon may have closed the connection already.
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc").ok();
            stream
        })
        .collect();
    let asked = Instant::now();
    let health = get(&daemon.address(), "/healthz", "localhost");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    assert!(
        asked.elapsed() < Duration::from_secs(20),
        "{:?}",
        asked.elapsed()
    );
    saves(&service, &kb, "meanwhile");
    assert!(open_files(&daemon) < 128, "{} files", open_files(&daemon));
    assert!(!daemon.log().contains("cannot accept"), "{}", daemon.log());
    drop(silent);
    daemon.stop();
}

#[test]
fn a_connection_to_the_health_port_is_for_one_request_and_for_seconds() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &["--listen", "127.0.0.1:0"]);
    for said in ["", "GET /healthz HTTP/1.1\r\nHost: loc"] {
        let mut stream = TcpStream::connect(daemon.address()).expect("it listens");
        stream.set_read_timeout(Some(BOUND)).expect("set");
        stream.write_all(said.as_bytes()).expect("sent");
        let mut heard = Vec::new();
        // A reset is an end as well; only the test's own time limit is not.
        if let Err(error) = stream.read_to_end(&mut heard) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
        }
    }
    // A client that keeps its connection open is disconnected after its answer.
    let mut stream = TcpStream::connect(daemon.address()).expect("it listens");
    stream.set_read_timeout(Some(BOUND)).expect("set");
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let asked = Instant::now();
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an end");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        asked.elapsed() < Duration::from_secs(4),
        "{:?}",
        asked.elapsed()
    );
    daemon.stop();
}

#[test]
fn silent_clients_of_the_control_socket_hold_up_neither_the_sync_nor_a_command() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = with_few_files(&kb, &[]);
    let socket = kb.mirror().join(".kbsync/daemon.sock");
    let silent: Vec<UnixStream> = (0..MANY)
        .map(|_| UnixStream::connect(&socket).expect("it listens"))
        .collect();
    kb.run(&["sync"]).exits(0);
    saves(&service, &kb, "meanwhile");
    assert!(open_files(&daemon) < 128, "{} files", open_files(&daemon));
    assert!(!daemon.log().contains("cannot accept"), "{}", daemon.log());
    drop(silent);
    daemon.stop();
}

#[tokio::test]
async fn a_status_is_answered_however_many_commands_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let listening = control::listen(folder.path()).expect("it listens");
    let (to, mut events) = tokio::sync::mpsc::channel(1024);
    let status: control::StatusSource = Arc::new(status);
    let stop = CancellationToken::new();
    let serving = tokio::spawn(control::serve(listening, to, status, stop.clone()));
    // Nothing runs the commands.
    let (due, mut waiting) = watch::channel(Vec::<Event>::new());
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            due.send_modify(|due| due.push(event));
        }
    });
    let private = folder.path().to_owned();
    let ask = move |command: Command| {
        let private = private.clone();
        async move {
            let answer = control::request(&private, command, |_| ()).await;
            answer.map(|answer| answer.expect("the daemon listens"))
        }
    };
    let sync = || {
        let wish = serde_json::from_str(r#"{"direction":"both"}"#).expect("a wish");
        Command::Cycle(wish)
    };
    let mut commands = tokio::task::JoinSet::new();
    for number in 1..=MOST {
        commands.spawn(ask(sync()));
        let arrived = waiting.wait_for(|due| due.len() == number).await;
        drop(arrived.expect("the daemon's end is open"));
    }
    let in_time = |command| tokio::time::timeout(BOUND, ask(command));
    match in_time(sync()).await.expect("in time") {
        Ok(Response::Failed(refusal)) => {
            assert_eq!(refusal.code, 5);
            assert!(
                refusal.message.contains("too many commands are waiting"),
                "{refusal:?}"
            );
        }
        other => panic!("{other:?}"),
    }
    let word = in_time(Command::Status).await.expect("in time");
    assert!(matches!(word, Ok(Response::Status(_))), "{word:?}");
    stop.cancel();
    commands.abort_all();
    serving.await.expect("it ends");
}

fn status() -> DaemonStatus {
    serde_json::from_value(serde_json::json!({
        "pid": 1, "since": "", "next_poll": null, "last_poll": null, "interval": 60, "planned": null, "cron": null,
        "watching": WORKSPACE, "waiting_for": null, "unhealthy": null,
        "is_token_refused": false
    }))
    .expect("a status")
}
