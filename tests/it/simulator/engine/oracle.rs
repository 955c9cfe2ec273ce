//! The invariants that are checked between cycles, one function for each. The checks at a call (I4, I5, I14, I16) are
//! in `judge`.

use super::kb::{Article, Kb};
use super::step::{FOLDERS, NAMES, Probing, Rewriting};
use super::token::Tokens;
use super::world::{World, is_article};
use kbsync::mirror::disk::Area;
use kbsync::mirror::document::Document;
use kbsync::model::{ArticleId, Place, Version};
use kbsync::state::{ArticleRow, RowChange, Store, Subject, Visibility};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the words in the history, and in conflicts that were shown.
pub(crate) fn history(world: &World, store: &Store) -> Tokens {
    search(world, store, None)
}

/// Like [`history`], until all `wanted` words are found.
fn search(world: &World, store: &Store, wanted: Option<&Tokens>) -> Tokens {
    let mut tokens = Tokens::default();
    let found = |tokens: &Tokens| wanted.is_some_and(|wanted| wanted.without(tokens).is_empty());
    let mut subjects: Vec<Subject> = world.kb.ids().into_iter().map(Subject::Article).collect();
    for folder in FOLDERS {
        let names = NAMES.iter().map(|name| format!("{name}.html"));
        for name in names.chain(["unnamed.html".to_owned()]) {
            subjects.push(Subject::File(Place::new(folder, name)));
        }
    }
    let read = |version: &Version, tokens: &mut Tokens| read(store, version, tokens);
    for subject in subjects {
        if found(&tokens) {
            return tokens;
        }
        for kept in store.versions(&subject).expect("the state is readable") {
            read(&kept.seen.version, &mut tokens);
            if let Some(file) = kept.seen.file
                && let Some(text) = store.body(file).expect("the state is readable")
            {
                tokens.read(text.as_bytes());
            }
        }
    }
    tokens.add(&shown(store));
    tokens
}

/// Returns the service's words in the conflicts that were shown.
pub(crate) fn shown(store: &Store) -> Tokens {
    let mut tokens = Tokens::default();
    for row in store.conflicts().expect("the state is readable") {
        if let Some(remote) = &row.remote {
            read(store, remote, &mut tokens);
        }
    }
    tokens
}

/// Returns, by article, the words that a rolled-back state knows and the file no longer has: this state takes them for
/// the writer's removals, even if a later state pulled the file's words.
pub(crate) fn taken_for_edits(world: &World, store: &Store) -> BTreeMap<ArticleId, Tokens> {
    let files = world.words_of_files();
    let rows = store.articles().expect("the state is readable");
    let taken = rows.into_iter().filter_map(|row| {
        let mut known = Tokens::default();
        read(store, &row.local, &mut known);
        Some((row.id, known.without(files.get(&row.id)?)))
    });
    taken.filter(|(_, words)| !words.is_empty()).collect()
}

/// Returns the words of the articles that a state knows and that are gone.
pub(crate) fn gone(world: &World, store: &Store) -> Tokens {
    let mut gone = Tokens::default();
    let rows = store.articles().expect("the state is readable");
    let is_gone = |row: &&ArticleRow| !world.kb.articles.contains_key(&row.id);
    for row in rows.iter().filter(is_gone) {
        read(store, &row.local, &mut gone);
    }
    gone
}

fn read(store: &Store, version: &Version, tokens: &mut Tokens) {
    for line in [&version.title, &version.introtext, &version.keywords] {
        tokens.read(line.as_bytes());
    }
    if let Some(text) = store.body(version.text).expect("the state is readable") {
        tokens.read(text.as_bytes());
    }
}

/// Returns the words of articles that the base does not know, and whose files were about to be written.
fn begun(store: &Store) -> Tokens {
    let mut tokens = Tokens::default();
    let journal = store.journal().expect("the state is readable");
    for row in journal.into_iter().flat_map(|change| change.rows) {
        if let RowChange::Article(row) = row
            && store
                .article(row.id)
                .expect("the state is readable")
                .is_none()
        {
            read(store, &row.remote, &mut tokens);
        }
    }
    tokens
}

/// Returns the words in displaced files that a state does not know: such files stay for good.
fn displaced(world: &World, store: &Store) -> Tokens {
    let rows = store.displaced().expect("the state is readable");
    let known = rows.iter().map(|row| row.slot).collect();
    world.mirror.tokens_in_slots(Area::Displaced, &known)
}

/// I1: every word that a person wrote is somewhere. The pending file writes of a dead process go into the history
/// before the next process does anything else.
pub(crate) fn i1_reachable(world: &mut World, store: &Store, died: bool) {
    let mut missing = world.ledger.owed.without(&world.kb.tokens());
    missing.remove(&world.mirror.all_tokens());
    missing.remove(&world.ledger.archived);
    if missing.is_empty() {
        return;
    }
    let kept = search(world, store, Some(&missing));
    world.ledger.archived.add(&kept);
    missing.remove(&kept);
    missing.remove(&displaced(world, store));
    if died {
        missing.remove(&begun(store));
    }
    if !missing.is_empty() {
        let words = missing.all();
        world.violated("I1", format!("words {words:?} are nowhere any more"));
    }
}

/// I2: every file at an article's place is whole.
pub(crate) fn i2_whole(world: &mut World) {
    let mut torn = None;
    world.mirror.each(&mut |folder, name, _, is_torn| {
        if is_torn && is_article(folder, name) {
            torn = Some(format!("{folder}/{name}"));
        }
    });
    if let Some(path) = torn {
        world.violated("I2", format!("{path} lost its bytes with the power"));
    }
}

/// I9: once both sides are equal, no two rows of the base have the same place, and no slug is invented.
pub(crate) fn i9_identity(world: &mut World, store: &Store) {
    let mut places = BTreeSet::new();
    for row in store.articles().expect("the state is readable") {
        if !places.insert(row.place.clone()) {
            world.violated("I9", format!("two articles have the place {}", row.place));
        }
    }
    let given = |slug: &str| NAMES.iter().any(|name| name.eq_ignore_ascii_case(slug));
    let invented = world
        .kb
        .articles
        .values()
        .find(|article| !given(&article.slug))
        .map(|article| article.slug.clone());
    if let Some(slug) = invented {
        world.violated("I9", format!("nobody gave the slug {slug}"));
    }
}

/// The difference of a file whose article is not on the service.
const GONE: &str = "its article is gone";

/// The difference of an article without a file.
const WITHOUT_FILE: &str = "it has no file";

/// A difference of the sides: the article, the path, and the fault.
pub(crate) type Difference = (Option<ArticleId>, String, String);

/// Compares the two sides, as a person would.
pub(crate) fn differences(world: &World, store: &Store) -> Vec<Difference> {
    let mut found: BTreeMap<ArticleId, Vec<(String, String, Document)>> = BTreeMap::new();
    let mut different = Vec::new();
    world.mirror.each(&mut |folder, name, bytes, _| {
        if !is_article(folder, name) {
            return;
        }
        let path = format!("{folder}/{name}");
        let Ok(document) = Document::parse(bytes) else {
            return;
        };
        match document.id() {
            Some(id) => {
                found
                    .entry(id)
                    .or_default()
                    .push((folder.to_owned(), name.to_owned(), document));
            }
            None => different.push((None, path, "the file has no article".to_owned())),
        }
    });
    let folders: BTreeMap<_, _> = store
        .categories()
        .expect("the state is readable")
        .into_iter()
        .map(|row| (row.id, row.folder))
        .collect();
    let rows: BTreeMap<ArticleId, ArticleRow> = store
        .articles()
        .expect("the state is readable")
        .into_iter()
        .map(|row| (row.id, row))
        .collect();
    for (id, files) in &found {
        // A known hidden article is probed once a day only.
        let hidden = rows
            .get(id)
            .is_some_and(|row| row.visibility != Visibility::Published);
        for (number, (folder, name, _)) in files.iter().enumerate() {
            let path = format!("{folder}/{name}");
            if number > 0 {
                let all: Vec<_> = files.iter().map(|(f, n, _)| format!("{f}/{n}")).collect();
                let what = "another file has its id, too".to_owned();
                different.push((Some(*id), all.join(" "), what));
            } else if !world.kb.articles.contains_key(id) && !hidden {
                different.push((Some(*id), path, GONE.to_owned()));
            }
        }
    }
    for article in world.kb.articles.values() {
        let listed = article.is_published()
            && (!world.setup.by_category || folders.contains_key(&article.category));
        let Some((folder, name, document)) = found.get(&article.id).and_then(|files| files.first())
        else {
            if listed {
                let path = rows.get(&article.id).map_or_else(
                    || {
                        let category = world.kb.categories.get(&article.category);
                        let folder = category.map(|category| category.version.slug.as_str());
                        format!("{}/{}.html", folder.unwrap_or_default(), article.slug)
                    },
                    |row| row.place.to_string(),
                );
                different.push((Some(article.id), path, WITHOUT_FILE.to_owned()));
            }
            continue;
        };
        let path = format!("{folder}/{name}");
        let stem = name.strip_suffix(".html").unwrap_or(name);
        let kb = &world.kb;
        let slug = document.slug().unwrap_or(stem);
        let mut wrong = Vec::new();
        if kb.line(document.title()) != article.title {
            wrong.push("title");
        }
        if !says_text(kb, document.text(), &article.text) {
            wrong.push("text");
        }
        if kb.slug(slug) != article.slug {
            wrong.push("slug");
        }
        if kb.line(document.introtext()) != article.introtext {
            wrong.push("introtext");
        }
        if kb.line(document.keywords()) != article.keywords {
            wrong.push("keywords");
        }
        if folders.get(&article.category) != Some(&Some(folder.clone())) {
            wrong.push("category");
        }
        if let Some(what) = misleads(world, article, document, rows.get(&article.id)) {
            different.push((Some(article.id), path.clone(), what));
        }
        if !wrong.is_empty() && listed {
            let what = format!("they differ in {}", wrong.join(", "));
            different.push((Some(article.id), path, what));
        }
    }
    different
}

/// Returns whether the service would rewrite a file's text into the article's text.
///
/// If lines were removed from the writer's own text, a merge may leave an empty line, which the editor keeps.
pub(crate) fn says_text(kb: &Kb, file: &str, article: &str) -> bool {
    let says = |text: &str| kb.text(text) == article;
    let closed = || file.replace("\n\n", "\n");
    says(file) || says(&kb.text(file)) || kb.setup.rewriting == Rewriting::Editor && says(&closed())
}

/// Returns a wrong statement of a file about its article's visibility.
///
/// A service that lists hidden articles does not show when an article becomes hidden, nor does a service that may not
/// be probed; and articles that are not listed are probed once a day.
fn misleads(
    world: &World,
    article: &Article,
    document: &Document,
    row: Option<&ArticleRow>,
) -> Option<String> {
    let known = row.is_some_and(|row| row.visibility == Visibility::Published);
    let setup = &world.setup;
    let shown = article.is_published();
    let tells = if shown {
        !setup.by_category || known
    } else {
        known && setup.probing == Probing::Allowed && !setup.lists_disabled
    };
    let really = if shown { "published" } else { "hidden" };
    (tells && document.flags().hides() == shown)
        .then(|| format!("it is {really}, and its file does not say so"))
}

/// Returns whether the state knows the words of every category: a colleague's change of a category is read once a day,
/// and whether it is known earlier depends on the other reads.
pub(crate) fn knows_categories(world: &World, store: &Store) -> bool {
    let rows = store.categories().expect("the state is readable");
    rows.iter().all(|row| {
        let there = world.kb.categories.get(&row.id);
        there.is_none_or(|category| category.version == row.remote)
    })
}

/// Returns whether the fate of an article is unknown, because there is no probe. The status shows such articles.
pub(crate) fn is_unknown(world: &World, (id, _, what): &Difference) -> bool {
    let is_believed_gone = id.is_some_and(|id| world.ledger.believed_gone.contains(&id));
    is_believed_gone && what == WITHOUT_FILE
        || world.setup.probing != Probing::Allowed && what == GONE
}
