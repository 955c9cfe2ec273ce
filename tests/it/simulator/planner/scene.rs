//! A small world in the program's own types: base, mirror, service, rules and facts.

use super::layout::{File, Layout, Piece};
use super::texts;
use super::words::Remote as Told;
use kbsync::model::base::{ArticleRow, CategoryRow, Visibility};
use kbsync::model::path::fold;
use kbsync::model::{ArticleId, CategoryVersion, Flags, Place, Revision, Timestamp, Version};
use kbsync::reconcile::guard::Facts;
use kbsync::reconcile::pairing::{self, Paired};
use kbsync::reconcile::plan::Plan;
use kbsync::reconcile::scope::Scope;
use kbsync::reconcile::snapshot::{
    Base, Bodies, LocalCategory, LocalFile, LocalSnapshot, Policy, Remote, RemoteSnapshot, Seen,
    Unknown,
};
use kbsync::reconcile::{self, World};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Both sides, the base, and the replaced versions.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) base: Base,
    pub(super) local: LocalSnapshot,
    pub(super) remote: RemoteSnapshot,
    policy: Policy,
    facts: Facts,
    pub(super) bodies: Cow<'static, Bodies>,
    /// Versions that the plan replaced or removed, according to the plan.
    pub(super) history: Vec<Version>,
    /// The conflict copies.
    pub(super) copies: BTreeMap<ArticleId, Version>,
    /// Created articles, newest last, with the place of their file.
    pub(super) created: Vec<(ArticleId, Place)>,
    pub(super) writes: usize,
    /// The laid-out articles, until something changes them.
    pub(super) laid: Vec<Piece>,
    folders: u8,
}

impl Scene {
    /// A mirror and a service with the content of a layout.
    pub(super) fn new(layout: &Layout) -> Self {
        let mut scene = Self {
            base: Base::default(),
            local: LocalSnapshot::default(),
            remote: RemoteSnapshot::default(),
            policy: Policy::new(layout.rules.direction, layout.rules.on_conflict),
            facts: Facts::default(),
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

    /// Lays another world out in the same categories.
    pub(super) fn lay(&mut self, layout: &Layout) {
        let rules = layout.rules;
        self.local.complete = rules.scanned;
        self.remote.complete = rules.listed;
        self.policy.direction = rules.direction;
        self.policy.on_conflict = rules.on_conflict;
        self.policy.scope = Scope::default();
        if let Some((category, name)) = layout.only {
            self.policy
                .scope
                .add(&texts::place(category, name).to_string());
        }
        self.facts.deletions.articles = layout.pieces.len();
        self.facts.deletions.limit.count =
            u32::try_from(rules.max_deletes).expect("a small number");
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
                local: texts::version(slot, agreed.file),
                remote: texts::version(slot, agreed.service),
                revision: revision(0),
                file_flags: texts::lines(agreed.file.hidden),
                remote_flags: texts::told(hidden),
                visibility: visibility(hidden),
                stamp: None,
                superseded: Vec::new(),
                written: None,
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
                version: texts::version(slot, words),
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
                    version: texts::version(slot, words),
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

    /// Updates the names, as the next scan finds them.
    pub(super) fn refresh(&mut self) {
        self.local.names.values_mut().for_each(BTreeSet::clear);
        let files = self.local.files.iter().map(|file| &file.place);
        let unknown = self.local.unknown.iter().map(|unknown| &unknown.place);
        for place in files.chain(unknown).chain(self.local.copies.keys()) {
            if let Some(names) = self.local.names.get_mut(&place.folder) {
                names.insert(fold(&place.file));
            }
        }
    }

    /// Reverses every order; returns whether that makes a difference.
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
        World {
            out_of_reach: &|_| false,
            base: &self.base,
            local: &self.local,
            paired,
            remote: &self.remote,
            bodies: &self.bodies,
            policy: &self.policy,
        }
    }

    pub(super) fn plan(&self, paired: &Paired) -> Plan {
        let world = self.world(paired);
        let mut plan = reconcile::reconcile(world);
        reconcile::guard::hold(&mut plan, &self.facts);
        reconcile::order::arrange(&mut plan, world.base, world.remote);
        plan
    }
}

fn visibility(hidden: u8) -> Visibility {
    if hidden == 0 {
        Visibility::Published
    } else {
        Visibility::Unpublished
    }
}

/// Listings do not carry `enabled` and `draft`.
pub(super) fn listed(flags: Flags, visibility: Visibility) -> Flags {
    match visibility {
        Visibility::Published => Flags::default(),
        Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone => flags,
    }
}

pub(super) fn revision(number: usize) -> Revision {
    Revision(format!("r{number}"))
}
