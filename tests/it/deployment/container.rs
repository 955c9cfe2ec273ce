//! The released command under the limits of a container: a read-only root, no rights, its own process numbers, two
//! volumes, and 64 MiB of memory with ten thousand articles.
//!
//! Needs `bwrap` (bubblewrap), root for the memory limit, and the release build; if anything is missing, the test
//! reports it and is skipped. Run it by
//! `cargo build --profile dist && cargo test --test it container -- --ignored --nocapture`.

use crate::support::canary;
use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::kb::{self, TOKEN};
use kbsync::sandbox::{Options, Running, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};
use uuid::Uuid;

const ARTICLES: usize = 10_000;

/// The memory limit of the container.
const MEMORY: u64 = 64 << 20;

/// The time that a container is given between SIGTERM and SIGKILL.
const STOP: Duration = Duration::from_secs(10);

/// A time limit that is long enough for any machine; no test waits until its end.
const BOUND: Duration = Duration::from_mins(3);

#[track_caller]
fn until(what: &str, is_so: impl FnMut() -> bool) {
    kb::until(BOUND, what, is_so);
}

/// Returns the release build, which lies beside the build under test.
fn released() -> Option<PathBuf> {
    let debug = Path::new(env!("CARGO_BIN_EXE_kbsync"));
    let binary = debug.parent()?.parent()?.join("dist/kbsync");
    binary.exists().then_some(binary)
}

/// A group of processes with a limit on their memory.
struct Limited {
    dir: PathBuf,
    peak: &'static str,
}

impl Limited {
    /// Tries version 2 of control groups, then version 1.
    fn new() -> Option<Self> {
        let name = format!("kbsync-test-{}", std::process::id());
        for (root, limit, peak) in [
            ("/sys/fs/cgroup", "memory.max", "memory.peak"),
            (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.max_usage_in_bytes",
            ),
        ] {
            let dir = Path::new(root).join(&name);
            if fs::create_dir(&dir).is_err() {
                continue;
            }
            // Outside a control group this would be an ordinary file in an ordinary folder.
            let limit = dir.join(limit);
            if limit.exists() && fs::write(limit, MEMORY.to_string()).is_ok() {
                return Some(Self { dir, peak });
            }
            // A group that cannot limit the memory is deleted.
            fs::remove_dir(&dir).ok();
        }
        None
    }

    /// Returns the largest use of memory in MiB, including the page cache, which grows while there is room.
    fn peak(&self) -> u64 {
        let text = fs::read_to_string(self.dir.join(self.peak)).unwrap_or_default();
        text.trim().parse::<u64>().unwrap_or_default() >> 20
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // All processes of the group have ended.
        fs::remove_dir(&self.dir).ok();
    }
}

/// A service, two volumes and a secret, for one container after another.
struct Yard {
    // Declared before the folder: fields are dropped in order, and the watch still needs the folder.
    _canary: canary::Watch,
    dir: tempfile::TempDir,
    binary: PathBuf,
    limited: Limited,
    sandbox: Sandbox,
    running: Running,
    _runtime: tokio::runtime::Runtime,
}

#[expect(
    clippy::print_stderr,
    reason = "who runs it wants to know what is missing, and the figures"
)]
fn tell(what: &str) {
    eprintln!("{what}");
}

impl Yard {
    /// Sets the stage; `None`: a requirement is missing on this machine.
    fn new() -> Option<Self> {
        let missing = |what: &str| {
            tell(&format!("left out: {what}"));
            None
        };
        if Command::new("bwrap").arg("--version").output().is_err() {
            return missing("there is no bwrap here (Debian: bubblewrap)");
        }
        let Some(binary) = released() else {
            return missing(
                "there is no build to be shipped; `cargo build --profile dist` makes one",
            );
        };
        let Some(limited) = Limited::new() else {
            return missing("the memory of a group of processes cannot be limited here");
        };
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["mirror", "state", "secrets"] {
            fs::create_dir(dir.path().join(name)).expect("made");
        }
        let mut canary = canary::Watch::over(dir.path());
        canary.except("token");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let sandbox = Sandbox::new(Options {
            token: TOKEN.into(),
            ..Options::unlimited()
        });
        let workspace = sandbox.seed(ARTICLES, 50);
        let running = runtime.block_on(sandbox.run()).expect("it runs");
        let settings = format!(
            "service: {}\nworkspace: {workspace}\npoll: 1h\npush_interval: 0s\n\
             budget: {{per_minute: 100000, per_day: 100000}}\n",
            running.url
        );
        fs::write(dir.path().join("mirror/kbsync.yaml"), settings).expect("written");
        fs::write(dir.path().join("secrets/token"), TOKEN).expect("written");
        Some(Self {
            _canary: canary,
            dir,
            binary,
            limited,
            sandbox,
            running,
            _runtime: runtime,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The command in a container, not yet started. Its process is number 1 there.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            // The shell joins the limited group before it becomes the container.
            .args([
                "-c",
                r#"echo $$ > "$0/cgroup.procs" && exec bwrap --info-fd 3 "$@" 3> "$INFO""#,
            ])
            .arg(&self.limited.dir)
            .args([
                "--unshare-all",
                "--share-net",
                "--as-pid-1",
                "--die-with-parent",
            ])
            .args(["--uid", "10001", "--gid", "10001", "--cap-drop", "ALL"]);
        // The image has a static program; this build may need the system's libraries.
        for library in ["/lib", "/lib64", "/usr/lib"] {
            if Path::new(library).exists() {
                command.args(["--ro-bind", library, library]);
            }
        }
        command
            .arg("--ro-bind")
            .args([&self.binary, Path::new("/kbsync")])
            .arg("--bind")
            .args([&self.path("mirror"), Path::new("/mirror")])
            .arg("--bind")
            .args([&self.path("state"), Path::new("/state")])
            .arg("--ro-bind")
            .args([&self.path("secrets"), Path::new("/run/secrets")])
            .args(["--proc", "/proc", "--remount-ro", "/"])
            .args(["--clearenv", "--setenv", "KBSYNC_DIR", "/mirror"])
            .args(["--setenv", "KBSYNC_USER_STATE_DIR", "/state"])
            .args(["--setenv", "KBSYNC_SERVICE", &self.running.url])
            .args(["--setenv", "KBSYNC_TOKEN_FILE", "/run/secrets/token"])
            .args(["--chdir", "/mirror", "/kbsync"])
            .args(arguments)
            .env("INFO", self.path(arguments[0]))
            .stdin(Stdio::null());
        command
    }

    /// Starts the daemon and waits for its first full cycle.
    fn start(&self) -> Container {
        let log = self.path("log");
        let file = fs::File::create(&log).expect("a log");
        let child = self
            .command(&["run", "--log-format", "json"])
            .stderr(file)
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut container = Container {
            child,
            pid: None,
            log: log.clone(),
        };
        until("the first cycle", || {
            let said = fs::read_to_string(&log).expect("the log");
            let ended = container.child.try_wait().expect("asked");
            assert_eq!(ended, None, "{said}\npeak {} MiB", self.limited.peak());
            said.lines().any(|line| {
                line.contains(r#""trigger":"startup""#) && line.contains("a cycle is done")
            })
        });
        let info = fs::read_to_string(self.path("run")).expect("bwrap says it");
        let info: serde_json::Value = serde_json::from_str(&info).expect("JSON");
        let pid = info["child-pid"].as_i64().expect("a number");
        container.pid = Pid::from_raw(i32::try_from(pid).expect("small"));
        container
    }

    /// Returns the file and the id of an article, by number.
    fn article(&self, number: usize) -> (PathBuf, Uuid) {
        let mut files: Vec<PathBuf> = Vec::new();
        for folder in fs::read_dir(self.path("mirror")).expect("listed") {
            let folder = folder.expect("an entry").path();
            if folder.join("_category.yaml").exists() {
                let inside = fs::read_dir(folder).expect("listed");
                files.extend(inside.map(|file| file.expect("an entry").path()));
            }
        }
        files.retain(|file| file.extension().is_some_and(|ending| ending == "html"));
        assert_eq!(files.len(), ARTICLES, "none is missing, none is double");
        files.sort();
        let file = files.swap_remove(number);
        let text = fs::read_to_string(&file).expect("text");
        let id = text.lines().find_map(|line| line.strip_prefix("id: "));
        let id = id.expect("an id").parse().expect("an id");
        (file, id)
    }

    /// Saves an article as editors do, and returns its id.
    fn edit(&self, number: usize, words: &str) -> Uuid {
        let (file, id) = self.article(number);
        let text = fs::read_to_string(&file).expect("text") + words + "\n";
        let saved = file.with_file_name(".saved");
        fs::write(&saved, text).expect("written");
        fs::rename(&saved, &file).expect("renamed");
        id
    }

    fn has(&self, id: Uuid, words: &str) -> bool {
        self.sandbox
            .article(id)
            .expect("it is there")
            .text
            .contains(words)
    }

    fn puts(&self) -> usize {
        let requests = self.sandbox.requests();
        requests
            .iter()
            .filter(|request| request.method == "PUT")
            .count()
    }
}

/// A running container, killed when the test ends.
struct Container {
    child: Child,
    /// The container's process, as seen from outside.
    pid: Option<Pid>,
    log: PathBuf,
}

impl Drop for Container {
    fn drop(&mut self) {
        // The process may have ended by itself. bwrap ends after the process that it started, and only then is the lock
        // free.
        if self
            .pid
            .is_none_or(|pid| kill_process(pid, Signal::KILL).is_err())
        {
            self.child.kill().ok();
        }
        self.child.wait().ok();
        if !std::thread::panicking() {
            canary::silent(&fs::read_to_string(&self.log).expect("the log"));
        }
    }
}

impl Container {
    fn signal(&self, signal: Signal) {
        kill_process(self.pid.expect("it runs"), signal).expect("sent");
    }

    fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until("the end", || {
            status = self.child.try_wait().expect("asked");
            status.is_some()
        });
        self.pid = None;
        status.expect("ended")
    }

    /// Waits until something is so; if the container ends first, the test fails with the log.
    #[track_caller]
    fn until(&mut self, what: &str, mut is_so: impl FnMut() -> bool) {
        let (child, log) = (&mut self.child, &self.log);
        until(what, || {
            let said = || fs::read_to_string(log).expect("the log");
            let ended = child.try_wait().expect("asked");
            assert_eq!(ended, None, "{what}: {}", said());
            is_so()
        });
    }

    /// Returns a line of a file in `/proc/PID`.
    fn proc(&self, file: &str, line: &str) -> String {
        let pid = self.pid.expect("it runs").as_raw_nonzero();
        let text = fs::read_to_string(format!("/proc/{pid}/{file}")).expect("readable");
        let found = text.lines().find(|one| one.contains(line));
        found.unwrap_or_else(|| panic!("no {line}")).to_owned()
    }
}

#[test]
#[ignore = "needs bwrap, root and a release build, and takes a while"]
fn f009_f117_a_container_of_64_mib_syncs_stops_in_order_and_survives_a_kill() {
    let Some(yard) = Yard::new() else {
        return;
    };
    let mut container = yard.start();
    tell(&format!(
        "first sync of {ARTICLES} articles: {}; with the pages of files {} MiB at most",
        container.proc("status", "VmHWM"),
        yard.limited.peak()
    ));
    let rights = container.proc("status", "CapEff:");
    assert!(rights.ends_with("0000000000000000"), "{rights}");
    let root = container.proc("mountinfo", " / ro");
    assert_eq!(root.split(' ').nth(4), Some("/"), "{root}");

    // An edit arrives, and the image's health check succeeds.
    let id = yard.edit(17, "<p>One.</p>");
    container.until("the edit", || yard.has(id, "<p>One.</p>"));
    let health = yard.command(&["doctor", "--health"]).output();
    let health = health.expect("it runs");
    assert!(health.status.success(), "{health:?}");

    // A stop with a request in flight: the request is finished and recorded, and the exit code is 0.
    let slow = FaultKind::Latency(Duration::from_secs(2));
    let fault = Fault::always(Matcher::new("PUT", "/api/article/"), slow);
    yard.sandbox.inject(fault.clone());
    let before = yard.puts();
    let id = yard.edit(4711, "<p>Two.</p>");
    container.until("the request", || yard.puts() > before);
    let told = Instant::now();
    container.signal(Signal::TERM);
    assert_eq!(container.ended().code(), Some(0));
    let took = told.elapsed();
    assert!(took < STOP, "{took:?}");
    assert!(yard.has(id, "<p>Two.</p>"), "it was finished");
    tell(&format!(
        "stopped {took:?} after the signal, with a request in flight"
    ));
    let sent = yard.puts();
    let mut container = yard.start();
    assert_eq!(yard.puts(), sent, "it was recorded");

    // A kill with a request in flight: nothing is lost, and nothing is sent twice.
    let before = yard.puts();
    let id = yard.edit(9000, "<p>Three.</p>");
    container.until("the request", || yard.puts() > before);
    container.signal(Signal::KILL);
    drop(container);
    yard.sandbox.clear_faults();
    let mut container = yard.start();
    container.until("the edit", || yard.has(id, "<p>Three.</p>"));
    assert_eq!(yard.sandbox.articles().len(), ARTICLES);
    yard.article(0);
    container.signal(Signal::TERM);
    assert_eq!(container.ended().code(), Some(0));
    let quiet = yard.command(&["status", "--exit-code"]).output();
    let quiet = quiet.expect("it runs");
    assert!(quiet.status.success(), "{quiet:?}");
    tell(&format!("at most {} MiB in all", yard.limited.peak()));
}
