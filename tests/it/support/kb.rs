//! Runs the real command in a folder and an environment of its own.

use crate::support::canary;
use crate::support::faults::lines;
use assert_cmd::Command;
use kbsync::sandbox::{NewSeed, Options, Running, Sandbox};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// A temporary folder with a `home` for the user and a `mirror` for the work.
pub(crate) struct Kb {
    // Declared before the folder: fields are dropped in order, and the watch still needs the folder.
    canary: canary::Watch,
    dir: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) const WORKSPACE: &str = "3f2a0c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";

impl Kb {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["home", "state", "mirror"] {
            std::fs::create_dir(dir.path().join(name)).expect("a folder");
        }
        Self {
            canary: canary::Watch::over(dir.path()),
            dir,
            variables: Vec::new(),
        }
    }

    /// A mirror with these settings.
    pub(crate) fn with_settings(text: &str) -> Self {
        let kb = Self::new();
        kb.write("kbsync.yaml", text);
        kb
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(crate) fn mirror(&self) -> PathBuf {
        self.dir.path().join("mirror")
    }

    /// The user's state directory.
    pub(crate) fn user_state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Agrees to the settings, as a user does.
    #[track_caller]
    pub(crate) fn trust(&self) {
        self.run(&["trust"]).exits(0);
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.mirror().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("written");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.mirror().join(path)).expect(path)
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.mirror().join(path).symlink_metadata().is_ok()
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.mirror().join(path)).expect(path);
    }

    /// Replaces a part of a file, as an editor would save it.
    #[track_caller]
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let before = self.read(path);
        assert!(before.contains(from), "{path} has no {from:?}:\n{before}");
        self.write(path, &before.replacen(from, to, 1));
    }

    /// Returns the mirror's files except the private ones, as path and text.
    pub(crate) fn articles(&self) -> Vec<(String, String)> {
        let mirror = self.mirror();
        self.files()
            .into_iter()
            .filter_map(|(path, bytes)| {
                let below = path
                    .strip_prefix(&mirror)
                    .ok()?
                    .to_string_lossy()
                    .into_owned();
                let private = below.contains(".kbsync/");
                (!private).then(|| (below, String::from_utf8_lossy(&bytes).into_owned()))
            })
            .collect()
    }

    /// Returns the command, not yet run.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kbsync"));
        command
            .args(arguments)
            .current_dir(self.mirror())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path().join("home"))
            .env("KBSYNC_USER_STATE_DIR", self.dir.path().join("state"));
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command
    }

    /// Like [`Self::command`], as a process that can be watched while it runs.
    pub(crate) fn process(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kbsync"));
        command
            .args(arguments)
            .current_dir(self.mirror())
            .env_clear()
            .env("HOME", self.dir.path().join("home"))
            .env("KBSYNC_USER_STATE_DIR", self.dir.path().join("state"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Like [`Self::process`], started by a shell: `"$0" "$@"` is the command.
    pub(crate) fn process_by(&self, script: &str, arguments: &[&str]) -> std::process::Command {
        let plain = self.process(arguments);
        let mut command = std::process::Command::new("/bin/sh");
        command
            .args(["-c", script])
            .arg(plain.get_program())
            .args(plain.get_args())
            .current_dir(self.mirror())
            .env_clear()
            .envs(
                plain
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output().expect("it runs");
        canary::silent(&String::from_utf8_lossy(&output.stdout));
        canary::silent(&String::from_utf8_lossy(&output.stderr));
        Ran {
            code: output.status.code().expect("an exit code"),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Leaves out files of this name from the search: here the test stores a token on purpose.
    pub(crate) fn keeps_token_in(&mut self, name: &'static str) -> &mut Self {
        self.canary.except(name);
        self
    }

    /// Returns every file below the temporary folder with its content.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        collect(self.dir.path(), &mut files);
        files.sort();
        files
    }
}

fn collect(dir: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if let Ok(target) = std::fs::read_link(&path) {
            files.push((path, target.to_string_lossy().into_owned().into_bytes()));
        } else if path.is_dir() {
            collect(&path, files);
        } else {
            files.push((path.clone(), std::fs::read(&path).expect("bytes")));
        }
    }
}

impl Ran {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Checks that stderr has an error and a remedy with these words, and that stdout is empty.
    #[track_caller]
    pub(crate) fn complains(self, error: &str, help: &str) -> Self {
        let found = |start: &str, words: &str| {
            self.stderr
                .lines()
                .any(|line| line.starts_with(start) && line.contains(words))
        };
        assert!(found("error: ", error), "no error `{error}` in {self:#?}");
        assert!(found("help: ", help), "no help `{help}` in {self:#?}");
        assert_eq!(self.stdout, "");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A stand-in service that runs until it is dropped.
pub(crate) struct Service {
    pub(crate) sandbox: Sandbox,
    pub(crate) url: String,
    pub(crate) workspace: String,
    _running: Running,
    _runtime: tokio::runtime::Runtime,
}

pub(crate) const TOKEN: &str = "CANARY-token";

impl Service {
    pub(crate) fn start() -> Self {
        Self::with(None, |sandbox| sandbox.seed(3, 2))
    }

    /// A service with one empty workspace.
    pub(crate) fn empty() -> Self {
        Self::with(None, |sandbox| sandbox.add_workspace("Help"))
    }

    /// Like [`Self::empty`], with the same ids in each run.
    pub(crate) fn with_equal_ids() -> Self {
        Self::with(Some(7), |sandbox| sandbox.add_workspace("Help"))
    }

    fn with(id_seed: Option<u64>, fill: impl FnOnce(&Sandbox) -> Uuid) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let options = Options {
            token: TOKEN.into(),
            id_seed,
            ..Options::default()
        };
        let sandbox = Sandbox::new(options);
        let workspace = fill(&sandbox).to_string();
        let running = runtime.block_on(lines::serve(&sandbox)).expect("it runs");
        Self {
            url: running.url.clone(),
            workspace,
            sandbox,
            _running: running,
            _runtime: runtime,
        }
    }

    pub(crate) fn category(&self, slug: &str) -> Uuid {
        let workspace = self.workspace.parse().expect("an id");
        self.sandbox.add_category(workspace, slug, slug)
    }

    pub(crate) fn article(&self, category: Uuid, slug: &str, text: &str) -> Uuid {
        self.sandbox
            .add_article(NewSeed::new(category, slug, slug, text))
    }

    /// Returns an article's body on the service.
    #[track_caller]
    pub(crate) fn text(&self, id: Uuid) -> String {
        self.sandbox.article(id).expect("it is there").text
    }

    /// A mirror of this service, with the token in the environment and nothing synced yet.
    pub(crate) fn mirror(&self) -> Kb {
        let mut kb = Kb::with_settings(&format!(
            "service: {}\nworkspace: {}\n",
            self.url, self.workspace
        ));
        kb.set("KBSYNC_TOKEN", TOKEN);
        kb.trust();
        kb
    }
}

/// Writes a program. Another process writes it: a child of another test may inherit a file that this process has open for
/// writing, and a system runs no such file.
#[track_caller]
pub(crate) fn write_program(path: &Path, script: &str) {
    let mut writer = Command::new("sh");
    writer
        .args(["-c", r#"cat >"$0" && chmod 755 "$0""#])
        .arg(path);
    writer.write_stdin(script).assert().success();
}

/// Waits until something is so, by polling, and fails after `bound`.
#[track_caller]
pub(crate) fn until(bound: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + bound;
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
