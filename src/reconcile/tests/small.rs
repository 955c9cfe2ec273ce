//! Small worlds, written as three lines of words: the base, the mirror and the service.
//!
//! A line names articles, separated by `;`, each with words for its differences: in the base from a plain article
//! `start/NAME.html`, on the two sides from the base. A name that ends in `/` is a category.
//!
//! | word | meaning |
//! |---|---|
//! | `title=`, `slug=`, `text=`, `intro=`, `name=` | the field; `+` in a text separates its blocks |
//! | `in=` | the folder of its category |
//! | `file=`, `folder=` | its name in the mirror, where that is not the slug |
//! | `on`, `off`, `draft`, `live` | `enabled` and `draft`: the lines in the file, or what the service has |
//! | `unpublished` | readers do not see it |
//! | `creating` | in the base: it is being created, and has no row |
//! | `made` | of one that is being created: the service has it, and its file lacks the id |
//! | `-` | no file, or no folder; on the service: no entry in what was seen |
//! | `?`, `noid`, `noyaml` | present and not ready; without its `id:` line; without `_category.yaml` |
//! | `gone`, `hidden`, `unread` | what the service said of it instead of showing it |
//!
//! Ids are made of names, and printed as `#NAME`.

use crate::model::base::{ArticleRow, CategoryRow, Creation, Parked, Sent, Visibility};
use crate::model::path::{self, CATEGORY_FILE};
use crate::model::{
    ArticleId, CategoryId, CategoryVersion, Flags, Place, Revision, TextDigest, Timestamp, Version,
};
use crate::reconcile::deletions::Deletions;
use crate::reconcile::guard::Facts;
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::plan::{Conflict, Plan, Settle, Step};
use crate::reconcile::scope::Scope;
use crate::reconcile::snapshot::{
    Base, Bodies, Decision, Direction, Keep, LocalCategory, LocalFile, LocalSnapshot, OnConflict,
    Policy, Remote, RemoteSnapshot, Seen, Unknown,
};
use crate::reconcile::{self, World};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// A world that a test can change.
#[derive(Clone, Debug)]
pub(super) struct Small {
    pub(super) base: Base,
    pub(super) local: LocalSnapshot,
    pub(super) remote: RemoteSnapshot,
    pub(super) policy: Policy,
    pub(super) bodies: Bodies,
    pub(super) facts: Facts,
    /// The service's real articles; the snapshot may show fewer.
    pub(super) categories: BTreeMap<CategoryId, (CategoryVersion, Revision)>,
    pub(super) names: BTreeMap<String, String>,
    /// Whether the service rewrites what it is sent ("Echo").
    pub(super) rewrites: bool,
    /// The number of writes so far, for unique ids, revisions and texts.
    pub(super) writes: u32,
}

pub(super) fn article(name: &str) -> ArticleId {
    ArticleId::new(uuid("article", name))
}

pub(super) fn category(name: &str) -> CategoryId {
    CategoryId::new(uuid("category", name))
}

fn uuid(kind: &str, name: &str) -> Uuid {
    let digest = crate::model::Digest::of_parts(&[kind.as_bytes(), name.as_bytes()]);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

/// Returns the body of a `text=` word.
pub(super) fn body(words: &str) -> String {
    words
        .split('+')
        .map(|block| format!("<p>{block}</p>"))
        .collect::<Vec<_>>()
        .join("\n")
}

pub(super) fn revision(name: &str) -> Revision {
    Revision(name.to_owned())
}

/// One article or category of a line.
#[derive(Clone, Default, Debug)]
struct Entry<'a> {
    name: &'a str,
    words: Vec<&'a str>,
}

impl<'a> Entry<'a> {
    fn all(line: &'a str) -> Vec<Self> {
        line.split(';')
            .filter_map(|part| {
                let mut words = part.split_whitespace();
                Some(Self {
                    name: words.next()?,
                    words: words.collect(),
                })
            })
            .collect()
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.words
            .iter()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn flags(&self, known: Flags) -> Flags {
        let pick = |yes, no, known| {
            if self.has(yes) {
                Some(true)
            } else if self.has(no) {
                Some(false)
            } else {
                known
            }
        };
        Flags {
            enabled: pick("on", "off", known.enabled),
            draft: pick("draft", "live", known.draft),
        }
    }
}

impl Small {
    /// Settles the conflict of an article as it was shown last.
    pub(super) fn decide(&mut self, name: &str, keep: Keep) {
        let shown = self.base.conflicts.get(&article(name));
        let shown = shown.and_then(|row| row.remote.as_ref());
        let shown = shown.map(Version::digest);
        let decision = Decision { keep, shown };
        self.policy.resolve.insert(article(name), decision);
    }

    /// Parks the first action of the plan, as refused by the service.
    pub(super) fn refuse_first(&mut self, reason: &str) {
        let plan = self.plan();
        let action = &plan.actions[0];
        let parked = Parked {
            key: action.key(),
            fingerprint: action.fingerprint(),
            reason: reason.to_owned(),
            is_for_person: false,
            at: Timestamp::default(),
        };
        self.facts.parked.insert(action.key(), parked);
    }

    pub(super) fn new(base: &str, local: &str, remote: &str) -> Self {
        let mut world = Self {
            base: Base::default(),
            local: LocalSnapshot {
                complete: true,
                ..LocalSnapshot::default()
            },
            remote: RemoteSnapshot {
                complete: true,
                ..RemoteSnapshot::default()
            },
            policy: Policy {
                direction: Direction::Both,
                on_conflict: OnConflict::Hold,
                scope: Scope::default(),
                new_articles: Flags::SHOWN,
                resolve: BTreeMap::new(),
                wanted_categories: BTreeSet::new(),
            },
            bodies: Bodies::new(),
            facts: facts(),
            categories: BTreeMap::new(),
            names: BTreeMap::new(),
            rewrites: false,
            writes: 0,
        };
        world.read_base(base);
        world.read_local(local);
        world.read_remote(remote);
        world.refresh();
        world
    }

    pub(super) fn direction(mut self, direction: Direction) -> Self {
        self.policy.direction = direction;
        self
    }

    pub(super) fn on_conflict(mut self, on_conflict: OnConflict) -> Self {
        self.policy.on_conflict = on_conflict;
        self
    }

    pub(super) fn scope(mut self, path: &str) -> Self {
        self.policy.scope.add(path);
        self
    }

    /// The base row of an article.
    pub(super) fn row(&mut self, name: &str) -> &mut ArticleRow {
        self.base.articles.get_mut(&article(name)).expect("a row")
    }

    /// Returns the file of an article, or the new file of this name.
    pub(super) fn file_of(&mut self, name: &str) -> &mut LocalFile {
        let id = article(name);
        self.local
            .files
            .iter_mut()
            .find(|file| file.id == Some(id) || file.place.stem() == name)
            .expect("a file")
    }

    fn shown(&mut self, name: &str) -> &mut Seen {
        match self.remote.articles.get_mut(&article(name)) {
            Some(Remote::Present(seen)) => seen,
            other => panic!("{name} is not there: {other:?}"),
        }
    }

    /// Returns the service's answer about an article.
    pub(super) fn remote_version(&mut self, name: &str) -> Version {
        self.shown(name).version.clone()
    }

    /// Sets the revision of an article on the service.
    pub(super) fn set_revision(&mut self, name: &str, mark: &str) {
        self.shown(name).revision = revision(mark);
    }

    fn named(&mut self, name: &str, uuid: Uuid) {
        let known = uuid.to_string();
        self.names
            .insert(format!("~{}", &known[..8]), format!("~#{name}"));
        self.names.insert(known, format!("#{name}"));
    }

    /// Stores a body, and returns its digest.
    fn text(&mut self, words: &str) -> TextDigest {
        let body = body(words);
        let digest = TextDigest::of(&body);
        self.bodies.insert(digest, body.into());
        digest
    }

    fn change(&mut self, version: &mut Version, entry: &Entry<'_>) {
        for (key, field) in [
            ("title", &mut version.title),
            ("slug", &mut version.slug),
            ("intro", &mut version.introtext),
        ] {
            if let Some(value) = entry.get(key) {
                value.clone_into(field);
            }
        }
        if let Some(words) = entry.get("text") {
            version.text = self.text(words);
        }
    }

    fn plain(&mut self, entry: &Entry<'_>, category: CategoryId) -> Version {
        let mut version = Version {
            title: entry.name.to_uppercase(),
            slug: entry.name.to_owned(),
            category,
            introtext: String::new(),
            keywords: String::new(),
            text: self.text("one+two+three"),
        };
        self.change(&mut version, entry);
        version
    }

    fn category_words(version: &mut CategoryVersion, entry: &Entry<'_>) {
        for (key, field) in [
            ("name", &mut version.name),
            ("slug", &mut version.slug),
            ("intro", &mut version.description),
        ] {
            if let Some(value) = entry.get(key) {
                value.clone_into(field);
            }
        }
    }

    fn base_category(&mut self, entry: &Entry<'_>) {
        let folder = entry.name.trim_end_matches('/');
        let id = category(folder);
        self.named(folder, id.uuid());
        let mut version = CategoryVersion {
            name: path::readable(folder),
            slug: folder.to_owned(),
            ..CategoryVersion::default()
        };
        Self::category_words(&mut version, entry);
        let row = CategoryRow {
            id,
            folder: (!entry.has("-")).then(|| entry.get("folder").unwrap_or(folder).to_owned()),
            local: version.clone(),
            remote: version.clone(),
            revision: revision("r0"),
            read_at: Timestamp(0),
            stamp: None,
        };
        self.categories.insert(id, (version, revision("r0")));
        self.base.categories.insert(id, row);
    }

    fn read_base(&mut self, line: &str) {
        let entries = Entry::all(line);
        for entry in entries.iter().filter(|entry| entry.name.ends_with('/')) {
            self.base_category(entry);
        }
        for entry in entries.iter().filter(|entry| !entry.name.ends_with('/')) {
            let folder = entry.get("in").unwrap_or("start");
            if !self.base.categories.contains_key(&category(folder)) {
                self.base_category(&Entry {
                    name: folder,
                    words: Vec::new(),
                });
            }
            let folder_name = self.base.categories[&category(folder)]
                .folder
                .clone()
                .unwrap_or_else(|| folder.to_owned());
            let id = article(entry.name);
            self.named(entry.name, id.uuid());
            let version = self.plain(entry, category(folder));
            let unpublished = entry.has("unpublished");
            let flags = Flags {
                enabled: Some(!unpublished),
                draft: Some(false),
            };
            let file_flags = Flags {
                enabled: unpublished.then_some(false),
                draft: None,
            };
            let row = ArticleRow {
                id,
                place: Place::new(
                    folder_name,
                    format!("{}.html", entry.get("file").unwrap_or(&version.slug)),
                ),
                local: version.clone(),
                remote: version,
                revision: revision("r0"),
                file_flags,
                remote_flags: flags,
                visibility: if unpublished {
                    Visibility::Unpublished
                } else {
                    Visibility::Published
                },
                stamp: None,
                superseded: Vec::new(),
                written: None,
            };
            if entry.has("creating") {
                self.base.creations.push(Creation {
                    request: 0,
                    place: row.place.clone(),
                    first: Sent {
                        version: row.local.clone(),
                        flags: Flags::default(),
                    },
                    later: Vec::new(),
                    row: entry.has("made").then(|| Box::new(row)),
                    unclear: None,
                });
                continue;
            }
            self.base.articles.insert(id, row);
        }
    }

    fn read_local(&mut self, line: &str) {
        let entries = Entry::all(line);
        let of = |name: &str| {
            entries
                .iter()
                .find(|entry| entry.name.trim_end_matches('/') == name)
        };
        let mut folders: BTreeMap<CategoryId, String> = BTreeMap::new();
        for row in self.base.categories.values() {
            let name = self.names[&row.id.to_string()].trim_start_matches('#');
            let entry = of(name).cloned().unwrap_or_default();
            let Some(was) = row.folder.as_deref().filter(|_| !entry.has("-")) else {
                continue;
            };
            let folder = entry.get("folder").unwrap_or(was);
            let mut version = row.local.clone();
            if folder != was && version.slug == was {
                folder.clone_into(&mut version.slug);
            }
            Self::category_words(&mut version, &entry);
            if entry.has("?") {
                self.local.unready_categories.insert(folder.to_owned());
            }
            let silent = entry.has("?") || entry.has("noyaml");
            self.local.categories.push(LocalCategory {
                folder: folder.to_owned(),
                id: (!silent).then_some(row.id),
                version: (!silent).then_some(version),
            });
            folders.insert(row.id, folder.to_owned());
        }
        for entry in entries.iter().filter(|entry| entry.name.ends_with('/')) {
            let name = entry.name.trim_end_matches('/');
            if self.base.categories.contains_key(&category(name)) {
                continue;
            }
            let mut version = CategoryVersion {
                name: path::readable(name),
                slug: name.to_owned(),
                ..CategoryVersion::default()
            };
            Self::category_words(&mut version, entry);
            let silent = entry.has("noyaml");
            if let Some(other) = entry.get("id") {
                self.named(other, category(other).uuid());
            }
            self.local.categories.push(LocalCategory {
                folder: entry.get("folder").unwrap_or(name).to_owned(),
                id: entry.get("id").map(category),
                version: (!silent).then_some(version),
            });
        }
        let rows: Vec<ArticleRow> = self.base.articles.values().cloned().collect();
        for row in rows {
            let name = self.names[&row.id.to_string()]
                .trim_start_matches('#')
                .to_owned();
            let entry = of(&name).cloned().unwrap_or_default();
            let folder = entry
                .get("in")
                .map(str::to_owned)
                .or_else(|| folders.get(&row.local.category).cloned());
            let Some(folder) = folder else { continue };
            self.local_file(&entry, &folder, Some(&row));
        }
        for entry in &entries {
            let known = self.base.articles.contains_key(&article(entry.name));
            if !known && !entry.name.ends_with('/') {
                let folder = entry.get("in").unwrap_or("start").to_owned();
                self.local_file(entry, &folder, None);
            }
        }
        for file in &self.local.files {
            let folder = &file.place.folder;
            if !self
                .local
                .categories
                .iter()
                .any(|known| known.folder == *folder)
            {
                self.local.categories.push(LocalCategory {
                    folder: folder.clone(),
                    id: None,
                    version: None,
                });
            }
        }
    }

    fn local_file(&mut self, entry: &Entry<'_>, folder: &str, row: Option<&ArticleRow>) {
        if entry.has("-") {
            return;
        }
        let mut version = match row {
            Some(row) => row.local.clone(),
            None => self.plain(entry, CategoryId::provisional(folder)),
        };
        self.change(&mut version, entry);
        let renamed = row.is_none_or(|row| row.local.slug != version.slug);
        let stem = match (entry.get("file"), row) {
            (Some(stem), _) => stem.to_owned(),
            (None, Some(row)) if !renamed => row.place.stem().to_owned(),
            (None, _) => version.slug.clone(),
        };
        if entry.get("file").is_some() && entry.get("slug").is_none() && !entry.has("key") {
            version.slug.clone_from(&stem);
        }
        let place = Place::new(folder, format!("{stem}.html"));
        let id = match entry.get("id") {
            Some(other) => {
                self.named(other, article(other).uuid());
                Some(article(other))
            }
            None => row.map(|row| row.id),
        };
        let id = id.filter(|_| !entry.has("noid"));
        if entry.has("?") {
            self.local.unknown.push(Unknown { place, id });
            return;
        }
        let flags = entry.flags(row.map_or(Flags::default(), |row| row.file_flags));
        let flags = Flags {
            enabled: flags.enabled.filter(|_| !entry.has("noline")),
            draft: flags.draft.filter(|_| !entry.has("noline")),
        };
        self.local.files.push(LocalFile {
            place,
            id,
            version,
            flags,
        });
    }

    fn read_remote(&mut self, line: &str) {
        let entries = Entry::all(line);
        for entry in entries.iter().filter(|entry| entry.name.ends_with('/')) {
            let name = entry.name.trim_end_matches('/');
            self.remote_category(name, entry);
        }
        let ids: Vec<ArticleId> = self.base.articles.keys().copied().collect();
        for id in ids {
            let name = self.names[&id.to_string()]
                .trim_start_matches('#')
                .to_owned();
            let entry = entries.iter().find(|entry| entry.name == name).cloned();
            self.remote_article(id, &entry.unwrap_or_default());
        }
        for entry in &entries {
            let id = article(entry.name);
            if !entry.name.ends_with('/') && !self.base.articles.contains_key(&id) {
                self.named(entry.name, id.uuid());
                self.remote_article(id, entry);
            }
        }
    }

    fn remote_category(&mut self, name: &str, entry: &Entry<'_>) {
        let id = category(name);
        self.named(name, id.uuid());
        let mut version = self.base.categories.get(&id).map_or_else(
            || CategoryVersion {
                name: path::readable(name),
                slug: name.to_owned(),
                ..CategoryVersion::default()
            },
            |row| row.remote.clone(),
        );
        Self::category_words(&mut version, entry);
        let seen = (version, revision("r1"));
        self.categories.insert(id, seen);
    }

    fn remote_article(&mut self, id: ArticleId, entry: &Entry<'_>) {
        if entry.has("-") {
            return;
        }
        let row = self.base.articles.get(&id).cloned();
        let folder = entry.get("in");
        if let Some(folder) = folder
            && !self.categories.contains_key(&category(folder))
            && entry.has("unread-category")
        {
            self.named(folder, category(folder).uuid());
        } else if let Some(folder) = folder
            && !self.categories.contains_key(&category(folder))
        {
            self.remote_category(folder, &Entry::default());
        }
        let home = folder.unwrap_or("start");
        let mut version = match &row {
            Some(row) => row.remote.clone(),
            None => self.plain(entry, category(home)),
        };
        if row.is_none() && !self.categories.contains_key(&category(home)) && folder.is_none() {
            self.remote_category(home, &Entry::default());
        }
        self.change(&mut version, entry);
        if let Some(folder) = folder {
            version.category = category(folder);
        }
        let unpublished = entry.has("unpublished")
            || (row
                .as_ref()
                .is_some_and(|row| row.visibility == Visibility::Unpublished)
                && !entry.has("published"));
        let known = Flags {
            enabled: Some(false),
            draft: Some(false),
        };
        let flags = entry.flags(if unpublished { known } else { Flags::default() });
        let same = row.as_ref().is_some_and(|row| row.remote == version)
            && !entry.has("rev")
            && !entry.has("published")
            && unpublished
                == row
                    .as_ref()
                    .is_some_and(|row| row.visibility == Visibility::Unpublished);
        let seen = Seen {
            version,
            revision: revision(if same { "r0" } else { "r1" }),
            flags,
            visibility: if unpublished {
                Visibility::Unpublished
            } else {
                Visibility::Published
            },
        };
        let said = if entry.has("gone") {
            Remote::Gone
        } else if entry.has("hidden") {
            Remote::NotVisible("403 Forbidden".to_owned())
        } else if entry.has("unread") {
            Remote::Unknown("its body was not read".to_owned())
        } else {
            Remote::Present(seen)
        };
        self.remote.articles.insert(id, said);
    }

    /// Updates the derived parts: names in the mirror, and categories to read.
    pub(super) fn refresh(&mut self) {
        let local = &mut self.local;
        local.names.clear();
        local.top = local
            .categories
            .iter()
            .map(|category| path::fold(&category.folder))
            .collect();
        let mut name = |place: &Place| {
            local.top.insert(path::fold(&place.folder));
            local
                .names
                .entry(place.folder.clone())
                .or_default()
                .insert(path::fold(&place.file));
        };
        local.files.iter().for_each(|file| name(&file.place));
        local
            .unknown
            .iter()
            .for_each(|unknown| name(&unknown.place));
        local.copies.keys().for_each(&mut name);
        for category in local
            .categories
            .iter()
            .filter(|category| category.version.is_some())
        {
            name(&Place::new(&category.folder, CATEGORY_FILE));
        }
        local
            .files
            .sort_by(|one, other| one.place.cmp(&other.place));
        local
            .categories
            .sort_by(|one, other| one.folder.cmp(&other.folder));
        self.remote.categories = self
            .categories
            .iter()
            .filter(|(id, (version, revision))| {
                self.base
                    .categories
                    .get(id)
                    .is_none_or(|row| row.remote != *version || row.revision != *revision)
            })
            .map(|(id, seen)| (*id, seen.clone()))
            .collect();
        self.facts.deletions.articles = self.base.articles.len().max(100);
    }

    pub(super) fn paired(&self) -> Paired {
        pairing::pair(&self.base, &self.local, &self.remote)
    }

    /// Returns the guarded and ordered plan, after asserting the laws of all plans.
    pub(super) fn plan(&self) -> Plan {
        let paired = self.paired();
        let world = World {
            out_of_reach: &|_| false,
            base: &self.base,
            local: &self.local,
            paired: &paired,
            remote: &self.remote,
            bodies: &self.bodies,
            policy: &self.policy,
        };
        let mut plan = reconcile::reconcile(world);
        reconcile::guard::hold(&mut plan, &self.facts);
        reconcile::order::arrange(&mut plan, world.base, world.remote);
        super::laws::check(self, &paired, &plan);
        plan
    }

    /// Returns the plan as text, with names in place of ids.
    pub(super) fn text_of(&self, plan: &Plan) -> String {
        let mut text = plan.to_string();
        for (id, name) in &self.names {
            text = text.replace(id, name);
        }
        text
    }

    pub(super) fn planned(&self) -> String {
        self.text_of(&self.plan())
    }
}

fn facts() -> Facts {
    Facts {
        deletions: Deletions {
            articles: 100,
            ..Deletions::default()
        },
        ..Facts::default()
    }
}

/// Returns the settlements of a plan, reported or not.
pub(super) fn settles(plan: &Plan) -> impl Iterator<Item = &Settle> {
    plan.actions
        .iter()
        .filter_map(|action| {
            if let Step::Settle(settle) = &action.step {
                Some(&**settle)
            } else {
                None
            }
        })
        .chain(&plan.records)
}

/// Returns the first conflict of a plan.
pub(super) fn conflict(plan: &Plan) -> Option<&Conflict> {
    plan.actions.iter().find_map(|action| {
        if let Step::Conflict(conflict) = &action.step {
            Some(&**conflict)
        } else {
            None
        }
    })
}

/// Returns a plan's lines on one line, without the reasons of holds.
pub(super) fn short(plan: &str) -> String {
    let lines: Vec<String> = plan
        .lines()
        .map(|line| match line.split_once(", held: ") {
            Some((action, _)) => format!("{action}, held"),
            None => line.to_owned(),
        })
        .collect();
    lines.join("; ")
}

/// Checks rows of base, local, remote and plan, without the reasons of holds; reports all differences.
pub(super) fn table(rows: &[[&str; 4]]) {
    table_for(rows, |world| world);
}

/// Checks rows in the same way, after a change to each world.
pub(super) fn table_for(rows: &[[&str; 4]], change: impl Fn(Small) -> Small) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|[base, local, remote, wanted]| {
            let plan = short(&change(Small::new(base, local, remote)).planned());
            (plan != *wanted).then(|| {
                format!("[{base:?}, {local:?}, {remote:?}]\n  wanted {wanted:?}\n  got    {plan:?}")
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
