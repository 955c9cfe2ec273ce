//! Hostile surroundings for an engine: a disk and a service that a test can fail at every step, or at which it can let
//! the process die; and a clock that does not wait.

use crate::support::clocks::SteppedClock;
use crate::support::world::World;
use kbsync::engine::report::Report;
use kbsync::engine::settings::{CycleRequest, PathsInMotion};
use kbsync::engine::status::{self, Status};
use kbsync::engine::{Clock, Engine, Pause};
use kbsync::mirror::RealDisk;
use kbsync::mirror::disk::{
    Area, At, Content, Disk, DiskError, DiskErrorKind, Durability, Entry, Expect, Listing, Slot,
};
use kbsync::model::{ArticleId, CategoryId, Place, Stamp, Timestamp, WorkspaceId};
use kbsync::reconcile::snapshot::Direction;
use kbsync::sandbox::Options;
use kbsync::service::budget::{Budget, BudgetLimits};
use kbsync::service::client::{Client, ClientOptions};
use kbsync::service::token::Token;
use kbsync::service::{
    Answer, ArticlePatch, BudgetLeft, CategoryPatch, ListEnd, ListRequest, Listed, NewArticle,
    NewCategory, Purpose, RemoteArticle, RemoteCategory, Requests, Service, ServiceRead,
    ServiceWrite, Workspace,
};
use kbsync::state::{Binding, Store};
use std::collections::BTreeMap;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A moment before or after a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    /// The step, such as `stage` or `PUT`.
    pub(crate) doing: &'static str,
    /// The object of the step: a path in the mirror, or an id.
    pub(crate) what: String,
    /// Whether the step has been carried out.
    pub(crate) after: bool,
}

/// Called at every moment. The function may fail a step of the disk before it is carried out, and may panic, which is
/// the death of the process.
pub(crate) type Meddler = Arc<dyn Fn(&Moment) -> Result<(), DiskErrorKind> + Send + Sync>;

/// A disk whose changes a test can fail.
pub(crate) struct Tampered {
    pub(crate) inner: RealDisk,
    pub(crate) meddle: Meddler,
}

impl Tampered {
    fn step<T>(
        &self,
        doing: &'static str,
        what: String,
        work: impl FnOnce() -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        let mut moment = Moment {
            doing,
            what,
            after: false,
        };
        if let Err(kind) = (self.meddle)(&moment) {
            return Err(DiskError::new(kind, doing, moment.what));
        }
        let done = work()?;
        moment.after = true;
        match (self.meddle)(&moment) {
            Ok(()) => Ok(done),
            Err(kind) => Err(DiskError::new(kind, doing, moment.what)),
        }
    }
}

fn named(at: At<'_>, name: &str) -> String {
    match at {
        At::Root => name.to_owned(),
        At::Folder(folder) => format!("{folder}/{name}"),
    }
}

impl Disk for Tampered {
    fn list(&self, at: At<'_>) -> Result<Listing, DiskError> {
        self.inner.list(at)
    }

    fn look(&self, at: At<'_>, name: &str) -> Result<Option<Entry>, DiskError> {
        self.inner.look(at, name)
    }

    fn read(&self, at: At<'_>, name: &str, limit: usize) -> Result<Content, DiskError> {
        self.inner.read(at, name, limit)
    }

    fn stage(
        &self,
        slot: Slot,
        at: At<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), DiskError> {
        self.step("stage", named(at, ""), || {
            self.inner.stage(slot, at, bytes, durability)
        })
    }

    fn publish(
        &self,
        slot: Slot,
        at: At<'_>,
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError> {
        self.step("publish", named(at, name), || {
            self.inner.publish(slot, at, name, expect)
        })
    }

    fn keep_mode(&self, slot: Slot, at: At<'_>, like: &Place) -> Result<(), DiskError> {
        self.inner.keep_mode(slot, at, like)
    }

    fn take(&self, slot: Slot, at: At<'_>, name: &str, expect: Expect) -> Result<(), DiskError> {
        self.step("remove", named(at, name), || {
            self.inner.take(slot, at, name, expect)
        })
    }

    fn set_beside(
        &self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        name: &str,
    ) -> Result<String, DiskError> {
        self.step("set beside", named(at, name), || {
            self.inner.set_beside(area, slot, at, name)
        })
    }

    fn look_aside(&self, area: Area, slot: Slot, at: At<'_>) -> Result<Option<Stamp>, DiskError> {
        self.inner.look_aside(area, slot, at)
    }

    fn read_aside(
        &self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        limit: usize,
    ) -> Result<Content, DiskError> {
        self.inner.read_aside(area, slot, at, limit)
    }

    fn displace(&self, slot: Slot, at: At<'_>) -> Result<(), DiskError> {
        self.step("displace", named(at, ""), || self.inner.displace(slot, at))
    }

    fn discard(&self, area: Area, slot: Slot, at: At<'_>) -> Result<(), DiskError> {
        self.inner.discard(area, slot, at)
    }

    fn create_folder(&self, name: &str) -> Result<(), DiskError> {
        self.step("create folder", name.to_owned(), || {
            self.inner.create_folder(name)
        })
    }

    fn rename_folder(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.step("rename folder", from.to_owned(), || {
            self.inner.rename_folder(from, to)
        })
    }

    fn remove_folder(&self, name: &str) -> Result<(), DiskError> {
        self.step("remove folder", name.to_owned(), || {
            self.inner.remove_folder(name)
        })
    }

    fn sync_folder(&self, at: At<'_>) -> Result<(), DiskError> {
        self.step("sync folder", named(at, ""), || self.inner.sync_folder(at))
    }

    fn sync_file(&self, at: At<'_>, name: &str) -> Result<(), DiskError> {
        self.step("sync file", named(at, name), || {
            self.inner.sync_file(at, name)
        })
    }

    fn flush(&self) -> Result<(), DiskError> {
        self.step("flush", String::new(), || self.inner.flush())
    }

    fn sweep(&self, known: &BTreeMap<Slot, Place>, lost: bool) -> usize {
        self.step("sweep", String::new(), || Ok(self.inner.sweep(known, lost)))
            .unwrap_or(0)
    }
}

/// A service whose requests are shown to a test. Only panics of the meddler have an effect.
pub(crate) struct Watched {
    pub(crate) inner: Arc<Client>,
    pub(crate) meddle: Meddler,
    /// Entries of the last listing that were not parsed, because their bytes were known.
    pub(crate) known: AtomicUsize,
}

impl Watched {
    async fn step<T: Send>(
        &self,
        doing: &'static str,
        what: String,
        work: impl Future<Output = Answer<T>> + Send,
    ) -> Answer<T> {
        let mut moment = Moment {
            doing,
            what,
            after: false,
        };
        let ignored = (self.meddle)(&moment);
        assert_eq!(ignored, Ok(()), "requests are failed by the sandbox");
        let answer = work.await;
        moment.after = true;
        let ignored = (self.meddle)(&moment);
        assert_eq!(ignored, Ok(()), "requests are failed by the sandbox");
        answer
    }
}

impl ServiceRead for Watched {
    async fn workspaces(&self) -> Answer<Vec<Workspace>> {
        self.inner.workspaces().await
    }

    async fn workspace(&self, id: WorkspaceId) -> Answer<Workspace> {
        self.inner.workspace(id).await
    }

    async fn category(
        &self,
        id: CategoryId,
        purpose: Purpose,
    ) -> Answer<(RemoteCategory, Vec<Listed>)> {
        self.step("GET", id.to_string(), self.inner.category(id, purpose))
            .await
    }

    async fn article(&self, id: ArticleId, purpose: Purpose) -> Answer<RemoteArticle> {
        self.step("GET", id.to_string(), self.inner.article(id, purpose))
            .await
    }

    async fn list(
        &self,
        request: &ListRequest,
        sink: &mut (dyn FnMut(Listed) + Send),
    ) -> Answer<ListEnd> {
        self.known.store(0, Ordering::SeqCst);
        let mut count = |entry: Listed| {
            let known = usize::from(matches!(entry, Listed::Known(_)));
            self.known.fetch_add(known, Ordering::SeqCst);
            sink(entry);
        };
        let list = self.inner.list(request, &mut count);
        self.step("GET", "listing".to_owned(), list).await
    }
}

impl ServiceWrite for Watched {
    async fn create_article(&self, new: &NewArticle) -> Answer<RemoteArticle> {
        self.step("POST", new.slug.clone(), self.inner.create_article(new))
            .await
    }

    async fn update_article(&self, id: ArticleId, patch: &ArticlePatch) -> Answer<RemoteArticle> {
        self.step("PUT", id.to_string(), self.inner.update_article(id, patch))
            .await
    }

    async fn probe(&self, id: ArticleId, purpose: Purpose) -> Answer<RemoteArticle> {
        self.step("PROBE", id.to_string(), self.inner.probe(id, purpose))
            .await
    }

    async fn delete_article(&self, id: ArticleId) -> Answer<()> {
        self.step("DELETE", id.to_string(), self.inner.delete_article(id))
            .await
    }

    async fn create_category(&self, new: &NewCategory) -> Answer<RemoteCategory> {
        let slug = new.version.slug.clone();
        self.step("POST", slug, self.inner.create_category(new))
            .await
    }

    async fn update_category(
        &self,
        id: CategoryId,
        patch: &CategoryPatch,
    ) -> Answer<RemoteCategory> {
        self.step("PUT", id.to_string(), self.inner.update_category(id, patch))
            .await
    }
}

impl Service for Watched {
    fn requests(&self) -> Requests {
        self.inner.requests()
    }

    fn budget_left(&self) -> BudgetLeft {
        self.inner.budget_left()
    }

    async fn wait_for_room(&self, requests: u32, purpose: Purpose) -> Answer<()> {
        self.inner.wait_for_room(requests, purpose).await
    }
}

/// The world's clock, except that waits pass at once.
pub(crate) struct Hurried(Arc<crate::support::world::Hand>);

impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn pause(&self, wait: Duration) -> Pause {
        self.0.advance(wait);
        Box::pin(tokio::task::yield_now())
    }
}

/// A world, and the one client that all its engines use, because making a client takes longer than a cycle.
pub(crate) struct Stage {
    world: World,
    pub(crate) client: Arc<Client>,
}

impl Stage {
    /// Continues in an empty workspace with an empty mirror; the old ones stay behind.
    pub(crate) fn renew(&mut self) {
        self.world.workspace = self.world.sandbox().add_workspace("Help");
        self.world.settings.workspace = WorkspaceId::new(self.world.workspace);
        let folder = folder_in_memory().unwrap_or_else(|| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            std::fs::create_dir(folder.path().join(".kbsync")).expect("made");
            folder
        });
        self.world.move_to(folder);
    }
}

fn folder_in_memory() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir_in("/dev/shm").ok()?;
    std::fs::create_dir(folder.path().join(".kbsync")).expect("made");
    Some(folder)
}

impl Deref for Stage {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

/// A world whose mirror and state are in memory where possible, so that nothing waits for a disk.
pub(crate) async fn world() -> Stage {
    world_with(Options::unlimited()).await
}

/// Like [`world`], with these options.
pub(crate) async fn world_with(options: Options) -> Stage {
    let mut world = World::with(options).await;
    if let Some(folder) = folder_in_memory() {
        world.move_to(folder);
    }
    let limits = BudgetLimits {
        per_minute: 100_000,
        per_day: 1_000_000,
        reserve_for_pushes: 20,
    };
    let client = Arc::new(client_within(&world, limits));
    Stage { world, client }
}

/// A client whose waits pass at once.
pub(crate) fn client_within(world: &World, limits: BudgetLimits) -> Client {
    let token = Token::new(&world.running.token()).expect("a token");
    let budget = Budget::in_memory(limits, Arc::new(SteppedClock::default()));
    Client::new(ClientOptions::new(&world.running.url, token, budget)).expect("a client")
}

/// Returns the `status`, without a request.
pub(crate) fn status(world: &Stage) -> Status {
    let disk = RealDisk::open(world.folder.path()).expect("a mirror");
    let found = status::status(&disk, &mut store(world), &world.settings);
    found.expect("a status")
}

/// Returns the state, as a new process opens it.
pub(crate) fn store(world: &World) -> Store {
    let binding = Binding {
        service: world.running.url.clone(),
        workspace: world.settings.workspace,
    };
    Store::open(&world.path(".kbsync"), &binding, world.clock.now()).expect("a state")
}

/// An engine whose waits pass at once and whose steps call `meddle`.
pub(crate) fn engine(world: &Stage, meddle: &Meddler) -> Engine<Watched, Tampered> {
    let service = Watched {
        inner: world.client.clone(),
        meddle: meddle.clone(),
        known: AtomicUsize::default(),
    };
    let disk = Tampered {
        inner: RealDisk::open(world.folder.path()).expect("a mirror"),
        meddle: meddle.clone(),
    };
    Engine::new(service, disk, store(world), world.settings.clone())
        .with_clock(Arc::new(Hurried(world.clock.clone())))
}

/// Paths that a cycle does not touch.
pub(crate) fn in_motion(paths: &[&str]) -> PathsInMotion {
    PathsInMotion {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..PathsInMotion::default()
    }
}

/// A meddler that does nothing.
pub(crate) fn calm() -> Meddler {
    Arc::new(|_| Ok(()))
}

/// Runs `sync` with a meddler.
pub(crate) async fn sync_with(world: &Stage, meddle: &Meddler) -> Report {
    engine(world, meddle)
        .cycle(&CycleRequest {
            // Most worlds begin here, and a first sync would ask before it creates a category for each folder.
            asks_for_categories: false,
            ..CycleRequest::new(Direction::Both)
        })
        .await
        .expect("a cycle")
}

/// Runs `sync` without waiting.
pub(crate) async fn sync(world: &Stage) -> Report {
    sync_with(world, &calm()).await
}

/// Syncs as a command does, which reads again what changed during the cycle.
pub(crate) async fn settle(world: &Stage) -> Report {
    let request = CycleRequest {
        asks_for_categories: false,
        ..CycleRequest::new(Direction::Both)
    };
    let report = engine(world, &calm()).cycle_until_settled(&request).await;
    report.expect("a report")
}

/// Lets the process die at its `n`-th moment, counted from 0. Also returns the counter of the moments.
pub(crate) fn dies_at(n: usize) -> (Meddler, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let meddle: Meddler = Arc::new(move |moment| {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        assert!(number < n, "the process dies at {moment:?}");
        Ok(())
    });
    (meddle, count)
}
