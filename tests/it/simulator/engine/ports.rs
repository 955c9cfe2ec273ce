//! The two ports of an engine in a simulated world: its disk and its service.
//!
//! Every call passes a boundary before and after, at which the process may die; and at every call something
//! may go wrong, or somebody else may be quicker.

use super::kb::failure;
use super::mirror::Mirror;
use super::step::{Call, What};
use super::token::Tokens;
use super::tree::Tree;
use super::world::{Entered, Shared, Side, US};
use kbsync::drill::death;
use kbsync::engine::{Clock, Pause};
use kbsync::mirror::RealDisk;
use kbsync::mirror::disk::{
    At, Content, Disk, DiskError, DiskErrorKind, Durability, Entry, Expect, Leftover, Listing,
    Staged,
};
use kbsync::model::{ArticleId, CategoryId, Place, Stamp, Timestamp, WorkspaceId};
use kbsync::service::{
    Answer, ArticlePatch, CategoryPatch, ErrorKind, ListEnd, ListRequest, Listed, NewArticle,
    NewCategory, Purpose, RemoteArticle, RemoteCategory, Service, ServiceError, ServiceRead,
    ServiceWrite, Usage, Workspace,
};
use std::time::Duration;

/// The mirror's port.
pub(crate) struct Files {
    pub(crate) shared: Shared,
    /// The real folder, where there is one.
    pub(crate) real: Option<RealDisk>,
}

fn gone(doing: &'static str) -> DiskError {
    DiskError::new(DiskErrorKind::Other, doing, "a process that is dead")
}

fn place(at: At<'_>, name: &str) -> String {
    match at {
        At::Root => name.to_owned(),
        At::Folder(folder) => format!("{folder}/{name}"),
    }
}

fn folder_of<'a>(at: At<'a>) -> &'a str {
    match at {
        At::Root => "",
        At::Folder(folder) => folder,
    }
}

impl Files {
    /// One call: what may go wrong, what it does, and what that means.
    fn step<T>(
        &self,
        call: Call,
        what: &str,
        changes: bool,
        memory: impl FnOnce(&mut Tree) -> Result<T, DiskError>,
        real: impl FnOnce(&RealDisk) -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        let doing = "reach";
        let mut world = self.shared.lock();
        let entered = world.enter(call, what);
        if entered.dead {
            return Err(gone(doing));
        }
        let kind = match entered.what {
            Some(What::Denied {}) => Some(DiskErrorKind::Denied),
            Some(What::Full {}) => Some(DiskErrorKind::Full),
            Some(_) => Some(DiskErrorKind::Other),
            None => None,
        };
        if let Some(kind) = kind {
            return Err(DiskError::new(kind, doing, what.to_owned()));
        }
        let before = if changes {
            world.tokens(Side::Mirror)
        } else {
            Tokens::default()
        };
        let done = match (&mut world.mirror, &self.real) {
            (Mirror::Memory(tree), _) => memory(tree),
            (Mirror::Real { .. }, Some(disk)) => real(disk),
            (Mirror::Real { .. }, None) => Err(gone(doing)),
        };
        if changes && done.is_ok() {
            world.effect(Side::Mirror, &before, &format!("{call:?} {what}"));
        }
        death::pass();
        if death::came() {
            return Err(gone(doing));
        }
        done
    }
}

impl Disk for Files {
    fn walkers(&self) -> usize {
        1
    }

    fn list(&self, at: At<'_>) -> Result<Listing, DiskError> {
        self.step(
            Call::Listing,
            folder_of(at),
            false,
            |tree| tree.list(at),
            |disk| disk.list(at),
        )
    }

    fn look(&self, at: At<'_>, name: &str) -> Result<Option<Entry>, DiskError> {
        self.step(
            Call::Look,
            name,
            false,
            |tree| tree.look(at, name),
            |disk| disk.look(at, name),
        )
    }

    fn read(&self, at: At<'_>, name: &str, limit: usize) -> Result<Content, DiskError> {
        self.step(
            Call::ReadFile,
            name,
            false,
            |tree| tree.read(at, name, limit),
            |disk| disk.read(at, name, limit),
        )
    }

    fn stage(&self, at: At<'_>, bytes: &[u8], durability: Durability) -> Result<Staged, DiskError> {
        self.step(
            Call::Stage,
            folder_of(at),
            false,
            |tree| tree.stage(at, bytes, durability == Durability::Now),
            |disk| disk.stage(at, bytes, durability),
        )
    }

    fn publish(&self, staged: Staged, name: &str, expect: Expect) -> Result<Stamp, DiskError> {
        let path = format!("{}/{name}", staged.folder.clone().unwrap_or_default());
        let twin = Staged {
            folder: staged.folder.clone(),
            temporary: staged.temporary.clone(),
            stamp: staged.stamp,
        };
        self.step(
            Call::Publish,
            &path,
            true,
            |tree| tree.publish(&staged, name, expect),
            |disk| disk.publish(twin, name, expect),
        )
    }

    fn discard(&self, staged: Staged) -> Result<(), DiskError> {
        let twin = Staged {
            folder: staged.folder.clone(),
            temporary: staged.temporary.clone(),
            stamp: staged.stamp,
        };
        self.step(
            Call::Look,
            &staged.temporary,
            false,
            |tree| tree.discard(&staged),
            |disk| disk.discard(twin),
        )
    }

    fn remove(&self, at: At<'_>, name: &str, expected: Stamp) -> Result<(), DiskError> {
        self.shared.lock().judge_removal(folder_of(at), name);
        self.step(
            Call::RemoveFile,
            &place(at, name),
            true,
            |tree| tree.remove(at, name, expected),
            |disk| disk.remove(at, name, expected),
        )
    }

    fn rename(&self, from: &Place, to: &Place, expected: Stamp) -> Result<Stamp, DiskError> {
        self.step(
            Call::RenameFile,
            &format!("{from} {to}"),
            true,
            |tree| tree.rename(from, to, expected),
            |disk| disk.rename(from, to, expected),
        )
    }

    fn exchange(&self, one: &Place, other: &Place) -> Result<(), DiskError> {
        self.step(
            Call::Exchange,
            &format!("{one} {other}"),
            true,
            |tree| tree.exchange(one, other),
            |disk| disk.exchange(one, other),
        )
    }

    fn create_folder(&self, name: &str) -> Result<(), DiskError> {
        self.step(
            Call::MakeFolder,
            name,
            true,
            |tree| tree.create_folder(name),
            |disk| disk.create_folder(name),
        )
    }

    fn rename_folder(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.step(
            Call::RenameFolder,
            &format!("{from} {to}"),
            true,
            |tree| tree.rename_folder(from, to),
            |disk| disk.rename_folder(from, to),
        )
    }

    fn remove_folder(&self, name: &str) -> Result<(), DiskError> {
        self.step(
            Call::RemoveFile,
            name,
            true,
            |tree| tree.remove_folder(name),
            |disk| disk.remove_folder(name),
        )
    }

    fn sync_folder(&self, at: At<'_>) -> Result<(), DiskError> {
        self.step(
            Call::SyncFolder,
            folder_of(at),
            false,
            |tree| tree.sync_folder(at),
            |disk| disk.sync_folder(at),
        )
    }

    fn flush(&self) -> Result<(), DiskError> {
        self.step(
            Call::Flush,
            "",
            false,
            |tree| {
                tree.flush();
                Ok(())
            },
            RealDisk::flush,
        )
    }

    fn sweep(&self, keep: &mut dyn FnMut(&Leftover) -> bool) -> Result<usize, DiskError> {
        if death::came() {
            return Err(gone("clear up"));
        }
        let mut world = self.shared.lock();
        match (&mut world.mirror, &self.real) {
            (Mirror::Memory(tree), _) => Ok(tree.sweep(keep)),
            (Mirror::Real { .. }, Some(disk)) => disk.sweep(keep),
            (Mirror::Real { .. }, None) => Err(gone("clear up")),
        }
    }
}

/// The service's port.
#[derive(Clone)]
pub(crate) struct Remote {
    pub(crate) shared: Shared,
}

/// What an answer is, when something went wrong.
fn trouble(what: What, call: Call, method: &'static str) -> ServiceError {
    let lost = call.writes();
    let (kind, status, lost) = match what {
        What::Refused {} => (ErrorKind::Refused, Some(422), false),
        What::Forbidden {} => (ErrorKind::Forbidden, Some(403), false),
        What::Unauthorized {} => (ErrorKind::Unauthorized, Some(401), false),
        What::TooMany {} => (
            ErrorKind::RateLimited {
                retry_after: Some(Duration::from_secs(30)),
            },
            Some(429),
            false,
        ),
        What::Html {} => (ErrorKind::Unreadable, Some(200), lost),
        What::HtmlNotFound {} => (ErrorKind::Unreadable, Some(404), lost),
        What::LostBefore {}
        | What::LostAfter {}
        | What::Down { .. }
        | What::Stale {}
        | What::Skip { .. }
        | What::Garbled { .. }
        | What::Slow { .. }
        | What::Denied {}
        | What::Full {}
        | What::Broken {}
        | What::ByWriter { .. }
        | What::ByColleague { .. } => (ErrorKind::Unavailable, None, lost),
    };
    failure(kind, method, status, lost)
}

impl Remote {
    /// One request: what may go wrong, what it does, and what that means.
    async fn step<T>(
        &self,
        call: Call,
        method: &'static str,
        what: &str,
        work: impl FnOnce(&Shared, Entered) -> Answer<T>,
    ) -> Answer<T> {
        let entered = {
            let mut world = self.shared.lock();
            let usage = &mut world.kb.usage;
            match method {
                "GET" => usage.get += 1,
                "POST" => usage.post += 1,
                "PUT" => usage.put += 1,
                _ => usage.delete += 1,
            }
            world.enter(call, what)
        };
        if entered.slow > 0 {
            tokio::time::advance(Duration::from_secs(u64::from(entered.slow))).await;
        }
        let dead = || trouble(What::LostBefore {}, call, method);
        if entered.dead {
            return Err(dead());
        }
        let lost_after = entered.what == Some(What::LostAfter {});
        if let Some(what) = entered.what.filter(|_| !lost_after) {
            return Err(trouble(what, call, method));
        }
        let done = work(&self.shared, entered);
        death::pass();
        if death::came() || lost_after {
            return Err(dead());
        }
        done
    }
}

impl ServiceRead for Remote {
    async fn workspaces(&self) -> Answer<Vec<Workspace>> {
        Ok(Vec::new())
    }

    async fn workspace(&self, id: WorkspaceId) -> Answer<Workspace> {
        Ok(Workspace {
            id,
            name: "Simulated".to_owned(),
            public: true,
            custom_domain: None,
        })
    }

    async fn category(
        &self,
        id: CategoryId,
        _purpose: Purpose,
    ) -> Answer<(RemoteCategory, Vec<Listed>)> {
        self.step(Call::ReadCategory, "GET", "", |shared, entered| {
            shared.lock().kb.read_category(id, entered.stale)
        })
        .await
    }

    async fn article(&self, id: ArticleId, _purpose: Purpose) -> Answer<RemoteArticle> {
        self.step(Call::Read, "GET", "", |shared, entered| {
            shared.lock().kb.read(id, entered.stale)
        })
        .await
    }

    async fn list(
        &self,
        request: &ListRequest,
        sink: &mut (dyn FnMut(Listed) + Send),
    ) -> Answer<ListEnd> {
        let (entries, end) = self
            .step(Call::List, "GET", "", |shared, entered| {
                let world = shared.lock();
                Ok(world
                    .kb
                    .list(request, entered.stale, entered.skip, entered.garble))
            })
            .await?;
        entries.into_iter().for_each(sink);
        Ok(end)
    }
}

impl ServiceWrite for Remote {
    async fn create_article(&self, new: &NewArticle) -> Answer<RemoteArticle> {
        self.step(Call::Create, "POST", &new.slug, |shared, _| {
            let mut world = shared.lock();
            world.write("POST", |kb| kb.create(new, US))
        })
        .await
    }

    async fn update_article(&self, id: ArticleId, patch: &ArticlePatch) -> Answer<RemoteArticle> {
        let what = format!("{id} {patch:?}");
        self.step(Call::Update, "PUT", &what, |shared, _| {
            let mut world = shared.lock();
            world.write(&what, |kb| kb.update(id, patch, US))
        })
        .await
    }

    async fn probe(&self, id: ArticleId, _purpose: Purpose) -> Answer<RemoteArticle> {
        self.step(Call::Probe, "PUT", "", |shared, _| {
            shared.lock().kb.probe(id)
        })
        .await
    }

    async fn delete_article(&self, id: ArticleId) -> Answer<()> {
        let what = format!("DELETE {id}");
        self.step(Call::Delete, "DELETE", &what, |shared, _| {
            let mut world = shared.lock();
            if world.kb.articles.contains_key(&id) {
                world.judge_delete(id);
            }
            world.write(&what, |kb| kb.delete(id, US))
        })
        .await
    }

    async fn create_category(&self, new: &NewCategory) -> Answer<RemoteCategory> {
        let what = format!("POST category {}", new.version.slug);
        self.step(Call::CreateCategory, "POST", &what, |shared, _| {
            let mut world = shared.lock();
            world.write(&what, |kb| kb.create_category(new))
        })
        .await
    }

    async fn update_category(
        &self,
        id: CategoryId,
        patch: &CategoryPatch,
    ) -> Answer<RemoteCategory> {
        let what = format!("PUT category {id} {patch:?}");
        self.step(Call::UpdateCategory, "PUT", &what, |shared, _| {
            let mut world = shared.lock();
            world.write(&what, |kb| kb.update_category(id, patch))
        })
        .await
    }
}

impl Service for Remote {
    fn usage(&self) -> Usage {
        self.shared.lock().kb.usage
    }
}

/// The world's time; waits pass at once.
pub(crate) struct Time {
    pub(crate) shared: Shared,
}

impl Clock for Time {
    fn now(&self) -> Timestamp {
        Timestamp(self.shared.lock().now / 1_000_000)
    }

    fn pause(&self, wait: Duration) -> Pause {
        let mut world = self.shared.lock();
        world.now += i64::try_from(wait.as_nanos()).unwrap_or(0);
        let now = world.now;
        world.mirror.set_time(now);
        Box::pin(tokio::time::advance(wait))
    }
}
