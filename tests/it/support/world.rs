//! A world for a test: a sandbox service, a temporary mirror, a state, and colleagues on both sides.
//!
//! The sandbox is the same as that of `kbsync sandbox`, over a real socket.

use crate::support::canary;
use crate::support::clocks::SteppedClock;
use crate::support::faults::lines;
use kbsync::engine::report::Report;
use kbsync::engine::settings::{CycleRequest, Settings};
use kbsync::engine::{Clock, Engine};
use kbsync::mirror::RealDisk;
use kbsync::model::{Timestamp, WorkspaceId};
use kbsync::reconcile::snapshot::Direction;
use kbsync::sandbox::{NewSeed, Options, Running, Sandbox};
use kbsync::service::budget::{Budget, BudgetLimits};
use kbsync::service::client::{Client, ClientOptions};
use kbsync::service::token::Token;
use kbsync::state::{Binding, Store};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use uuid::Uuid;

/// A clock that a test can advance.
#[derive(Default)]
pub(crate) struct Hand(AtomicI64);

impl Hand {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(
            i64::try_from(by.as_millis()).expect("short"),
            Ordering::SeqCst,
        );
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        let wall = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .expect("after 1970");
        let wall = i64::try_from(wall.as_millis()).expect("in range");
        Timestamp(wall + self.0.load(Ordering::SeqCst))
    }
}

pub(crate) struct World {
    // Declared before the folder: fields are dropped in order, and the watch still needs the folder.
    canary: canary::Watch,
    _ear: canary::Ears,
    pub(crate) running: Running,
    pub(crate) workspace: Uuid,
    pub(crate) folder: TempDir,
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<Hand>,
}

impl World {
    /// An empty workspace and an empty mirror.
    pub(crate) async fn new() -> Self {
        Self::with(Options::unlimited()).await
    }

    pub(crate) async fn with(mut options: Options) -> Self {
        options.token = format!("{}-{}", canary::CANARY, options.token);
        let running = lines::serve(&Sandbox::new(options)).await;
        let running = running.expect("a free port");
        let workspace = running.sandbox.add_workspace("Help");
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join(".kbsync")).expect("made");
        let settings = Settings::new(WorkspaceId::new(workspace));
        Self {
            canary: canary::Watch::over(folder.path()),
            _ear: canary::listen(),
            running,
            workspace,
            folder,
            settings,
            clock: Arc::new(Hand::default()),
        }
    }

    /// Continues with another mirror. The mirror that is left is searched for tokens.
    pub(crate) fn move_to(&mut self, folder: TempDir) {
        self.canary = canary::Watch::over(folder.path());
        self.folder = folder;
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.running.sandbox
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Opens the state as a new process would.
    pub(crate) fn engine(&self) -> Engine<Client, RealDisk> {
        let binding = Binding {
            service: self.running.url.clone(),
            workspace: self.settings.workspace,
        };
        let store =
            Store::open(&self.path(".kbsync"), &binding, self.clock.now()).expect("a state");
        Engine::new(
            self.client(),
            RealDisk::open(self.folder.path()).expect("a mirror"),
            store,
            self.settings.clone(),
        )
        .with_clock(self.clock.clone())
    }

    pub(crate) fn client(&self) -> Client {
        let token = Token::new(&self.running.token()).expect("a token");
        let limits = BudgetLimits {
            per_minute: 100_000,
            per_day: 1_000_000,
            reserve_for_pushes: 20,
        };
        Client::new(ClientOptions::new(
            &self.running.url,
            token,
            Budget::in_memory(limits, Arc::new(SteppedClock::default())),
        ))
        .expect("a client")
    }

    /// Runs one command as a new process would. The user has approved the new categories of a first sync.
    pub(crate) async fn run(&self, request: &CycleRequest) -> Report {
        let request = CycleRequest {
            asks_for_categories: false,
            ..request.clone()
        };
        self.engine().cycle(&request).await.expect("a cycle")
    }

    pub(crate) async fn sync(&self) -> Report {
        self.run(&CycleRequest::new(Direction::Both)).await
    }

    pub(crate) async fn pull(&self) -> Report {
        self.run(&CycleRequest::new(Direction::Pull)).await
    }

    pub(crate) async fn push(&self) -> Report {
        self.run(&CycleRequest::new(Direction::Push)).await
    }

    pub(crate) fn category(&self, slug: &str) -> Uuid {
        self.sandbox()
            .add_category(self.workspace, &slug.replace('-', " "), slug)
    }

    pub(crate) fn article(&self, category: Uuid, slug: &str, text: &str) -> Uuid {
        let title = slug.replace('-', " ");
        self.sandbox()
            .add_article(NewSeed::new(category, &title, slug, text))
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("made");
        }
        std::fs::write(path, content).expect("written");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        let to = self.path(to);
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder).expect("made");
        }
        std::fs::rename(self.path(from), to).unwrap_or_else(|error| panic!("{from}: {error}"));
    }

    /// Replaces a part of a file, as an editor would save it.
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let before = self.read(path);
        assert!(before.contains(from), "{path} has no {from:?}:\n{before}");
        self.write(path, &before.replacen(from, to, 1));
    }

    /// Every file of the mirror with its content, except private files.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        collect(self.folder.path(), self.folder.path(), &mut files);
        files.sort();
        files
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.ends_with(".kbsync") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path
                .strip_prefix(root)
                .expect("below")
                .to_string_lossy()
                .into_owned();
            files.push((name, std::fs::read_to_string(&path).expect("text")));
        }
    }
}

/// A report's actions as short lines, such as `update remote a/b.html done`.
pub(crate) fn lines(report: &Report) -> Vec<String> {
    report
        .actions
        .iter()
        .map(|line| {
            let side = serde_json::to_value(line.side).expect("a word");
            let status = serde_json::to_value(line.status).expect("a word");
            format!(
                "{} {} {} {}",
                line.action.word(),
                side.as_str().expect("a word"),
                line.path,
                status.as_str().expect("a word")
            )
        })
        .collect()
}
