//! People keep working on both sides between cycles in any direction, and settle their conflicts by hand.
//!
//! Every cycle must obey the laws, and the model of the engine must be able to apply every plan; in the end both sides
//! come to rest.

use super::small::{Small, article, body, revision};
use super::worlds::settle;
use crate::model::base::Visibility;
use crate::model::path::fold;
use crate::model::{ArticleId, CategoryId, Flags, Place, TextDigest, Version};
use crate::reconcile::snapshot::{
    Direction, LocalCategory, LocalFile, OnConflict, Remote, Seen, Unknown,
};
use proptest::prelude::*;

/// An act of a writer or a colleague.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Title,
    Block,
    Rename,
    Move,
    Remove,
    DropId,
    Copy,
    Toggle,
    New,
    BreakOrMend,
    RenameFolder,
    DropCopy,
    RenameWithCopy,
    ThereTitle,
    ThereBlock,
    ThereSlug,
    ThereMove,
    ThereDelete,
    ThereHide,
    ThereNew,
    ThereFolder,
    Cycle,
}

const DEEDS: [Deed; 22] = [
    Deed::Title,
    Deed::Block,
    Deed::Rename,
    Deed::Move,
    Deed::Remove,
    Deed::DropId,
    Deed::Copy,
    Deed::Toggle,
    Deed::New,
    Deed::BreakOrMend,
    Deed::RenameFolder,
    Deed::DropCopy,
    Deed::RenameWithCopy,
    Deed::ThereTitle,
    Deed::ThereBlock,
    Deed::ThereSlug,
    Deed::ThereMove,
    Deed::ThereDelete,
    Deed::ThereHide,
    Deed::ThereNew,
    Deed::ThereFolder,
    Deed::Cycle,
];

const SLUGS: [&str; 6] = ["a", "b", "c", "x", "y", "B"];
const FOLDERS: [&str; 6] = ["one", "two", "uno", "due", "One", "new"];

impl Small {
    /// Performs a deed: `which` selects the file or article, `what` the change. An impossible deed is skipped.
    fn deed(&mut self, deed: Deed, which: usize, what: usize) -> Option<()> {
        self.writes += 1;
        match deed {
            Deed::Title => self.file(which)?.version.title = format!("T{}", self.writes),
            Deed::Block => {
                let text = self.append(self.local.files.get(which)?.version.text, what);
                self.file(which)?.version.text = text;
            }
            Deed::Rename => self.rename(which, SLUGS[what])?,
            Deed::Move => self.move_to(which, FOLDERS[what])?,
            Deed::Remove => {
                self.file(which)?;
                self.local.files.remove(which);
            }
            Deed::DropId => self.file(which)?.id = None,
            Deed::Copy => self.copy(which)?,
            Deed::Toggle => {
                let flags = &mut self.file(which)?.flags;
                flags.enabled = (flags.enabled != Some(false)).then_some(false);
            }
            Deed::New => self.new_file(SLUGS[what])?,
            Deed::BreakOrMend => self.break_or_mend(which)?,
            Deed::RenameFolder => self.rename_category(which, FOLDERS[what])?,
            Deed::DropCopy => {
                let place = self.local.copies.keys().nth(which)?.clone();
                self.local.copies.remove(&place);
            }
            Deed::RenameWithCopy => self.rename_with_copy(which)?,
            Deed::ThereTitle => {
                let title = format!("R{}", self.writes);
                self.there(which, |seen| seen.version.title = title)?;
            }
            Deed::ThereBlock => {
                let text = self.seen(which)?.1.version.text;
                let text = self.append(text, what);
                self.there(which, |seen| seen.version.text = text)?;
            }
            Deed::ThereSlug => {
                let (id, seen) = self.seen(which)?;
                let home = seen.version.category;
                self.free(id, home, SLUGS[what])?;
                self.there(which, |seen| SLUGS[what].clone_into(&mut seen.version.slug))?;
            }
            Deed::ThereMove => {
                let to = *self.categories.keys().nth(what)?;
                let (id, seen) = self.seen(which)?;
                let slug = seen.version.slug.clone();
                self.free(id, to, &slug)?;
                self.there(which, |seen| seen.version.category = to)?;
            }
            Deed::ThereDelete => {
                let id = self.seen(which)?.0;
                self.remote.articles.insert(id, Remote::Gone);
            }
            Deed::ThereHide => self.there(which, hide_or_show)?,
            Deed::ThereNew => self.new_article(which, SLUGS[what])?,
            Deed::ThereFolder => self.readdress(which, FOLDERS[what])?,
            Deed::Cycle => {
                let directions = [Direction::Both, Direction::Pull, Direction::Push];
                self.policy.direction = directions[what % 3];
                let plan = self.plan();
                self.apply(&plan);
                self.policy.direction = Direction::Both;
            }
        }
        self.refresh();
        Some(())
    }

    fn file(&mut self, which: usize) -> Option<&mut LocalFile> {
        self.local.files.get_mut(which)
    }

    /// Adds a word to one block of a body.
    fn append(&mut self, digest: TextDigest, block: usize) -> TextDigest {
        let text = self.bodies[&digest].to_string();
        let mut blocks: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let block = block % blocks.len();
        blocks[block] = blocks[block].replace("</p>", &format!(" w{}</p>", self.writes));
        self.knows(&blocks.join("\n"))
    }

    fn knows(&mut self, text: &str) -> TextDigest {
        let digest = TextDigest::of(text);
        self.bodies.insert(digest, text.into());
        digest
    }

    /// Returns `Some` if a place is free.
    fn vacant(&self, place: &Place) -> Option<()> {
        let name = |place: &Place| (fold(&place.folder), fold(&place.file));
        let files = self.local.files.iter().map(|file| &file.place);
        files
            .chain(self.local.unknown.iter().map(|unknown| &unknown.place))
            .chain(self.local.copies.keys())
            .all(|other| name(other) != name(place))
            .then_some(())
    }

    fn rename(&mut self, which: usize, slug: &str) -> Option<()> {
        let place = self.file(which)?.place.clone();
        let to = Place::new(&place.folder, format!("{slug}.html"));
        self.vacant(&to)?;
        let file = self.file(which)?;
        if file.version.slug == place.stem() {
            slug.clone_into(&mut file.version.slug);
        }
        file.place = to;
        Some(())
    }

    fn move_to(&mut self, which: usize, folder: &str) -> Option<()> {
        let to = Place::new(folder, &self.file(which)?.place.file);
        self.vacant(&to)?;
        let known = &self.local.categories;
        let there = known.iter().any(|category| category.folder == folder);
        if !there {
            // On some file systems, this name would be that of another folder.
            (!self.local.top.contains(&fold(folder))).then_some(())?;
            self.local.categories.push(LocalCategory {
                folder: folder.to_owned(),
                id: None,
                version: None,
            });
        }
        self.file(which)?.place = to;
        Some(())
    }

    fn copy(&mut self, which: usize) -> Option<()> {
        let mut copy = self.file(which)?.clone();
        let slug = format!("copy{}", self.writes);
        copy.place.file = format!("{slug}.html");
        copy.version.slug = slug;
        self.local.files.push(copy);
        Some(())
    }

    fn new_file(&mut self, slug: &str) -> Option<()> {
        let folder = self.local.categories.first()?.folder.clone();
        let place = Place::new(&folder, format!("{slug}.html"));
        self.vacant(&place)?;
        let version = Version {
            title: format!("New {}", self.writes),
            slug: slug.to_owned(),
            category: CategoryId::provisional(&folder),
            introtext: String::new(),
            keywords: String::new(),
            text: self.knows(""),
        };
        self.local.files.push(LocalFile {
            place,
            id: None,
            version,
            flags: Flags::default(),
        });
        Some(())
    }

    fn break_or_mend(&mut self, which: usize) -> Option<()> {
        let Some(unknown) = self.local.unknown.pop() else {
            self.file(which)?;
            let file = self.local.files.remove(which);
            self.local.unknown.push(Unknown {
                place: file.place,
                id: file.id,
            });
            return Some(());
        };
        let row = self.base.articles.get(&unknown.id?)?;
        self.local.files.push(LocalFile {
            place: unknown.place,
            id: unknown.id,
            version: row.local.clone(),
            flags: row.file_flags,
        });
        Some(())
    }

    fn rename_category(&mut self, which: usize, to: &str) -> Option<()> {
        let category = self.local.categories.get(which)?.clone();
        (!self.local.top.contains(&fold(to))).then_some(())?;
        let rows = self.base.articles.clone();
        self.rename_folder(&category.folder, to);
        self.base.articles = rows;
        let follows = category
            .version
            .is_some_and(|version| version.slug == category.folder);
        let renamed = self.local_category(to);
        if let Some(version) = renamed.version.as_mut().filter(|_| follows) {
            to.clone_into(&mut version.slug);
        }
        Some(())
    }

    fn rename_with_copy(&mut self, which: usize) -> Option<()> {
        let (copy, names) = self.local.copies.iter().nth(which)?;
        let (copy, id) = (copy.clone(), (*names)?);
        let stem = format!("moved{}", self.writes);
        let beside = |file: &&mut LocalFile| {
            let name = format!("{}.conflict.html", file.place.stem());
            file.id == Some(id) && copy == Place::new(&file.place.folder, name)
        };
        let file = self.local.files.iter_mut().find(beside)?;
        file.place.file = format!("{stem}.html");
        file.version.slug.clone_from(&stem);
        let to = Place::new(&copy.folder, format!("{stem}.conflict.html"));
        self.local.copies.remove(&copy);
        self.local.copies.insert(to, Some(id));
        Some(())
    }

    /// Returns an article that is present on the service.
    fn seen(&mut self, which: usize) -> Option<(ArticleId, &mut Seen)> {
        let entries = self.remote.articles.iter_mut();
        entries
            .filter_map(|(id, entry)| match entry {
                Remote::Present(seen) => Some((*id, seen)),
                Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) | Remote::Foreign => None,
            })
            .nth(which)
    }

    /// Changes an article on the service, with a new revision.
    fn there(&mut self, which: usize, change: impl FnOnce(&mut Seen)) -> Option<()> {
        let mark = revision(&format!("h{}", self.writes));
        let (_, seen) = self.seen(which)?;
        change(seen);
        seen.revision = mark;
        Some(())
    }

    /// Returns `Some` if an address is free.
    fn free(&self, but: ArticleId, home: CategoryId, slug: &str) -> Option<()> {
        let has = |entry: &Remote| {
            matches!(entry, Remote::Present(seen)
                if seen.version.category == home && seen.version.slug == slug)
        };
        let mut others = self.remote.articles.iter().filter(|(id, _)| **id != but);
        others.all(|(_, entry)| !has(entry)).then_some(())
    }

    fn new_article(&mut self, which: usize, slug: &str) -> Option<()> {
        let home = *self.categories.keys().nth(which)?;
        let name = format!("there{}", self.writes);
        let id = article(&name);
        self.free(id, home, slug)?;
        let seen = Seen {
            version: Version {
                title: name.clone(),
                slug: slug.to_owned(),
                category: home,
                introtext: String::new(),
                keywords: String::new(),
                text: self.knows(&body("there")),
            },
            revision: revision("h"),
            flags: Flags::default(),
            visibility: Visibility::Published,
        };
        self.names.insert(id.to_string(), format!("#{name}"));
        self.remote.articles.insert(id, Remote::Present(seen));
        Some(())
    }

    fn readdress(&mut self, which: usize, slug: &str) -> Option<()> {
        let mut known = self.categories.values();
        known
            .all(|(version, _)| version.slug != slug)
            .then_some(())?;
        let mark = revision(&format!("h{}", self.writes));
        let (version, revision) = self.categories.values_mut().nth(which)?;
        slug.clone_into(&mut version.slug);
        *revision = mark;
        Some(())
    }
}

fn hide_or_show(seen: &mut Seen) {
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
}

proptest! {
    #[test]
    fn both_sides_come_to_rest(
        deeds in prop::collection::vec((0..30_usize, 0..4_usize, 0..6_usize), 1..16),
        hold in any::<bool>(),
        rewrites in any::<bool>(),
    ) {
        let mut world = Small::new("one/; two/; a in=one; b in=one; c in=two", "", "");
        world.rewrites = rewrites;
        if !hold {
            world.policy.on_conflict = OnConflict::Local;
        }
        for (deed, which, what) in deeds {
            // Every fourth deed is a cycle.
            let deed = DEEDS.get(deed).copied().unwrap_or(Deed::Cycle);
            world.deed(deed, which, what);
        }
        settle(&mut world);
    }
}
