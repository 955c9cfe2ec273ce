//! A small world in the program's own types, and what becomes of it when a plan is carried out.
//!
//! The executor is strict where the engine would meet a refusal or would have to stop: a name or an address
//! that is taken, a file or an article that is not what the plan says it is. Such a plan is wrong.

use super::domain::{File, Layout, Piece};
use super::texts;
use super::words::Remote as Told;
use kbsync::model::base::{ArticleRow, CategoryRow, ConflictRow, Visibility};
use kbsync::model::path::fold;
use kbsync::model::{ArticleId, CategoryVersion, Flags, Place, Revision, Timestamp, Version};
use kbsync::reconcile::guard::{Facts, MaxDeletes};
use kbsync::reconcile::pairing::{self, Paired};
use kbsync::reconcile::plan::{Action, Conflict, Plan, Settle, Step};
use kbsync::reconcile::snapshot::{
    Base, Bodies, LocalCategory, LocalFile, LocalSnapshot, Policy, Remote, RemoteSnapshot, Seen,
    Unknown,
};
use kbsync::reconcile::{self, World};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What cannot be done, or must not.
pub(super) type Wrong = String;

macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err(format!($($why)+));
        }
    };
}
pub(super) use ensure;

/// Both sides, the base, and what was seen to be replaced.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) base: Base,
    pub(super) local: LocalSnapshot,
    pub(super) remote: RemoteSnapshot,
    policy: Policy,
    facts: Facts,
    bodies: Cow<'static, Bodies>,
    /// Versions that the plan replaced or removed, as it said.
    pub(super) history: Vec<Version>,
    /// Copies beside files in conflict.
    pub(super) copies: BTreeMap<ArticleId, Version>,
    /// Articles that were created, newest last, with the place of their file.
    pub(super) created: Vec<(ArticleId, Place)>,
    writes: usize,
    /// The articles that are laid out, while nothing changed them.
    laid: Vec<Piece>,
    folders: u8,
}

impl Scene {
    /// A mirror and a service with what a layout has.
    pub(super) fn new(layout: &Layout) -> Self {
        let mut scene = Self {
            base: Base::default(),
            local: LocalSnapshot::default(),
            remote: RemoteSnapshot::default(),
            policy: Policy::new(layout.rules.direction, layout.rules.on_conflict),
            facts: facts(),
            bodies: Cow::Borrowed(texts::bodies()),
            history: Vec::new(),
            copies: BTreeMap::new(),
            created: Vec::new(),
            writes: 0,
            laid: Vec::new(),
            folders: 0,
        };
        scene.lay(layout);
        scene
    }

    fn categories(&mut self, folders: u8) {
        self.folders = folders;
        self.local.categories.clear();
        self.local.top.clear();
        self.local.names.clear();
        self.base.categories.clear();
        for number in 0..folders {
            let (folder, id) = (texts::folder(number).to_owned(), texts::category(number));
            let words = CategoryVersion {
                name: folder.clone(),
                slug: folder.clone(),
                ..CategoryVersion::default()
            };
            self.local.categories.push(LocalCategory {
                folder: folder.clone(),
                id: Some(id),
                version: Some(words.clone()),
            });
            self.local.top.insert(folder.clone());
            self.local.names.insert(folder.clone(), BTreeSet::new());
            self.base.categories.insert(
                id,
                CategoryRow {
                    id,
                    folder: Some(folder),
                    local: words.clone(),
                    remote: words,
                    revision: Revision::default(),
                    read_at: Timestamp(0),
                    stamp: None,
                },
            );
        }
    }

    /// Puts another world into the same categories.
    pub(super) fn lay(&mut self, layout: &Layout) {
        let rules = layout.rules;
        self.local.complete = rules.scanned;
        self.remote.complete = rules.listed;
        self.policy.direction = rules.direction;
        self.policy.on_conflict = rules.on_conflict;
        self.policy.scope.clear();
        if let Some((category, name)) = layout.only {
            self.policy
                .scope
                .push(texts::place(category, name).to_string());
        }
        self.facts.articles = layout.pieces.len();
        self.facts.max_deletes.count = u32::try_from(rules.max_deletes).expect("a small number");
        self.facts.doubt = (!rules.listed || !rules.scanned).then(|| "a look failed".to_owned());
        if self.folders != layout.folders {
            self.categories(layout.folders);
            self.laid.clear();
        }
        if self.laid != layout.pieces || self.laid.is_empty() {
            self.lay_articles(&layout.pieces);
        }
    }

    fn lay_articles(&mut self, pieces: &[Piece]) {
        self.base.articles.clear();
        self.base.conflicts.clear();
        self.local.files.clear();
        self.local.unknown.clear();
        self.local.copies.clear();
        self.remote.articles.clear();
        self.history.clear();
        self.copies.clear();
        self.created.clear();
        if let Cow::Owned(_) = self.bodies {
            self.bodies = Cow::Borrowed(texts::bodies());
        }
        for (slot, piece) in pieces.iter().enumerate() {
            self.put(slot, piece);
        }
        self.refresh();
        self.laid.clear();
        self.laid.extend_from_slice(pieces);
    }

    fn put(&mut self, slot: usize, piece: &Piece) {
        let id = texts::article(slot);
        if let Some(agreed) = piece.article.base {
            let hidden = agreed.service.hidden;
            let row = ArticleRow {
                id,
                place: texts::place(piece.home.0, piece.home.1),
                local: texts::version(slot, &agreed.file),
                local_text_lf: None,
                remote: texts::version(slot, &agreed.service),
                revision: revision(0),
                file_flags: texts::lines(agreed.file.hidden),
                remote_flags: texts::told(hidden),
                visibility: visibility(hidden),
                stamp: None,
                replaced: None,
                written: None,
                asked: None,
            };
            self.base.articles.insert(id, row);
        }
        for file in piece.files.into_iter().flatten() {
            let File {
                folder,
                name,
                line,
                words,
            } = file;
            self.local.files.push(LocalFile {
                place: texts::place(folder, name),
                id: line.then_some(id),
                version: texts::version(slot, &words),
                flags: texts::lines(words.hidden),
            });
        }
        if let Some((folder, name, known)) = piece.unready {
            self.local.unknown.push(Unknown {
                place: texts::place(folder, name),
                id: known.then_some(id),
            });
        }
        let entry = match piece.article.remote {
            Told::Missing => return,
            Told::Seen(words) => {
                let same = piece.article.base.is_some_and(|base| base.service == words);
                Remote::Present(Seen {
                    version: texts::version(slot, &words),
                    revision: revision(usize::from(!same)),
                    flags: listed(texts::told(words.hidden), visibility(words.hidden)),
                    visibility: visibility(words.hidden),
                })
            }
            Told::Gone => Remote::Gone,
            Told::NotVisible => Remote::NotVisible("no probe".to_owned()),
            Told::Unknown => Remote::Unknown("unreadable".to_owned()),
        };
        self.remote.articles.insert(id, entry);
    }

    /// The names as the next scan finds them.
    fn refresh(&mut self) {
        self.local.names.values_mut().for_each(BTreeSet::clear);
        let files = self.local.files.iter().map(|file| &file.place);
        let unknown = self.local.unknown.iter().map(|unknown| &unknown.place);
        for place in files.chain(unknown).chain(&self.local.copies) {
            if let Some(names) = self.local.names.get_mut(&place.folder) {
                names.insert(fold(&place.file));
            }
        }
    }

    /// Turns the order of everything that has one; tells whether that is another order.
    pub(super) fn reverse(&mut self) -> bool {
        self.local.files.reverse();
        self.local.unknown.reverse();
        self.local.categories.reverse();
        self.local.files.len().max(self.local.unknown.len()) > 1
    }

    pub(super) fn paired(&self) -> Paired {
        pairing::pair(&self.base, &self.local, &self.remote)
    }

    pub(super) fn world<'a>(&'a self, paired: &'a Paired) -> World<'a> {
        World::new(
            &self.base,
            &self.local,
            paired,
            &self.remote,
            &self.bodies,
            &self.policy,
        )
    }

    pub(super) fn plan(&self, paired: &Paired) -> Plan {
        reconcile::plan(self.world(paired), &self.facts)
    }

    /// Carries a plan out, as the engine would; held actions only show what is in conflict.
    pub(super) fn apply(&mut self, plan: &Plan) -> Result<(), Wrong> {
        self.laid.clear();
        for (digest, text) in &plan.bodies {
            if !self.bodies.contains_key(digest) {
                self.bodies.to_mut().insert(*digest, text.clone());
            }
        }
        ensure!(
            plan.category_records.is_empty(),
            "a category changes in the books"
        );
        for settle in &plan.records {
            self.record(settle, None);
        }
        let mut actions = plan.actions.iter().peekable();
        while let Some(action) = actions.next() {
            if let Step::Conflict(conflict) = &action.step {
                self.show(conflict);
            }
            if action.held.is_some() {
                continue;
            }
            if quiet_settle(action).is_some() {
                let mut batch = vec![action];
                while let Some(next) = actions.next_if(|next| quiet_settle(next).is_some()) {
                    batch.push(next);
                }
                self.write_files(&batch)?;
            } else {
                self.step(action)?;
            }
        }
        self.refresh();
        Ok(())
    }

    fn step(&mut self, action: &Action) -> Result<(), Wrong> {
        match &action.step {
            Step::CreateCategory { .. } | Step::SettleCategory(_) => {
                Err("no category changed".to_owned())
            }
            Step::CreateArticle {
                place,
                version,
                flags,
                instead_of,
                holder: _,
            } => {
                if let Some(old) = instead_of {
                    self.forget(*old);
                }
                self.create(place, version, *flags)
            }
            Step::Settle(settle) => {
                if settle.touches_file() {
                    self.leave(settle)?;
                    self.arrive(settle)?;
                }
                self.send(settle)
            }
            Step::ParkSlug { id, slug } => {
                let mut version = self.seen(*id)?.version.clone();
                version.slug.clone_from(slug);
                self.ensure_free(*id, &version)?;
                self.seen(*id)?.version = version.clone();
                let row = self.base.articles.get_mut(id);
                row.ok_or("no row to park")?.remote = version;
                Ok(())
            }
            Step::DeleteArticle { id, place, seen } => {
                let now = self.seen(*id)?.clone();
                ensure!(now.version == seen.version, "deletes what it has not seen");
                ensure!(self.local.complete, "deletes on an incomplete scan");
                let row = self.base.articles.get(id);
                ensure!(row.is_some(), "deletes without a base");
                let here = self.local.files.iter().any(|file| file.id == Some(*id))
                    || self
                        .local
                        .unknown
                        .iter()
                        .any(|unknown| unknown.place == *place || unknown.id == Some(*id));
                ensure!(!here, "deletes an article whose file is there");
                self.history.push(now.version);
                self.remote.articles.insert(*id, Remote::Gone);
                self.forget(*id);
                Ok(())
            }
            Step::RemoveFile { id, place, version } => {
                let gone = self.remote.articles.get(id) == Some(&Remote::Gone);
                ensure!(gone, "removes a file whose article is not known to be gone");
                ensure!(
                    self.base.articles.contains_key(id),
                    "removes without a base"
                );
                self.take_file(place, version)?;
                self.forget(*id);
                Ok(())
            }
            Step::Forget { id } => {
                self.forget(*id);
                Ok(())
            }
            Step::Conflict(_) | Step::Wait => Err("it only waits, and is not held".to_owned()),
        }
    }

    fn forget(&mut self, id: ArticleId) {
        self.base.articles.remove(&id);
        if let Some(row) = self.base.conflicts.remove(&id)
            && let Some(copy) = row.copy
        {
            self.local
                .copies
                .remove(&Place::new(row.place.folder, copy));
        }
    }

    fn seen(&mut self, id: ArticleId) -> Result<&mut Seen, Wrong> {
        match self.remote.articles.get_mut(&id) {
            Some(Remote::Present(seen)) => Ok(seen),
            Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)) | None => {
                Err("it is not there to be changed".to_owned())
            }
        }
    }

    fn write_files(&mut self, batch: &[&Action]) -> Result<(), Wrong> {
        let settles = || batch.iter().filter_map(|action| quiet_settle(action));
        for settle in settles().filter(|settle| settle.touches_file()) {
            self.leave(settle)?;
        }
        for settle in settles() {
            if settle.touches_file() {
                self.arrive(settle)?;
            }
            self.record(settle, None);
            self.settled(settle);
        }
        Ok(())
    }

    fn take_file(&mut self, place: &Place, version: &Version) -> Result<(), Wrong> {
        let found = self
            .local
            .files
            .iter()
            .position(|file| file.place == *place);
        let file = self
            .local
            .files
            .swap_remove(found.ok_or_else(|| format!("no file at {place}"))?);
        // A scanned file does not say its category; its folder does.
        let text = (&file.version.title, &file.version.slug, file.version.text);
        ensure!(
            text == (&version.title, &version.slug, version.text),
            "{place} is not what the plan says"
        );
        self.history.push(file.version);
        Ok(())
    }

    fn leave(&mut self, settle: &Settle) -> Result<(), Wrong> {
        match (&settle.from, &settle.had) {
            (Some(from), Some(had)) => self.take_file(from, had),
            (None, None) => Ok(()),
            (Some(_), None) | (None, Some(_)) => Err("half a file".to_owned()),
        }
    }

    fn arrive(&mut self, settle: &Settle) -> Result<(), Wrong> {
        let to = &settle.to;
        let files = self.local.files.iter().map(|file| &file.place);
        let unknown = self.local.unknown.iter().map(|unknown| &unknown.place);
        let mut others = files.chain(unknown).chain(&self.local.copies);
        let taken =
            others.any(|place| place.folder == to.folder && fold(&place.file) == fold(&to.file));
        ensure!(!taken, "the name {to} is taken");
        self.local.files.push(LocalFile {
            place: to.clone(),
            id: Some(settle.id),
            version: settle.file.clone(),
            flags: settle.file_flags,
        });
        Ok(())
    }

    fn settled(&mut self, settle: &Settle) {
        if settle.settles
            && let Some(row) = self.base.conflicts.remove(&settle.id)
            && let Some(copy) = row.copy
        {
            self.local
                .copies
                .remove(&Place::new(row.place.folder, copy));
        }
    }

    /// Refuses what the service would refuse: a slug that another article of the category has.
    fn ensure_free(&self, but: ArticleId, version: &Version) -> Result<(), Wrong> {
        let taken = self.remote.articles.iter().any(|(id, entry)| {
            *id != but
                && matches!(entry, Remote::Present(seen) if seen.version.category == version.category
                    && seen.version.slug == version.slug)
        });
        ensure!(
            !taken,
            "asks for the address {} that another one has",
            version.slug
        );
        Ok(())
    }

    fn create(&mut self, place: &Place, version: &Version, flags: Flags) -> Result<(), Wrong> {
        self.writes += 1;
        let id = texts::article(100 + self.writes);
        self.ensure_free(id, version)?;
        let file = self
            .local
            .files
            .iter_mut()
            .find(|file| file.place == *place);
        let file = file.ok_or_else(|| format!("no file at {place}"))?;
        file.id = Some(id);
        let shown = if flags.hides() {
            Visibility::Unpublished
        } else {
            Visibility::Published
        };
        let seen = Seen {
            version: answered(version.clone()),
            revision: revision(1 + self.writes),
            flags: listed(flags, shown),
            visibility: shown,
        };
        let row = ArticleRow {
            id,
            place: place.clone(),
            local: version.clone(),
            local_text_lf: None,
            remote: seen.version.clone(),
            revision: seen.revision.clone(),
            file_flags: file.flags,
            remote_flags: flags,
            visibility: shown,
            stamp: None,
            replaced: None,
            written: Some(seen.revision.clone()),
            asked: None,
        };
        self.base.articles.insert(id, row);
        self.remote.articles.insert(id, Remote::Present(seen));
        self.created.push((id, place.clone()));
        Ok(())
    }

    fn send(&mut self, settle: &Settle) -> Result<(), Wrong> {
        let now = self.seen(settle.id)?.clone();
        let parked = self.base.articles.get(&settle.id);
        let parked = parked.is_some_and(|row| row.remote == now.version);
        ensure!(
            parked || now.version == settle.seen.version,
            "overwrites what it has not seen"
        );
        let mut wanted = now.version.clone();
        for field in &settle.send {
            wanted.take(*field, &settle.file);
        }
        self.ensure_free(settle.id, &wanted)?;
        self.writes += 1;
        let flags = Flags {
            enabled: settle.send_enabled.or(settle.seen.flags.enabled),
            draft: settle.seen.flags.draft,
        };
        let shown = match (flags.hides(), settle.send_enabled) {
            (true, _) => Visibility::Unpublished,
            (false, Some(true)) => Visibility::Published,
            (false, _) => settle.seen.visibility,
        };
        let sent = Seen {
            version: answered(wanted),
            revision: revision(1 + self.writes),
            flags,
            visibility: shown,
        };
        self.record(settle, Some(&sent));
        self.settled(settle);
        self.history.push(now.version);
        let seen = Seen {
            flags: listed(flags, shown),
            ..sent
        };
        self.remote
            .articles
            .insert(settle.id, Remote::Present(seen));
        Ok(())
    }

    fn record(&mut self, settle: &Settle, sent: Option<&Seen>) {
        let written = self
            .base
            .articles
            .remove(&settle.id)
            .and_then(|row| row.written);
        let now = sent.unwrap_or(&settle.seen);
        let (local, file_flags) = match sent {
            Some(_) => (&settle.file, settle.file_flags),
            None => (&settle.unsent, settle.unsent_flags),
        };
        let row = ArticleRow {
            id: settle.id,
            place: settle.to.clone(),
            local: local.clone(),
            local_text_lf: None,
            remote: now.version.clone(),
            revision: now.revision.clone(),
            file_flags,
            remote_flags: now.flags,
            visibility: now.visibility,
            stamp: None,
            replaced: None,
            written: sent.map(|sent| sent.revision.clone()).or(written),
            asked: None,
        };
        self.base.articles.insert(settle.id, row);
    }

    fn show(&mut self, conflict: &Conflict) {
        if !conflict.fresh {
            return;
        }
        if let (Some(copy), Some(seen)) = (&conflict.copy, &conflict.seen) {
            self.local
                .copies
                .insert(Place::new(&conflict.place.folder, copy));
            self.copies.insert(conflict.id, seen.version.clone());
        }
        let row = ConflictRow {
            id: conflict.id,
            place: conflict.place.clone(),
            local: conflict.local.clone(),
            remote: conflict.seen.as_ref().map(|seen| seen.version.clone()),
            revision: conflict
                .seen
                .as_ref()
                .map_or_else(Revision::default, |seen| seen.revision.clone()),
            copy: conflict.copy.clone(),
            reason: conflict.reason.clone(),
            at: Timestamp(0),
        };
        self.base.conflicts.insert(conflict.id, row);
    }
}

/// A settlement that sends nothing and is not held.
fn quiet_settle(action: &Action) -> Option<&Settle> {
    match &action.step {
        Step::Settle(settle) if action.held.is_none() && !settle.sends() => Some(settle),
        Step::Settle(_)
        | Step::CreateArticle { .. }
        | Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::ParkSlug { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}

/// What the service makes of what it is sent: it trims a mark off titles.
fn answered(mut version: Version) -> Version {
    if version.title.ends_with('!') {
        version.title.pop();
    }
    version
}

fn visibility(hidden: u8) -> Visibility {
    if hidden == 0 {
        Visibility::Published
    } else {
        Visibility::Unpublished
    }
}

/// Listings do not carry `enabled` and `draft`.
fn listed(flags: Flags, visibility: Visibility) -> Flags {
    match visibility {
        Visibility::Published => Flags::default(),
        Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone => flags,
    }
}

fn revision(number: usize) -> Revision {
    Revision(format!("r{number}"))
}

fn facts() -> Facts {
    Facts {
        articles: 0,
        max_deletes: MaxDeletes {
            count: 10,
            percent: 25,
        },
        allow_deletes: false,
        deleted_remote: 0,
        deleted_local: 0,
        approved: BTreeSet::new(),
        doubt: None,
        older_local: BTreeSet::new(),
        older_remote: BTreeSet::new(),
        duels: BTreeSet::new(),
        refused: BTreeMap::new(),
        git: None,
    }
}
