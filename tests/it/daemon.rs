//! A real `kbsync run` for tests: started, listened to, signalled and ended.

use crate::kb::{self, Kb, Service, TOKEN};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

/// Long enough for any machine; nothing waits for its end.
pub(crate) const BOUND: Duration = Duration::from_secs(30);

#[track_caller]
pub(crate) fn until(what: &str, is_so: impl FnMut() -> bool) {
    kb::until(BOUND, what, is_so);
}

/// A daemon that is killed when the test ends.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    log: Arc<Mutex<String>>,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Daemon {
    /// Starts it, and does not wait.
    pub(crate) fn spawn(kb: &Kb, arguments: &[&str]) -> Self {
        Self::spawn_with(kb, arguments, &[])
    }

    /// The same, with more in its environment.
    pub(crate) fn spawn_with(kb: &Kb, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let above = kb.mirror();
        let above = above.parent().expect("a folder above");
        let mut child = Command::new(env!("CARGO_BIN_EXE_kbsync"))
            .arg("run")
            .args(arguments)
            .current_dir(kb.mirror())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", above.join("home"))
            .env("KBSYNC_USER_STATE_DIR", above.join("state"))
            .env("KBSYNC_TOKEN", TOKEN)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let log = Arc::<Mutex<String>>::default();
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *kept.lock().expect("the log") += &(line + "\n");
            }
        });
        Self { child, log }
    }

    /// Starts it, and waits for its first full cycle.
    pub(crate) fn start(kb: &Kb, arguments: &[&str]) -> Self {
        Self::start_with(kb, arguments, &[])
    }

    /// The same, with more in its environment.
    pub(crate) fn start_with(kb: &Kb, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut daemon = Self::spawn_with(kb, arguments, variables);
        until("the first cycle", || {
            assert!(
                daemon.child.try_wait().expect("asked").is_none(),
                "{}",
                daemon.log()
            );
            daemon.log().contains("trigger=startup outcome=Done")
        });
        daemon
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("the log").clone()
    }

    /// The log of what was done since `before` was all of it.
    pub(crate) fn log_since(&self, before: &str) -> String {
        self.log().split_off(before.len())
    }

    /// Where it shows health and figures, when it was started with `--listen`.
    pub(crate) fn address(&self) -> String {
        let log = self.log();
        let (_, rest) = log.split_once("listening on http://").expect("an address");
        rest.lines().next().expect("a line").trim().to_owned()
    }

    /// A figure that it shows, by its name with its labels; `None`: it is not shown.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        let text = get(&self.address(), "/metrics", "localhost");
        text.lines().find_map(|line| {
            let (found, value) = line.rsplit_once(' ')?;
            (found == name).then(|| value.parse().expect("a number"))
        })
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("small");
        kill_process(Pid::from_raw(pid).expect("positive"), signal).expect("sent");
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until("the end", || {
            status = self.child.try_wait().expect("asked");
            status.is_some()
        });
        status.expect("ended")
    }

    pub(crate) fn stop(mut self) {
        self.signal(Signal::TERM);
        assert_eq!(self.ended().code(), Some(0), "{}", self.log());
    }
}

/// A mirror with fast settings.
pub(crate) fn mirror(service: &Service) -> Kb {
    let mut kb = service.mirror();
    let settings = kb.read("kbsync.yaml")
        + "quiet_period: 20ms\npush_interval: 0s\npoll: 1h\ndelete_grace: 50ms\n";
    kb.write("kbsync.yaml", &settings);
    kb.set("KBSYNC_TOKEN", TOKEN);
    kb
}

pub(crate) fn article(kb: &Kb) -> String {
    articles(kb).into_iter().next().expect("an article")
}

pub(crate) fn articles(kb: &Kb) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for folder in std::fs::read_dir(kb.mirror()).expect("listed") {
        let folder = folder.expect("an entry").path();
        if !folder.is_dir() || folder.ends_with(".kbsync") {
            continue;
        }
        for file in std::fs::read_dir(&folder).expect("listed") {
            let file = file.expect("an entry").path();
            if file.extension().is_some_and(|ending| ending == "html") {
                let below = file.strip_prefix(kb.mirror()).expect("below");
                found.push(below.to_str().expect("text").to_owned());
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn get(address: &str, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("read");
    answer
}
