//! People go on working on both sides, between cycles that go either way.

use super::small::{Small, article, category, revision};
use super::worlds::settle;
use crate::model::base::Visibility;
use crate::model::path::fold;
use crate::model::{ArticleId, Flags, Place, TextDigest};
use crate::reconcile::plan::Key;
use crate::reconcile::snapshot::{Direction, LocalFile, OnConflict, Remote, Seen};
use proptest::prelude::*;

/// What somebody does, to the file or article that the number stands for.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Title(usize),
    Block(usize, usize),
    Rename(usize, usize),
    Move(usize, usize),
    Remove(usize),
    DropId(usize),
    Copy(usize),
    Toggle(usize),
    New(usize),
    Unready(usize),
    RenameFolder(usize, usize),
    DropCopy(usize),
    RenameBoth(usize),
    ThereTitle(usize),
    ThereBlock(usize, usize),
    ThereSlug(usize, usize),
    ThereMove(usize, usize),
    ThereDelete(usize),
    ThereHide(usize),
    ThereNew(usize, usize),
    ThereFolder(usize, usize),
    Cycle(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    use Deed::*;
    let n = || 0..6_usize;
    prop_oneof![
        1 => n().prop_map(Title),
        1 => (n(), n()).prop_map(|(a, b)| Block(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Rename(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Move(a, b)),
        1 => n().prop_map(Remove),
        1 => n().prop_map(DropId),
        1 => n().prop_map(Copy),
        1 => n().prop_map(Toggle),
        1 => n().prop_map(New),
        1 => n().prop_map(Unready),
        1 => (n(), n()).prop_map(|(a, b)| RenameFolder(a, b)),
        1 => n().prop_map(DropCopy),
        1 => n().prop_map(RenameBoth),
        1 => n().prop_map(ThereTitle),
        1 => (n(), n()).prop_map(|(a, b)| ThereBlock(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| ThereSlug(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| ThereMove(a, b)),
        1 => n().prop_map(ThereDelete),
        1 => n().prop_map(ThereHide),
        1 => (n(), n()).prop_map(|(a, b)| ThereNew(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| ThereFolder(a, b)),
        5 => (0..6_usize).prop_map(Cycle),
    ]
}

const SLUGS: [&str; 6] = ["a", "b", "c", "x", "y", "B"];
const FOLDERS: [&str; 6] = ["one", "two", "uno", "due", "One", "new"];

impl Small {
    fn file(&mut self, number: usize) -> Option<&mut LocalFile> {
        let count = self.local.files.len();
        self.local.files.get_mut(number.checked_rem(count)?)
    }

    fn seen(&mut self, number: usize) -> Option<(ArticleId, &mut Seen)> {
        let present: Vec<ArticleId> = self
            .remote
            .articles
            .iter()
            .filter(|(_, entry)| matches!(entry, Remote::Present(_)))
            .map(|(id, _)| *id)
            .collect();
        let id = *present.get(number.checked_rem(present.len())?)?;
        match self.remote.articles.get_mut(&id) {
            Some(Remote::Present(seen)) => Some((id, seen)),
            _ => None,
        }
    }

    fn free_place(&self, place: &Place) -> bool {
        let name = |place: &Place| (fold(&place.folder), fold(&place.file));
        let places = self.local.files.iter().map(|file| &file.place);
        places
            .chain(self.local.unknown.iter().map(|unknown| &unknown.place))
            .chain(&self.local.copies)
            .all(|other| name(other) != name(place))
    }

    fn append(&mut self, digest: TextDigest, block: usize) -> TextDigest {
        self.writes += 1;
        let text = self.bodies[&digest].to_string();
        let mut blocks: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let block = block % blocks.len();
        blocks[block] = blocks[block].replace("</p>", &format!(" w{}</p>", self.writes));
        let text = blocks.join("\n");
        let digest = TextDigest::of(&text);
        self.bodies.insert(digest, text.into());
        digest
    }

    fn address_free(&self, but: ArticleId, category: crate::model::CategoryId, slug: &str) -> bool {
        self.remote.articles.iter().all(|(id, entry)| {
            *id == but
                || !matches!(entry, Remote::Present(seen) if seen.version.category == category && seen.version.slug == slug)
        })
    }

    fn remote_edit(&mut self, id: ArticleId) {
        self.writes += 1;
        let mark = revision(&format!("h{}", self.writes));
        if let Some(Remote::Present(seen)) = self.remote.articles.get_mut(&id) {
            seen.revision = mark;
        }
    }

    fn do_one(&mut self, deed: Deed) {
        self.writes += 1;
        let mark = self.writes;
        match deed {
            Deed::Title(n) => {
                if let Some(file) = self.file(n) {
                    file.version.title = format!("T{mark}");
                }
            }
            Deed::Block(n, block) => {
                if let Some(text) = self.file(n).map(|file| file.version.text) {
                    let text = self.append(text, block);
                    self.file(n).expect("the same").version.text = text;
                }
            }
            Deed::Rename(n, slug) => {
                let Some(place) = self.file(n).map(|file| file.place.clone()) else {
                    return;
                };
                let to = Place::new(&place.folder, format!("{}.html", SLUGS[slug]));
                if self.free_place(&to) {
                    let file = self.file(n).expect("the same");
                    if file.version.slug == place.stem() {
                        SLUGS[slug].clone_into(&mut file.version.slug);
                    }
                    file.place = to;
                }
            }
            Deed::Move(n, folder) => {
                let Some(place) = self.file(n).map(|file| file.place.clone()) else {
                    return;
                };
                let to = Place::new(FOLDERS[folder], &place.file);
                let known = self.local.top.contains(&fold(FOLDERS[folder]));
                let exact = self
                    .local
                    .categories
                    .iter()
                    .any(|category| category.folder == FOLDERS[folder]);
                if self.free_place(&to) && (exact || !known) {
                    self.file(n).expect("the same").place = to;
                    if !exact {
                        self.local
                            .categories
                            .push(crate::reconcile::snapshot::LocalCategory {
                                folder: FOLDERS[folder].to_owned(),
                                id: None,
                                version: None,
                            });
                    }
                }
            }
            Deed::Remove(n) => {
                if let Some(place) = self.file(n).map(|file| file.place.clone()) {
                    self.local.files.retain(|file| file.place != place);
                }
            }
            Deed::DropId(n) => {
                if let Some(file) = self.file(n) {
                    file.id = None;
                }
            }
            Deed::Copy(n) => {
                if let Some(file) = self.file(n).cloned() {
                    let slug = format!("copy{mark}");
                    let mut copy = file;
                    copy.place = Place::new(&copy.place.folder, format!("{slug}.html"));
                    if copy.version.slug != "kept" {
                        copy.version.slug = slug;
                    }
                    self.local.files.push(copy);
                }
            }
            Deed::Toggle(n) => {
                if let Some(file) = self.file(n) {
                    file.flags.enabled = match file.flags.enabled {
                        Some(true) | None => Some(false),
                        Some(false) => None,
                    };
                }
            }
            Deed::New(n) => {
                let Some(folder) = self.local.categories.first().map(|c| c.folder.clone()) else {
                    return;
                };
                let place = Place::new(&folder, format!("{}.html", SLUGS[n]));
                if self.free_place(&place) {
                    let text = TextDigest::of("");
                    self.bodies.insert(text, "".into());
                    self.local.files.push(LocalFile {
                        place,
                        id: None,
                        version: crate::model::Version {
                            title: format!("New {mark}"),
                            slug: SLUGS[n].to_owned(),
                            category: crate::model::CategoryId::provisional(&folder),
                            introtext: String::new(),
                            keywords: String::new(),
                            text,
                        },
                        flags: Flags::default(),
                    });
                }
            }
            Deed::Unready(n) => {
                // A file breaks, or is repaired.
                if let Some(unknown) = self.local.unknown.pop() {
                    if let Some(id) = unknown.id
                        && let Some(row) = self.base.articles.get(&id)
                    {
                        self.local.files.push(LocalFile {
                            place: unknown.place,
                            id: Some(id),
                            version: row.local.clone(),
                            flags: row.file_flags,
                        });
                    }
                } else if let Some(file) = self.file(n).cloned() {
                    self.local.files.retain(|other| other.place != file.place);
                    self.local.unknown.push(crate::reconcile::snapshot::Unknown {
                        place: file.place,
                        id: file.id,
                    });
                }
            }
            Deed::RenameFolder(n, to) => {
                let count = self.local.categories.len();
                let Some(from) = n
                    .checked_rem(count)
                    .map(|n| self.local.categories[n].folder.clone())
                else {
                    return;
                };
                let to = FOLDERS[to];
                if self.local.top.contains(&fold(to)) {
                    return;
                }
                let follows = self
                    .local
                    .categories
                    .iter()
                    .find(|known| known.folder == from)
                    .and_then(|known| known.version.clone())
                    .is_some_and(|version| version.slug == from);
                let rows = self.base.articles.clone();
                self.rename_folder(&from, to);
                self.base.articles = rows;
                let known = self.local_category(to);
                if let Some(version) = known.version.as_mut().filter(|_| follows) {
                    to.clone_into(&mut version.slug);
                }
            }
            Deed::DropCopy(n) => {
                let count = self.local.copies.len();
                if let Some(n) = n.checked_rem(count) {
                    let place = self.local.copies.iter().nth(n).expect("in range").clone();
                    self.local.copies.remove(&place);
                    self.copies.retain(|_, other| *other != place);
                }
            }
            Deed::RenameBoth(n) => {
                let Some((id, copy)) = self
                    .copies
                    .iter()
                    .nth(n)
                    .map(|(id, copy)| (*id, copy.clone()))
                else {
                    return;
                };
                let to = Place::new(&copy.folder, format!("moved{mark}.conflict.html"));
                if let Some(file) = self.local.files.iter_mut().find(|file| {
                    file.id == Some(id) && format!("{}.conflict.html", file.place.stem()) == copy.file
                        && file.place.folder == copy.folder
                }) {
                    file.place.file = format!("moved{mark}.html");
                    file.version.slug = format!("moved{mark}");
                    self.local.copies.remove(&copy);
                    self.local.copies.insert(to.clone());
                    self.copies.insert(id, to);
                }
            }
            Deed::ThereTitle(n) => {
                if let Some((id, seen)) = self.seen(n) {
                    seen.version.title = format!("R{mark}");
                    self.remote_edit(id);
                }
            }
            Deed::ThereBlock(n, block) => {
                if let Some((id, text)) = self.seen(n).map(|(id, seen)| (id, seen.version.text)) {
                    let text = self.append(text, block);
                    self.seen(n).expect("the same").1.version.text = text;
                    self.remote_edit(id);
                }
            }
            Deed::ThereSlug(n, slug) => {
                if let Some((id, home)) = self.seen(n).map(|(id, seen)| (id, seen.version.category))
                    && self.address_free(id, home, SLUGS[slug])
                {
                    SLUGS[slug].clone_into(&mut self.seen(n).expect("the same").1.version.slug);
                    self.remote_edit(id);
                }
            }
            Deed::ThereMove(n, to) => {
                let Some(to) = self.categories.keys().nth(to % self.categories.len()).copied()
                else {
                    return;
                };
                if let Some((id, slug)) =
                    self.seen(n).map(|(id, seen)| (id, seen.version.slug.clone()))
                    && self.address_free(id, to, &slug)
                {
                    self.seen(n).expect("the same").1.version.category = to;
                    self.remote_edit(id);
                }
            }
            Deed::ThereDelete(n) => {
                if let Some((id, _)) = self.seen(n) {
                    self.remote.articles.insert(id, Remote::Gone);
                }
            }
            Deed::ThereHide(n) => {
                if let Some((id, seen)) = self.seen(n) {
                    if seen.visibility == Visibility::Published {
                        seen.visibility = Visibility::Unpublished;
                        seen.flags = Flags {
                            enabled: Some(false),
                            draft: Some(false),
                        };
                    } else {
                        seen.visibility = Visibility::Published;
                        seen.flags = Flags::default();
                    }
                    self.remote_edit(id);
                }
            }
            Deed::ThereNew(slug, home) => {
                let Some(home) = self
                    .categories
                    .keys()
                    .nth(home % self.categories.len())
                    .copied()
                else {
                    return;
                };
                let name = format!("there{mark}");
                let id = article(&name);
                if self.address_free(id, home, SLUGS[slug]) {
                    let text = TextDigest::of("<p>there</p>");
                    self.bodies.insert(text, "<p>there</p>".into());
                    self.names.insert(id.to_string(), format!("#{name}"));
                    self.remote.articles.insert(
                        id,
                        Remote::Present(Seen {
                            version: crate::model::Version {
                                title: name,
                                slug: SLUGS[slug].to_owned(),
                                category: home,
                                introtext: String::new(),
                                keywords: String::new(),
                                text,
                            },
                            revision: revision(&format!("h{mark}")),
                            flags: Flags::default(),
                            visibility: Visibility::Published,
                        }),
                    );
                }
            }
            Deed::ThereFolder(n, to) => {
                let free = self
                    .categories
                    .values()
                    .all(|(version, _)| version.slug != FOLDERS[to]);
                if let Some(id) = self.categories.keys().nth(n % 4).copied().filter(|_| free) {
                    let (version, mark_) = self.categories.get_mut(&id).expect("there");
                    FOLDERS[to].clone_into(&mut version.slug);
                    *mark_ = revision(&format!("h{mark}"));
                }
            }
            Deed::Cycle(n) => {
                self.refresh();
                self.policy.direction =
                    [Direction::Both, Direction::Pull, Direction::Push][n % 3];
                let plan = self.plan();
                self.apply(&plan);
                self.policy.direction = Direction::Both;
            }
        }
        self.refresh();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("KB_CASES").map_or(256, |n| n.parse().unwrap()), ..ProptestConfig::default() })]

    #[test]
    fn people_go_on_working(deeds in prop::collection::vec(deed(), 1..14), hold in any::<bool>(), rewrites in any::<bool>()) {
        let mut world = Small::new("one/; two/; a in=one; b in=one; c in=two", "", "");
        world.rewrites = rewrites;
        if !hold { world.policy.on_conflict = OnConflict::Local; }
        for deed in &deeds {
            world.do_one(*deed);
        }
        settle(&mut world);
        let _ = (category("x"), Key::Article(article("x")));
    }
}
