//! One rule for every end: what is held, with a sentence for a person and both versions reachable, is as it should be.
//!
//! That both versions are reachable is I1. Here is what a report tells, article by article, and whether that covers what
//! differs between the sides (I12). Of two runs that are compared, what either of them holds is left out.

use super::oracle::{self, Difference};
use super::run::Outcome;
use super::world::{World, id_of};
use kbsync::engine::report::{Report, Status};
use kbsync::model::ArticleId;
use kbsync::state::Store;
use std::collections::{BTreeMap, BTreeSet};

/// What waits, by article and by path.
#[derive(Clone, Default, Debug)]
pub(crate) struct Held {
    pub(crate) ids: BTreeSet<ArticleId>,
    paths: BTreeSet<String>,
}

impl Held {
    /// What a report tells of as not done: the articles, those whose address or file is told of, and those without a
    /// file in a category that is told of.
    pub(crate) fn of(world: &World, report: &Report) -> Self {
        let waits = report.actions.iter();
        let waits = waits.filter(|line| line.status != Status::Done);
        let told = waits.map(|line| (line.id, &line.path));
        let problems = report.problems.iter();
        let mut held = Self::default();
        for (id, path) in told.chain(problems.map(|problem| (problem.id, &problem.path))) {
            let (folder, name) = path.split_once('/').unwrap_or((path, ""));
            let bytes = world.mirror.bytes(folder, name);
            held.ids.extend(id);
            held.ids.extend(bytes.and_then(|bytes| id_of(&bytes)));
            held.paths.insert(path.clone());
            let category = world.category_of(folder);
            let all = world.kb.articles.values();
            let there = all.filter(|article| category == Some(article.category));
            let whole = name == "_category.yaml";
            let filed = if whole {
                world.ids_in_mirror()
            } else {
                BTreeMap::default()
            };
            let told = there.filter(|article| {
                let at_its_address = name.strip_suffix(".html") == Some(&article.slug);
                at_its_address || whole && !filed.contains_key(&article.id)
            });
            held.ids.extend(told.map(|article| article.id));
        }
        held
    }

    /// Adds what differs between the sides.
    pub(crate) fn add(&mut self, different: Vec<Difference>) {
        for (id, path, _) in different {
            self.ids.extend(id);
            self.paths.extend(path.split(' ').map(str::to_owned));
        }
    }

    /// Returns whether it covers a difference between the sides. `home` is the article's place by the base.
    fn covers(&self, (id, path, _): &Difference, home: Option<&str>) -> bool {
        // A file that cannot be read has no id, and its folder may have another name by now.
        let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
        let named = |wanted: &str| self.paths.iter().any(|path| name(path) == name(wanted));
        id.is_some_and(|id| self.ids.contains(&id))
            || path.split(' ').any(|path| self.covers_path(path))
            || named(path)
            || home.is_some_and(named)
    }

    fn covers_path(&self, path: &str) -> bool {
        let folder = path.split('/').next().unwrap_or_default();
        let category = format!("{folder}/_category.yaml");
        [path, folder, &category]
            .iter()
            .any(|path| self.paths.contains(*path))
    }

    /// What either of two runs holds.
    pub(crate) fn of_both(first: &Outcome, second: &Outcome) -> Self {
        let mut held = first.held.clone();
        held.ids.extend(&second.held.ids);
        held.paths.extend(second.held.paths.iter().cloned());
        for line in first.end.iter().chain(&second.end) {
            if let Some((path, text)) = line.split_once(": ")
                && held.covers_path(path)
            {
                held.ids.extend(id_of(text.as_bytes()));
            }
        }
        held
    }

    /// Returns whether a line of how a run ended is about something that is held.
    pub(crate) fn has(&self, line: &str) -> bool {
        let path = line.split(": ").next().unwrap_or_default();
        self.covers_path(path) || self.ids.iter().any(|id| line.contains(&id.to_string()))
    }
}

/// I12: what is not equal is told, article by article, and what is held is told in words.
pub(crate) fn i12_told(world: &mut World, store: &Store, report: &Report) {
    let mute = report.actions.iter().find(|line| {
        let says = line
            .reason
            .as_ref()
            .is_some_and(|reason| !reason.is_empty());
        line.status == Status::Held && !says
    });
    if let Some(line) = mute {
        let message = format!("{} is held without a word: {line:?}", line.path);
        world.violated("I12", message);
    }
    let held = Held::of(world, report);
    let rows = store.articles().expect("the state is readable");
    let places = rows.into_iter().map(|row| (row.id, row.place.to_string()));
    let places: BTreeMap<ArticleId, String> = places.collect();
    for difference in oracle::differences(world, store) {
        let home = difference.0.and_then(|id| places.get(&id));
        let told = held.covers(&difference, home.map(String::as_str));
        if !told && !oracle::is_unknown(world, &difference) {
            let (id, path, what) = difference;
            world.violated(
                "I12",
                format!(
                    "{path} ({}): {what}, and the report says nothing of it (it ended {:?})",
                    id.map(|id| id.to_string()).unwrap_or_default(),
                    report.outcome
                ),
            );
        }
    }
}
