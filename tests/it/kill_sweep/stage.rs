//! A service and a mirror that are put back in a few milliseconds, and the real command that is killed on them.

use super::sweep::Scenario;
use crate::support::canary;
use crate::support::faults::habits::Habits;
use crate::support::faults::{Fault, Inject as _, lines};
use crate::support::kb::TOKEN;
use kbsync::sandbox::{Article, Category, NewSeed, Options, Running, Sandbox, Snapshot};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::os::unix::{fs::FileTypeExt as _, process::ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};
use uuid::Uuid;

/// The service, the mirror with its state, and the user's folder.
pub(super) struct Stage {
    pub(super) sandbox: Sandbox,
    pub(super) url: String,
    empty: Snapshot,
    // Declared before the folder: fields are dropped in order, and the watch still needs the folder.
    canary: canary::Watch,
    dir: tempfile::TempDir,
    _running: Running,
    _runtime: tokio::runtime::Runtime,
}

/// A copy of the service and the folders at one moment.
pub(super) struct Moment {
    service: Snapshot,
    faults: Vec<Fault>,
    folder: tempfile::TempDir,
}

/// The result of a run.
#[derive(Debug)]
pub(super) struct Ran {
    /// `None`: the run was killed.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Stage {
    pub(super) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let sandbox = Sandbox::new(Options {
            token: TOKEN.to_owned(),
            id_seed: Some(7),
            ..Options::unlimited()
        });
        sandbox.set_clock(chrono::DateTime::from_timestamp(1_800_000_000, 0).expect("a moment"));
        let running = runtime.block_on(lines::serve(&sandbox)).expect("it runs");
        let dir = folder();
        Self {
            canary: canary::Watch::over(dir.path()),
            empty: sandbox.snapshot(),
            url: running.url.clone(),
            sandbox,
            dir,
            _running: running,
            _runtime: runtime,
        }
    }

    /// Starts over: an empty workspace `Help`, and a mirror with the scenario's settings and nothing else.
    pub(super) fn renew(&self, scenario: &Scenario) {
        self.sandbox.go_back(&self.empty);
        self.sandbox.clear_faults();
        *self.sandbox.habits() = Habits::default();
        (scenario.habits)(&mut self.sandbox.habits());
        let settings = scenario.settings;
        let workspace = self.sandbox.add_workspace("Help");
        empty(&self.run_dir());
        for name in ["home", "user", "mirror"] {
            std::fs::create_dir_all(self.run_dir().join(name)).expect("a folder");
        }
        let text = format!("service: {}\nworkspace: {workspace}\n{settings}", self.url);
        self.write("kbsync.yaml", &text);
    }

    /// Copies the service and the folders as they are now.
    pub(super) fn keep(&self) -> Moment {
        let folder = folder();
        copy(&self.run_dir(), folder.path());
        Moment {
            service: self.sandbox.snapshot(),
            faults: self.sandbox.faults().clone(),
            folder,
        }
    }

    /// Puts the service and the folders back, as another process would find them long after the last write.
    pub(super) fn put_back(&self, moment: &Moment) {
        // The remains of a killed run are about to be deleted, so they are searched now.
        self.canary.search();
        self.sandbox.go_back(&moment.service);
        self.sandbox.faults().clone_from(&moment.faults);
        empty(&self.run_dir());
        copy(moment.folder.path(), &self.run_dir());
        // The budget of earlier runs is deleted. The records of mirrors stay: they name this mirror's path, with
        // another inode.
        let user = self.run_dir().join("user");
        for entry in std::fs::read_dir(&user).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                std::fs::remove_file(&path).expect("removed");
            } else if !path.ends_with("mirrors") {
                std::fs::remove_dir_all(&path).expect("removed");
            }
        }
    }

    fn run_dir(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    pub(super) fn mirror(&self) -> PathBuf {
        self.run_dir().join("mirror")
    }

    /// Returns the command with these arguments; `{service}` and `{workspace}` in them stand for the stage's own.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kbsync"));
        for argument in arguments {
            match *argument {
                "{service}" => command.arg(&self.url),
                "{workspace}" => command.arg(self.workspace().to_string()),
                other => command.arg(other),
            };
        }
        command
            .current_dir(self.mirror())
            .env_clear()
            .env("HOME", self.run_dir().join("home"))
            .env("KBSYNC_USER_STATE_DIR", self.run_dir().join("user"))
            .env("KBSYNC_SERVICE", &self.url)
            .env("KBSYNC_TOKEN", TOKEN)
            .env("KBSYNC_DRILL_HURRY", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        run(&mut self.command(arguments))
    }

    /// Runs a command to its end. Also returns the names of the points that it passed.
    pub(super) fn trace(&self, arguments: &[&str]) -> (Ran, Vec<String>) {
        let trace = self.dir.path().join("trace");
        let mut command = self.command(arguments);
        let ran = run(command.env("KBSYNC_DRILL_TRACE", &trace));
        let points = std::fs::read_to_string(&trace).unwrap_or_default();
        if trace.exists() {
            std::fs::remove_file(&trace).expect("removed");
        }
        (ran, points.lines().map(str::to_owned).collect())
    }

    /// Runs a command that is killed at its `number`-th point, counted from 1.
    pub(super) fn run_killed_at(&self, arguments: &[&str], number: usize) -> Ran {
        let mut command = self.command(arguments);
        run(command.env("KBSYNC_DRILL_KILL_AT", number.to_string()))
    }

    /// Syncs, as a part of the preparation.
    #[track_caller]
    pub(super) fn sync(&self) {
        let ran = self.run(&["sync"]);
        assert!(matches!(ran.code, Some(0 | 3)), "{ran:#?}");
    }

    pub(super) fn workspace(&self) -> Uuid {
        self.sandbox.workspaces()[0].id
    }

    pub(super) fn category(&self, slug: &str) -> Uuid {
        self.sandbox.add_category(self.workspace(), slug, slug)
    }

    /// Adds an article with three paragraphs that no other article has.
    pub(super) fn article(&self, category: Uuid, slug: &str) -> Uuid {
        let text = text(slug);
        self.sandbox
            .add_article(NewSeed::new(category, slug, slug, &text))
    }

    /// Adds a category with articles, and syncs.
    pub(super) fn synced(&self, category: &str, slugs: &[&str]) -> Uuid {
        let id = self.category(category);
        for slug in slugs {
            self.article(id, slug);
        }
        self.sync();
        id
    }

    #[track_caller]
    pub(super) fn id(&self, slug: &str) -> Uuid {
        let found = self.sandbox.articles().into_iter().find(|a| a.slug == slug);
        found.unwrap_or_else(|| panic!("no article {slug}")).id
    }

    /// A colleague changes an article in the dashboard.
    #[track_caller]
    pub(super) fn web(&self, slug: &str, change: impl FnOnce(&mut Article)) {
        self.sandbox.edit(self.id(slug), change).expect("there");
    }

    /// A colleague edits a part of an article's text.
    #[track_caller]
    pub(super) fn web_text(&self, slug: &str, from: &str, to: &str) {
        self.web(slug, |article| {
            assert!(article.text.contains(from), "{}", article.text);
            article.text = article.text.replace(from, to);
        });
    }

    /// A colleague changes a category.
    #[track_caller]
    pub(super) fn web_category(&self, slug: &str, change: impl FnOnce(&mut Category)) {
        let found = self
            .sandbox
            .categories()
            .into_iter()
            .find(|c| c.slug == slug);
        let id = found.unwrap_or_else(|| panic!("no category {slug}")).id;
        self.sandbox.edit_category(id, change).expect("there");
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.mirror().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("written");
    }

    #[track_caller]
    pub(super) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.mirror().join(path)).expect(path)
    }

    #[track_caller]
    pub(super) fn remove(&self, path: &str) {
        let path = self.mirror().join(path);
        if path.is_dir() {
            std::fs::remove_dir_all(path).expect("removed");
        } else {
            std::fs::remove_file(path).expect("removed");
        }
    }

    #[track_caller]
    pub(super) fn rename(&self, from: &str, to: &str) {
        let to = self.mirror().join(to);
        std::fs::create_dir_all(to.parent().expect("a parent")).expect("folders");
        std::fs::rename(self.mirror().join(from), to).expect(from);
    }

    /// Replaces a part of a file, as an editor would save it.
    #[track_caller]
    pub(super) fn edit(&self, path: &str, from: &str, to: &str) {
        let before = self.read(path);
        assert!(before.contains(from), "{path} has no {from:?}:\n{before}");
        self.write(path, &before.replacen(from, to, 1));
    }

    /// Writes a new file with a text that no other file has.
    pub(super) fn new_file(&self, path: &str, keys: &str) {
        self.write(path, &format!("---\n{keys}---\n{}\n", text(path)));
    }

    /// Deletes the state, as in a fresh clone.
    pub(super) fn lose_state(&self) {
        self.remove(".kbsync");
    }
}

/// Returns three paragraphs that name their article.
pub(super) fn text(of: &str) -> String {
    format!("<p>First of {of}.</p>\n<p>Middle of {of}.</p>\n<p>Last of {of}.</p>")
}

fn run(command: &mut Command) -> Ran {
    let is_daemon = command.get_args().next().is_some_and(|word| word == "run");
    let output = if is_daemon {
        daemon(command)
    } else {
        command.output().expect("it runs")
    };
    let killed = output.status.signal();
    assert!(matches!(killed, None | Some(9)), "{output:?}");
    let text = |bytes| {
        let text = String::from_utf8(bytes).expect("text");
        canary::silent(&text);
        text
    };
    Ran {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Runs a daemon until its first cycle is over, or until it is killed.
fn daemon(command: &mut Command) -> Output {
    let (said, says) = std::io::pipe().expect("a pipe");
    command.stdout(says.try_clone().expect("another end"));
    let mut child = command.stderr(says).spawn().expect("it starts");
    // The command holds the writing ends of the pipe, and the reader would wait for them for ever.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut log = String::new();
    for line in BufReader::new(said).lines().map_while(Result::ok) {
        if line.contains("trigger=startup outcome=") {
            let pid = i32::try_from(child.id()).expect("small");
            // The daemon may have been killed after it printed this line.
            kill_process(Pid::from_raw(pid).expect("positive"), Signal::TERM).ok();
        }
        log += &(line + "\n");
    }
    Output {
        status: child.wait().expect("it ends"),
        stdout: Vec::new(),
        stderr: log.into_bytes(),
    }
}

/// Returns a temporary folder, in memory where possible: a killed process needs no durable disk.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary folder")
}

fn empty(folder: &Path) {
    if folder.exists() {
        std::fs::remove_dir_all(folder).expect("removed");
    }
    std::fs::create_dir_all(folder).expect("a folder");
}

/// Copies a folder. The copies get an old mtime, so that no stamp is racy.
fn copy(from: &Path, to: &Path) {
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_socket() {
            // The process that listened on this socket is gone.
            continue;
        }
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).expect("copied");
            let file = std::fs::File::options().write(true).open(&target);
            file.and_then(|file| file.set_modified(old)).expect("set");
        }
    }
}
