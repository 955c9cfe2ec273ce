//! Bringing a version of the history back into the mirror, as a file's content.
//!
//! - Of an article that lives, its file is edited: its words become those of the version, while its `id`,
//!   its address (name, folder, `slug:`), `enabled`, `draft` and the writer's own keys and comments stay.
//! - Of an article that was deleted, a new file is made. It has no `id`, so that a cycle creates it as a
//!   new article, and a comment names the old one; the comment is the writer's, and is never sent.
//! - What the file holds is in the history before it is replaced.
//!
//! [`prepare`] only looks, and says what would be written; [`Engine::restore`] writes. Nothing is sent
//! here: a cycle over the file does that.

mod aim;
pub mod begun;
mod live;
mod refused;
mod wish;
mod words;
mod write;

pub use live::{GoesLive, goes_live};
pub use refused::{Refusal, Refused, RefusedKind};
pub use wish::Wish;

use super::observe::{load_base, local, unsettled::Unsettled};
use super::report::{Line, Status, put_below};
use super::spool::Spool;
use super::{Engine, past};
use crate::mirror::disk::{Disk, DiskError, DiskErrorKind};
use crate::mirror::layout::Layout;
use crate::model::{ArticleId, CategoryId, Field, Place, Side, Stamp, Timestamp};
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::plan::Kind;
use crate::reconcile::snapshot::{Base, LocalSnapshot, RemoteSnapshot};
use crate::service::Service;
use crate::state::store::Store;
use crate::state::{StoredVersion, Subject};
use begun::articles;
use std::collections::BTreeSet;
use tokio::task::yield_now;

/// What a wish comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Prospect {
    /// A file is written.
    Write(Box<Prepared>),
    /// Of a file that was missing: there is one again, which is left as it is.
    IsBack {
        /// Where it is.
        place: Place,
        /// The article.
        id: ArticleId,
    },
}

impl Prospect {
    /// Where the file is or will be.
    pub const fn place(&self) -> &Place {
        match self {
            Self::Write(prepared) => &prepared.place,
            Self::IsBack { place, .. } => place,
        }
    }

    /// The article that the file is.
    pub const fn id(&self) -> Option<ArticleId> {
        match self {
            Self::Write(prepared) => prepared.id,
            Self::IsBack { id, .. } => Some(*id),
        }
    }

    /// What it is, for people.
    pub fn described(&self) -> String {
        match self {
            Self::Write(prepared) if prepared.is_there() => {
                format!("{HOLDS}{} already", prepared.described())
            }
            Self::Write(prepared) => prepared.described(),
            Self::IsBack { .. } => IS_BACK.to_owned(),
        }
    }
}

const HOLDS: &str = "the file holds ";
const IS_BACK: &str = "the file is there again, and was left as it is; name the file itself to restore its previous version";

/// Returns whether a line of [`Restored`] says that the file was as wished for already.
pub fn changed_nothing(line: &Line) -> bool {
    let said = |reason: &str| reason.starts_with(HOLDS) || reason == IS_BACK;
    line.action == Kind::Restore && line.reason.as_deref().is_some_and(said)
}

/// What bringing a version back would do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prepared {
    /// The version.
    pub kept: StoredVersion,
    /// Its number and time as people know them: those that they named, else those in `kbsync log`, which lists of
    /// versions that say the same the first one.
    known: (u64, Timestamp),
    /// Where the file is or will be.
    pub place: Place,
    /// The article that the file is; `None`: it is or becomes a new one.
    pub id: Option<ArticleId>,
    /// The deleted article that comes back as a new one.
    pub instead_of: Option<ArticleId>,
    /// The category and the folder that it was in last.
    home: Option<(CategoryId, String)>,
    /// What the file holds now; `None`: there is none.
    pub old: Option<String>,
    /// What it would hold.
    pub new: String,
    /// The fields that change in it.
    pub fields: Vec<Field>,
    stamp: Option<Stamp>,
    /// The article is in conflict, and the copy beside its file went with that.
    lost_copy: bool,
}

impl Prepared {
    /// Returns whether the file holds the version already.
    pub fn is_there(&self) -> bool {
        self.old.as_ref() == Some(&self.new)
    }

    /// Which version it is, for people.
    pub fn described(&self) -> String {
        let (number, at) = self.known;
        match self.instead_of {
            Some(id) => format!("version @{number} of {id}, of {at}"),
            None => format!("version @{number} of {at}"),
        }
    }

    /// The version's cause in the history. It leads from the new article to the old one.
    fn cause(&self) -> String {
        let (number, _) = self.known;
        match self.instead_of {
            Some(id) => format!("restored from {id}@{number}"),
            None => format!("restored from @{number}"),
        }
    }
}

/// Both sides of the mirror's memory: one look at them is enough for many versions.
struct Look {
    base: Base,
    local: LocalSnapshot,
    paired: Paired,
    layout: Layout,
}

impl Look {
    /// With a spool that is not dry every unseen edit goes into the history on the way.
    fn at<D: Disk>(disk: &D, store: &mut Store, mut spool: Spool) -> anyhow::Result<Self> {
        let base = load_base(store)?;
        let scanned = local::scan(disk, store, &base, &Unsettled::default(), &mut spool)?;
        Ok(Self {
            paired: pairing::pair(&base, &scanned.snapshot, &RemoteSnapshot::default()),
            base,
            local: scanned.snapshot,
            layout: scanned.layout,
        })
    }
}

/// What is needed to look for a place.
struct Ground<'a, D> {
    disk: &'a D,
    store: &'a Store,
    base: &'a Base,
    paired: &'a Paired,
}

/// Finds out what bringing versions back would do, and does nothing.
pub fn prepare<D: Disk>(
    disk: &D,
    store: &mut Store,
    wishes: &[Wish],
    now: Timestamp,
) -> anyhow::Result<Vec<Result<Prospect, Refusal>>> {
    let look = Look::at(disk, store, Spool::new(true, now))?;
    let each = wishes.iter().map(|wish| {
        let found = prepared(disk, store, &look, wish)?;
        Ok(found.map_err(|why| look.refusal(wish, why)))
    });
    each.collect()
}

/// What bringing a version back would do. What lies at its place is looked at anew.
fn prepared<D: Disk>(
    disk: &D,
    store: &Store,
    look: &Look,
    wish: &Wish,
) -> anyhow::Result<Result<Prospect, Refused>> {
    let ground = Ground {
        disk,
        store,
        base: &look.base,
        paired: &look.paired,
    };
    if wish.missing
        && let Subject::Article(id) = wish.subject
        && let Some(place) = ground.back_at(id)?
    {
        return Ok(Ok(Prospect::IsBack { place, id }));
    }
    let Some(past) = past::of(store, wish.subject.clone())? else {
        return Ok(Err(Refused {
            kind: RefusedKind::Impossible,
            message: "nothing of it is in the history".to_owned(),
            help: "`kbsync log` lists what is".to_owned(),
        }));
    };
    let aim = match ground.aim(&past, wish)? {
        Ok(aim) => aim,
        Err(refused) => return Ok(Err(refused)),
    };
    if let Some(place) = aim.ignored_by(&look.layout) {
        return Ok(Err(aim::ignored(place)));
    }
    let lost_copy = ground.has_lost_its_copy(&aim, &look.local);
    let own = ground.before_both_met(&past, wish)?;
    let prepared = ground.words(own.as_ref().unwrap_or(&past), wish, &aim)?;
    Ok(prepared.map(|prepared| {
        Prospect::Write(Box::new(Prepared {
            lost_copy,
            ..prepared
        }))
    }))
}

/// What was brought back, and the category's file that came with it, where its words were never agreed on.
type Brought = (Prospect, Option<String>);

/// What came of bringing versions back.
#[derive(Debug, Default)]
pub struct Restored {
    /// Where files are now, for a cycle to look at.
    pub places: Vec<String>,
    /// A line for each.
    pub lines: Vec<Line>,
    /// What could not be brought back, while the rest was.
    pub refusals: Vec<Refusal>,
    /// What stopped it; a [`Refused`], where nothing of it could be and a person can do something about that.
    pub failed: Option<anyhow::Error>,
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Brings versions back into the mirror, one after the other until the disk or the state fails. A cycle over
    /// their places carries them to the service. What is left out by then is remembered as such: see [`begun`].
    pub async fn restore(&mut self, wishes: &[Wish]) -> Restored {
        let mut restored = Restored::default();
        restored.failed = self.restore_each(wishes, &mut restored).await.err();
        restored.refusals.sort_by(|a, b| a.path.cmp(&b.path));
        if restored.places.is_empty() && restored.failed.is_none() {
            let refused = Refusal::all(std::mem::take(&mut restored.refusals));
            restored.failed = refused.map(anyhow::Error::new);
        }
        for Refusal { path, why, .. } in &mut restored.refusals {
            put_below(&self.settings.prefix, path, Some(&mut why.help));
        }
        restored
    }

    async fn restore_each(
        &mut self,
        wishes: &[Wish],
        restored: &mut Restored,
    ) -> anyhow::Result<()> {
        let recovered = self.recover(!self.cleared_up)?;
        if let Some(problem) = recovered
            .problems
            .first()
            .filter(|_| !recovered.open.is_empty())
        {
            anyhow::bail!("{}: {}", problem.path, problem.message);
        }
        self.cleared_up = true;
        let look = self.look()?;
        self.begin_restoring(wishes, &look)?;
        self.tell("restoring", Some(wishes.len() as u64), 0);
        for (done, wish) in wishes.iter().enumerate() {
            match self.bring_back(wish, &look)? {
                Ok((prospect, waits)) => {
                    restored.places.push(prospect.place().to_string());
                    restored.places.extend(waits);
                    restored.lines.push(self.line(&prospect));
                }
                Err(why) => restored.refusals.push(look.refusal(wish, why)),
            }
            self.told(done as u64 + 1);
            // Files that are not there are written without a wait: who breaks it off is heard here.
            yield_now().await;
        }
        let refused: BTreeSet<_> = restored
            .refusals
            .iter()
            .filter_map(|refusal| refusal.id)
            .collect();
        self.end_restoring(articles(wishes).filter(|id| !refused.contains(id)))
    }

    fn look(&mut self) -> anyhow::Result<Look> {
        let spool = Spool::new(false, self.clock.now());
        Look::at(&*self.disk, &mut self.store, spool)
    }

    fn bring_back(&mut self, wish: &Wish, look: &Look) -> anyhow::Result<Result<Brought, Refused>> {
        let written = self.write_wished(wish, look);
        let Err(error) = &written else {
            return written;
        };
        let met = error.downcast_ref::<DiskError>().map(|error| error.kind);
        if wish.missing && matches!(met, Some(DiskErrorKind::Changed | DiskErrorKind::Exists)) {
            // Somebody may have put it there in this very moment.
            let look = self.look()?;
            let again = prepared(&*self.disk, &self.store, &look, wish)?;
            if matches!(again, Ok(Prospect::IsBack { .. }) | Err(_)) {
                return Ok(again.map(|prospect| (prospect, None)));
            }
        }
        written
    }

    fn write_wished(
        &mut self,
        wish: &Wish,
        look: &Look,
    ) -> anyhow::Result<Result<Brought, Refused>> {
        let now = self.clock.now();
        let prospect = prepared(&*self.disk, &self.store, look, wish)?;
        let mut waits = None;
        if let Ok(Prospect::Write(prepared)) = &prospect
            && !prepared.is_there()
        {
            self.keep_present(prepared, now)?;
            self.keep_open(prepared, now)?;
            waits = self.write_back(prepared)?;
            self.note_restored(prepared, now)?;
        }
        Ok(prospect.map(|prospect| (prospect, waits)))
    }

    fn line(&self, prospect: &Prospect) -> Line {
        let mut path = prospect.place().to_string();
        put_below(&self.settings.prefix, &mut path, None);
        Line {
            action: Kind::Restore,
            side: Side::Local,
            path,
            id: prospect.id(),
            fields: match prospect {
                Prospect::Write(prepared) => prepared.fields.clone(),
                Prospect::IsBack { .. } => Vec::new(),
            },
            status: Status::Done,
            reason: Some(prospect.described()),
            rule: None,
        }
    }
}
