//! One rule for every end: a held action with a reason for a person, and with both versions within reach, is a correct
//! end.
//!
//! I1 checks that both versions are within reach. Here the report is compared, article by article, with the differences
//! of the sides (I12). When two runs are compared, everything that either run holds is left out.

use super::oracle::{self, Difference};
use super::run::Outcome;
use super::token::Tokens;
use super::world::{World, id_of};
use kbsync::engine::report::{Line, Report, Status};
use kbsync::model::{ArticleId, CategoryId, Place};
use kbsync::state::Store;
use std::collections::{BTreeMap, BTreeSet};

/// The held actions, by article and by path.
#[derive(Clone, Default, Debug)]
pub(crate) struct Held {
    pub(crate) ids: BTreeSet<ArticleId>,
    paths: BTreeSet<String>,
}

impl Held {
    /// Returns the articles that a report names as not done: by id, by address or file, and the articles without a file
    /// in a category that the report names.
    pub(crate) fn of(world: &World, report: &Report) -> Self {
        let waits = report.actions.iter();
        let waits = waits.filter(|line| line.status != Status::Done && says(line));
        let told = waits.map(|line| (line.id, &line.path));
        let problems = report.problems.iter();
        let problems = problems.filter(|problem| !problem.message.is_empty());
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
                // The file's name in lower case is the slug.
                let slug = name.strip_suffix(".html").map(str::to_lowercase);
                let at_its_address = slug.as_ref() == Some(&article.slug);
                id.is_none() && at_its_address || whole && !filed.contains_key(&article.id)
            });
            held.ids.extend(told.map(|article| article.id));
        }
        held
    }

    /// Returns whether the report covers a difference of the sides. `home` is the article's place and category in the
    /// base.
    fn covers(
        &self,
        world: &World,
        (id, path, _): &Difference,
        home: Option<&(Place, CategoryId)>,
    ) -> bool {
        let article = id.and_then(|id| world.kb.articles.get(&id));
        // A file that cannot be read has no id, and its folder may have been renamed.
        let moved = |path: &String| {
            let (folder, name) = path.split_once('/').unwrap_or_default();
            let category = world.category_of(folder);
            let same = article.is_none_or(|article| category == Some(article.category));
            home.is_some_and(|(home, its)| {
                home.file == name && (same || home.folder == folder || category == Some(*its))
            })
        };
        id.is_some_and(|id| self.ids.contains(&id))
            || path.split(' ').any(|path| self.covers_path(path))
            || self.paths.iter().any(moved)
    }

    fn covers_path(&self, path: &str) -> bool {
        let folder = path.split('/').next().unwrap_or_default();
        let category = format!("{folder}/_category.yaml");
        [path, folder, &category]
            .iter()
            .any(|path| self.paths.contains(*path))
    }

    /// Returns everything that either of two runs holds.
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

    /// Returns whether a line of a run's end is about a held article or path.
    pub(crate) fn has(&self, line: &str) -> bool {
        let path = line.split(": ").next().unwrap_or_default();
        self.covers_path(path) || self.ids.iter().any(|id| line.contains(&id.to_string()))
    }
}

/// Returns whether a line gives a reason.
fn says(line: &Line) -> bool {
    let reason = line.reason.as_ref();
    reason.is_some_and(|reason| !reason.is_empty())
}

/// The words and articles at the end of a run.
#[derive(Clone, Default, Debug)]
pub(crate) struct Left {
    /// The words in files and articles.
    pub(crate) words: Tokens,
    /// The same words, and the words in the history and in files that do not count.
    pub(crate) reachable: Tokens,
    /// All articles that ever existed.
    pub(crate) articles: Vec<ArticleId>,
}

impl Left {
    /// Returns what a world has at its end, with the words of its history.
    pub(crate) fn of(world: &World, history: Tokens) -> Self {
        let (mut words, mut reachable) = (world.mirror.tokens(), history);
        words.add(&world.kb.tokens());
        reachable.add(&world.mirror.all_tokens());
        reachable.add(&world.kb.tokens());
        for category in world.kb.categories.values() {
            reachable.read(category.version.name.as_bytes());
        }
        Self {
            words,
            reachable,
            articles: world.kb.ids(),
        }
    }

    /// Returns a fault after a kill that a hold does not excuse: words that are lost, or an article that the other run
    /// never had.
    pub(crate) fn worse_than(&self, other: &Self) -> Option<String> {
        let words = other.words.without(&self.reachable);
        if !words.is_empty() {
            return Some(format!(
                "words {:?} are nowhere after two kills",
                words.all()
            ));
        }
        let mut new = self.articles.iter();
        let new = new.find(|id| !other.articles.contains(id))?;
        Some(format!("article {new} was created after two kills only"))
    }
}

/// I12: every difference is reported, article by article, and every hold has a reason.
pub(crate) fn i12_told(world: &mut World, store: &Store, report: &Report) {
    let mut waits = report.actions.iter();
    let mute = waits.find(|line| line.status == Status::Held && !says(line));
    if let Some(line) = mute {
        let message = format!("{} is held without a word: {line:?}", line.path);
        world.violated("I12", message);
    }
    let held = Held::of(world, report);
    let rows = store.articles().expect("the state is readable");
    let places = rows
        .into_iter()
        .map(|row| (row.id, (row.place, row.local.category)));
    let places: BTreeMap<ArticleId, (Place, CategoryId)> = places.collect();
    for difference in oracle::differences(world, store) {
        let home = difference.0.and_then(|id| places.get(&id));
        let told = held.covers(world, &difference, home);
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
