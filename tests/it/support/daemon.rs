//! A real `kbsync run` for tests: started, signalled and stopped, with its log.

use crate::support::canary;
use crate::support::kb::{self, Kb, Service, TOKEN};
use crate::support::terminal;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

/// A time limit that is long enough for any machine; no test waits until its end.
pub(crate) const BOUND: Duration = Duration::from_mins(2);

#[track_caller]
pub(crate) fn until(what: &str, is_so: impl FnMut() -> bool) {
    kb::until(BOUND, what, is_so);
}

/// A daemon that is killed when the test ends. Its log is then searched for tokens.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The daemon may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
        // The last lines may still be in the pipe.
        self.reader.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            canary::silent(&self.log());
        }
    }
}

impl Daemon {
    /// Starts the daemon, and does not wait.
    pub(crate) fn spawn(kb: &Kb, arguments: &[&str]) -> Self {
        Self::spawn_with(kb, arguments, &[])
    }

    /// Like [`Self::spawn`], with additional environment variables.
    pub(crate) fn spawn_with(kb: &Kb, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kbsync"));
        command.arg("run").args(arguments);
        Self::spawn_by(command, kb, variables)
    }

    /// Like [`Self::spawn_with`], with another command, which becomes the daemon.
    pub(crate) fn spawn_by(mut command: Command, kb: &Kb, variables: &[(&str, &str)]) -> Self {
        let (said, says) = std::io::pipe().expect("a pipe");
        command.stdout(says.try_clone().expect("another end"));
        Self::spawn_into(command, kb, variables, (says.into(), Box::new(said)))
    }

    /// Like [`Self::spawn_with`], at a terminal of so many columns.
    pub(crate) fn spawn_at_terminal(kb: &Kb, columns: u16, variables: &[(&str, &str)]) -> Self {
        let (ours, theirs) = terminal::open(columns);
        let mut command = Command::new(env!("CARGO_BIN_EXE_kbsync"));
        command.arg("run").stdout(Stdio::null());
        Self::spawn_into(command, kb, variables, (theirs.into(), Box::new(ours)))
    }

    /// Starts the command with this standard error, and reads the log from `said`.
    fn spawn_into(
        mut command: Command,
        kb: &Kb,
        variables: &[(&str, &str)],
        (says, said): (Stdio, Box<dyn std::io::Read + Send>),
    ) -> Self {
        let above = kb.mirror();
        let above = above.parent().expect("a folder above");
        command
            .current_dir(kb.mirror())
            .env_clear()
            .env("TERM", "xterm")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", above.join("home"))
            .env("KBSYNC_USER_STATE_DIR", above.join("state"))
            .env("KBSYNC_TOKEN", TOKEN)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stderr(says);
        let child = command.spawn().expect("it starts");
        // The command still holds the writing ends of the pipe.
        drop(command);
        let log = Arc::<Mutex<String>>::default();
        let kept = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                *kept.lock().expect("the log") += &(line + "\n");
            }
        });
        Self {
            child,
            log,
            reader: Some(reader),
        }
    }

    /// Starts the daemon, and waits for its first full cycle.
    pub(crate) fn start(kb: &Kb, arguments: &[&str]) -> Self {
        Self::start_with(kb, arguments, &[])
    }

    /// Like [`Self::start`], with additional environment variables.
    pub(crate) fn start_with(kb: &Kb, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut daemon = Self::spawn_with(kb, arguments, variables);
        until("the first cycle", || {
            assert!(
                daemon.child.try_wait().expect("asked").is_none(),
                "{}",
                daemon.log()
            );
            daemon.log().contains("trigger=startup outcome=done")
        });
        daemon
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("the log").clone()
    }

    /// Returns the part of the log after `before`.
    pub(crate) fn log_since(&self, before: &str) -> String {
        self.log().split_off(before.len())
    }

    /// Returns the address of health and metrics; the daemon must have been started with `--listen`.
    pub(crate) fn address(&self) -> String {
        let log = self.log();
        let (_, rest) = log.split_once("listening on http://").expect("an address");
        rest.lines().next().expect("a line").trim().to_owned()
    }

    /// Returns a metric by its name with its labels; `None`: there is no such metric.
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

    /// Waits for the daemon to end, and for its last lines.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until("the end", || {
            status = self.child.try_wait().expect("asked");
            status.is_some()
        });
        self.reader.take().map(JoinHandle::join);
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

/// Like [`mirror`], without a budget on either side.
pub(crate) fn unlimited(service: &Service) -> Kb {
    service.sandbox.set_options(|options| {
        options.per_minute = 0;
        options.per_day = 0;
    });
    let kb = mirror(service);
    let settings = kb.read("kbsync.yaml") + "budget: {per_minute: 100000, per_day: 1000000}\n";
    kb.write("kbsync.yaml", &settings);
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
    stream.set_read_timeout(Some(BOUND)).expect("set");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("read");
    answer
}
