//! Bringing a version of the history back into the mirror, as a file's content (design, sections 1 and 9).
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
mod words;

use super::apply::{GRAIN, category_file, hides_a_new_article, keep_whole, needs_whole};
use super::observe::{load_base, local, unsettled::Unsettled};
use super::report::{Line, Status, put_below};
use super::spool::Spool;
use super::{Engine, past};
use crate::mirror::disk::{At, Disk, DiskError, DiskErrorKind, Durability, Expect};
use crate::mirror::document::Document;
use crate::model::path::{CATEGORY_FILE, slug_of_stem};
use crate::model::{
    ArticleId, CategoryId, Field, Place, Side, Stamp, TextDigest, Timestamp, Version,
};
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::plan::Kind;
use crate::reconcile::snapshot::{Base, RemoteSnapshot};
use crate::service::Service;
use crate::state::store::Store;
use crate::state::{Deed, Kept, Seen, Subject};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a person wants back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// Whose version.
    pub subject: Subject,
    /// Its number; `None`: the last one of what was deleted, the one before the present one of what lives.
    #[serde(default)]
    pub number: Option<u64>,
    /// Where a deleted article's file is to be; `None`: where it was.
    #[serde(default)]
    pub to: Option<Place>,
}

/// Why a version cannot be brought back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// What kind of reason it is.
    pub kind: RefusedKind,
    /// What is in the way.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// What kind of reason it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusedKind {
    /// A person has to decide something else first.
    Undecided,
    /// What was asked for cannot be.
    Impossible,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for Refused {}

/// What bringing a version back would do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prepared {
    /// The version.
    pub kept: Kept,
    /// Where the file is or will be.
    pub place: Place,
    /// The article that the file is; `None`: it is or becomes a new one.
    pub id: Option<ArticleId>,
    /// The deleted article that comes back as a new one.
    pub instead_of: Option<ArticleId>,
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
    /// Tells whether the file holds the version already.
    pub fn is_there(&self) -> bool {
        self.old.as_ref() == Some(&self.new)
    }

    /// Which version it is, for people.
    pub fn described(&self) -> String {
        let at = self.kept.at;
        match self.instead_of {
            Some(id) => format!("version @{} of {id}, of {at}", self.kept.number),
            None => format!("version @{} of {at}", self.kept.number),
        }
    }

    /// The version's cause in the history. It leads from the new article to the old one.
    fn cause(&self) -> String {
        match self.instead_of {
            Some(id) => format!("restored from {id}@{}", self.kept.number),
            None => format!("restored from @{}", self.kept.number),
        }
    }
}

/// What is needed to look for a place: both sides of the mirror's memory.
struct Ground<'a, D> {
    disk: &'a D,
    store: &'a Store,
    base: Base,
    paired: Paired,
}

/// Finds out what bringing a version back would do, and does nothing.
pub fn prepare<D: Disk>(
    disk: &D,
    store: &mut Store,
    wish: &Wish,
    now: Timestamp,
) -> anyhow::Result<Result<Prepared, Refused>> {
    prepared(disk, store, wish, Spool::new(true, now))
}

/// The same; with a spool that is not dry every unseen edit goes into the history on the way.
fn prepared<D: Disk>(
    disk: &D,
    store: &mut Store,
    wish: &Wish,
    mut spool: Spool,
) -> anyhow::Result<Result<Prepared, Refused>> {
    let Some(past) = past::of(store, wish.subject.clone())? else {
        return Ok(Err(Refused {
            kind: RefusedKind::Impossible,
            message: "nothing of it is in the history".to_owned(),
            help: "`kbsync log` lists what is".to_owned(),
        }));
    };
    let base = load_base(store)?;
    let scanned = local::scan(disk, store, &base, &Unsettled::default(), &mut spool)?;
    let paired = pairing::pair(&base, &scanned.snapshot, &RemoteSnapshot::default());
    let ground = Ground {
        disk,
        store,
        base,
        paired,
    };
    let aim = match ground.aim(&past, wish)? {
        Ok(aim) => aim,
        Err(refused) => return Ok(Err(refused)),
    };
    if let Some(place) = aim.ignored_by(&scanned.layout) {
        return Ok(Err(aim::ignored(place)));
    }
    let lost_copy = ground.has_lost_its_copy(&aim, &scanned.snapshot);
    let own = ground.before_both_met(&past, wish)?;
    let prepared = ground.words(own.as_ref().unwrap_or(&past), wish, &aim)?;
    Ok(prepared.map(|prepared| Prepared {
        lost_copy,
        ..prepared
    }))
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Brings a version back into the mirror. A cycle over its place carries it to the service.
    ///
    /// # Errors
    ///
    /// When the state or the mirror cannot be used, or the file changes in this very moment.
    pub async fn restore(
        &mut self,
        wish: &Wish,
    ) -> anyhow::Result<Result<(Prepared, Line), Refused>> {
        if !self.cleared_up {
            self.clear_up()?;
            self.cleared_up = true;
        }
        let now = self.clock.now();
        let prepared = match self.prepared_settled(wish).await? {
            Ok(prepared) => prepared,
            Err(refused) => return Ok(Err(refused)),
        };
        if !prepared.is_there() {
            self.keep_present(&prepared, now)?;
            self.keep_open(&prepared, now)?;
            self.write_back(&prepared)?;
            self.note_restored(&prepared, now)?;
        }
        let mut path = prepared.place.to_string();
        put_below(&self.settings.prefix, &mut path, None);
        let line = Line {
            action: Kind::Restore,
            side: Side::Local,
            path,
            id: prepared.id,
            fields: prepared.fields.clone(),
            status: Status::Done,
            reason: Some(if prepared.is_there() {
                format!("the file holds {} already", prepared.described())
            } else {
                prepared.described()
            }),
            rule: None,
        };
        Ok(Ok((prepared, line)))
    }

    /// What is to be done. A file that was saved within the clock's grain could be saved once more without anybody
    /// noticing: it is read a little later (failures row 83).
    async fn prepared_settled(&mut self, wish: &Wish) -> anyhow::Result<Result<Prepared, Refused>> {
        let spool = Spool::new(false, self.clock.now());
        let first = prepared(&*self.disk, &mut self.store, wish, spool)?;
        let young = first.as_ref().ok().and_then(|first| first.stamp);
        let Some(young) = young.filter(|stamp| self.trusted(*stamp).is_none()) else {
            return Ok(first);
        };
        self.clock.pause(GRAIN).await;
        let spool = Spool::new(false, self.clock.now());
        let second = prepared(&*self.disk, &mut self.store, wish, spool)?;
        if let Ok(Prepared {
            place,
            stamp: Some(stamp),
            ..
        }) = &second
            && *stamp != young
            && self.trusted(*stamp).is_none()
        {
            let path = place.to_string();
            return Err(DiskError::new(DiskErrorKind::Changed, "read", path).into());
        }
        Ok(second)
    }

    /// The bytes that are about to be replaced go into the history.
    fn keep_present(&mut self, prepared: &Prepared, now: Timestamp) -> anyhow::Result<()> {
        let Some(old) = &prepared.old else {
            return Ok(());
        };
        let document = Document::parse_with_markers(old.as_bytes()).ok();
        let text = document.as_ref().map_or(old.as_str(), Document::text);
        let version = match &document {
            Some(document) => self.version_in_file(document, prepared)?,
            // What is no article is kept as a whole.
            None => Version {
                text: TextDigest::of(old),
                ..prepared.kept.seen.version.clone()
            },
        };
        let seen = Seen {
            subject: prepared.subject(),
            place: prepared.place.clone(),
            side: Side::Local,
            cause: "replaced".to_owned(),
            version,
            file: None,
        };
        let hidden = document.as_ref().is_some_and(hides_a_new_article);
        self.store.write(now, |tx| {
            tx.put_body(text)?;
            let file = if document.is_some() && !seen.subject.is_category() && !hidden {
                keep_whole(tx, old.as_bytes(), &seen.version, &seen.place)?
            } else {
                Some(tx.put_body(old)?)
            };
            tx.record(&Seen { file, ..seen })
        })?;
        Ok(())
    }

    /// A conflict whose file is there and whose copy is not counts as settled by hand. Where both went, nobody has
    /// settled it: it is shown anew.
    fn keep_open(&mut self, prepared: &Prepared, now: Timestamp) -> anyhow::Result<()> {
        if let Some(id) = prepared.id.filter(|_| prepared.lost_copy) {
            self.store.write(now, |tx| tx.forget_copy(id))?;
        }
        Ok(())
    }

    fn write_back(&self, prepared: &Prepared) -> anyhow::Result<()> {
        let Place { folder, file } = &prepared.place;
        let at = At::Folder(folder);
        if self.disk.look(At::Root, folder)?.is_none() {
            self.disk.create_folder(folder)?;
            self.disk.sync_folder(At::Root)?;
            self.name_folder(prepared)?;
        }
        let staged = self
            .disk
            .stage(at, prepared.new.as_bytes(), Durability::Now)?;
        let expect = prepared.stamp.map_or(Expect::Absent, Expect::Stamp);
        self.disk.publish(staged, file, expect)?;
        self.disk.sync_folder(at)?;
        Ok(())
    }

    /// A folder that comes back says which category it is: its name may not be that one's slug, and would make
    /// another category, which nobody can delete.
    fn name_folder(&self, prepared: &Prepared) -> anyhow::Result<()> {
        let folder = &prepared.place.folder;
        let row = match prepared.id {
            Some(id) => self.store.article(id)?,
            None => None,
        };
        let version = &prepared.kept.seen.version;
        let category = row.map_or(version.category, |row| row.local.category);
        let rows = self.store.categories()?;
        let row = rows.into_iter().find(|row| {
            let elsewhere = row.folder.as_ref().is_some_and(|known| known != folder);
            row.id == category && !elsewhere
        });
        let Some(row) = row else {
            return Ok(());
        };
        let at = At::Folder(folder);
        let source = category_file(row.id, folder, &row.local);
        let staged = self.disk.stage(at, source.as_bytes(), Durability::Now)?;
        self.disk.publish(staged, CATEGORY_FILE, Expect::Absent)?;
        Ok(())
    }

    /// What the file holds now is a version of its own, which says where it came from.
    fn note_restored(&mut self, prepared: &Prepared, now: Timestamp) -> anyhow::Result<()> {
        let source = prepared.new.as_str();
        let document = Document::parse_with_markers(source.as_bytes()).ok();
        let text = document.as_ref().map_or(source, Document::text).to_owned();
        let version = match &document {
            Some(document) => self.version_in_file(document, prepared)?,
            None => prepared.kept.seen.version.clone(),
        };
        let whole = document.as_ref().is_none_or(hides_a_new_article)
            || needs_whole(source, &version, &prepared.place);
        let seen = Seen {
            subject: prepared.subject(),
            place: prepared.place.clone(),
            side: Side::Local,
            cause: prepared.cause(),
            version,
            file: None,
        };
        self.store.write(now, |tx| {
            tx.put_body(&text)?;
            let file = whole.then(|| tx.put_body(source)).transpose()?;
            tx.record(&Seen { file, ..seen })?;
            tx.event(&Deed {
                action: Kind::Restore.word().to_owned(),
                side: Side::Local,
                path: prepared.place.to_string(),
                id: prepared.id.or(prepared.instead_of),
                detail: prepared.described(),
            })
        })?;
        Ok(())
    }

    /// A file's words as the next scan reads them, so that it has nothing to add.
    fn version_in_file(&self, document: &Document, prepared: &Prepared) -> anyhow::Result<Version> {
        let row = match prepared.id {
            Some(id) => self.store.article(id)?,
            None => None,
        };
        let place = &prepared.place;
        let slug = document.slug().map(str::to_owned);
        Ok(Version {
            title: document.title().to_owned(),
            slug: slug
                .or_else(|| slug_of_stem(place.stem()).ok())
                .unwrap_or_else(|| place.stem().to_owned()),
            category: row.map_or_else(
                || CategoryId::provisional(&place.folder),
                |row| row.local.category,
            ),
            introtext: document.introtext().to_owned(),
            keywords: document.keywords().to_owned(),
            text: TextDigest::of(document.text()),
        })
    }
}

impl Prepared {
    /// Whose history the file's versions go into.
    fn subject(&self) -> Subject {
        match (self.id, &self.kept.seen.subject) {
            (Some(id), _) => Subject::Article(id),
            (None, subject) if subject.is_category() => subject.clone(),
            (None, _) => Subject::File(self.place.clone()),
        }
    }
}
