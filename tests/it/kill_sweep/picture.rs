//! Both sides and the state as text that can be compared: each id from the service is replaced by the address of its
//! article or category.

use super::stage::Stage;
use crate::support::words::{self, Sides, Words, Written};
use kbsync::model::WorkspaceId;
use kbsync::sandbox::Category;
use kbsync::state::{Binding, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files, articles, categories and base rows, each with its content.
pub(super) type Picture = BTreeMap<String, String>;

/// Returns the picture of the present state.
pub(super) fn picture(stage: &Stage) -> Picture {
    let addresses = names(stage);
    let named = |text: String| {
        addresses.iter().fold(text, |text, (id, name)| {
            if text.contains(id) {
                text.replace(id, name)
            } else {
                text
            }
        })
    };
    let mut picture = Picture::new();
    for (path, content) in files(stage) {
        picture.insert(format!("file {path}"), named(content));
    }
    for category in stage.sandbox.categories() {
        let Category {
            name,
            slug,
            description,
            meta_description,
            ..
        } = category;
        let says = format!("{name:?} {description:?} {meta_description:?}");
        let double = picture.insert(format!("category {slug}"), says);
        assert_eq!(double, None, "two categories at {slug}");
    }
    for article in stage.sandbox.articles() {
        let address = named(article.id.to_string());
        let says = format!(
            "{:?} {:?} {:?} {:?} enabled {} draft {}",
            article.title,
            article.text,
            article.introtext,
            article.keywords,
            article.enabled,
            article.draft
        );
        let double = picture.insert(format!("article {address}"), says);
        assert_eq!(double, None, "two articles at {address}");
    }
    let Some(store) = store(stage) else {
        return picture;
    };
    let revisions: BTreeMap<String, String> = stage
        .sandbox
        .articles()
        .iter()
        .map(|article| (article.id.to_string(), article.revision()))
        .collect();
    for row in store.articles().expect("read") {
        let id = row.id.to_string();
        let fresh = revisions.get(&id) == Some(&row.revision.0);
        let says = format!(
            "at {} local {:?} {:?} remote {:?} {:?} {:?} fresh {fresh}",
            row.place, row.local, row.file_flags, row.remote, row.remote_flags, row.visibility
        );
        picture.insert(named(format!("row {id}")), named(says));
    }
    for row in store.categories().expect("read") {
        let says = format!("at {:?} {:?} {:?}", row.folder, row.local, row.remote);
        picture.insert(named(format!("category row {}", row.id)), named(says));
    }
    for row in store.conflicts().expect("read") {
        let says = format!("at {} copy {:?}", row.place, row.copy);
        picture.insert(named(format!("conflict {}", row.id)), says);
    }
    for key in store.parked().expect("read").into_keys() {
        picture.insert(named(format!("parked {key}")), String::new());
    }
    for (_, pending) in store.pending_requests().expect("read") {
        picture.insert(named(format!("pending request {pending:?}")), String::new());
    }
    for change in store.journal().expect("read") {
        picture.insert(named(format!("open change {change:?}")), String::new());
    }
    picture
}

/// Returns the differences of two pictures.
pub(super) fn difference(found: &Picture, wanted: &Picture) -> String {
    let mut lines = Vec::new();
    let keys: BTreeSet<_> = found.keys().chain(wanted.keys()).collect();
    for key in keys {
        let (found, wanted) = (found.get(key), wanted.get(key));
        if found != wanted {
            lines.push(format!(
                "{key}\n    is      {found:?}\n    but was {wanted:?}"
            ));
        }
    }
    lines.join("\n")
}

/// Returns the service's ids, each with the address of its article or category.
fn names(stage: &Stage) -> Vec<(String, String)> {
    let categories = stage.sandbox.categories();
    let mut names = Vec::new();
    for article in stage.sandbox.articles() {
        let category = categories.iter().find(|c| c.id == article.category_id);
        let category = category.map(|category| category.slug.clone());
        names.push((
            article.id.to_string(),
            format!("<{}/{}>", category.unwrap_or_default(), article.slug),
        ));
    }
    for category in categories {
        names.push((category.id.to_string(), format!("<{}>", category.slug)));
    }
    names
}

/// Returns the state, if there is one. Opening it for reading changes nothing.
fn store(stage: &Stage) -> Option<Store> {
    let binding = Binding {
        service: stage.url.clone(),
        workspace: WorkspaceId::new(stage.workspace()),
    };
    let folder = stage.mirror().join(".kbsync");
    Store::open_read_only(&folder, Some(&binding)).expect("a usable state")
}

/// Returns the mirror's files with their content; from the private folder only names that do not belong there.
pub(super) fn files(stage: &Stage) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    collect(&stage.mirror(), &stage.mirror(), &mut files);
    files
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let name = below(root, &path);
            // Displaced files stay for a while, under numbers that differ from run to run.
            if name == ".kbsync/displaced" {
                continue;
            }
            if name != ".kbsync/stage" {
                files.insert(format!("{name}/"), String::new());
            }
            collect(root, &path, files);
            continue;
        }
        let name = below(root, &path);
        // A run that dies before its first journal entry leaves a file that the next run keeps.
        if name.starts_with(".kbsync/stage/found-after-a-crash.") {
            continue;
        }
        if let Some(private) = name.strip_prefix(".kbsync/")
            && [
                "state.db",
                "state.db-wal",
                "state.db-shm",
                "lock",
                "daemon.sock",
            ]
            .contains(&private)
        {
            continue;
        }
        let bytes = std::fs::read(&path).expect("bytes");
        files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
    }
}

fn below(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).expect("below");
    below.to_string_lossy().into_owned()
}

/// Returns whether kbsync was writing or deleting this file when it died.
pub(super) fn is_temporary(path: &str) -> bool {
    path.contains(".kbsync/stage/") || path.contains(".kbsync-tmp-")
}

/// Returns both sides as they are.
pub(super) fn sides(stage: &Stage) -> Sides {
    Sides {
        files: files(stage),
        articles: stage.sandbox.articles(),
        categories: stage.sandbox.categories(),
    }
}

/// Returns the words that are lost: on neither side and not in the history.
pub(super) fn lost(stage: &Stage, written: &Written) -> Vec<Words> {
    written.lost(&sides(stage), || store(stage))
}

/// Returns the words that the history can bring back.
pub(super) fn history(stage: &Stage, written: &Written) -> BTreeSet<Words> {
    store(stage).map_or_else(BTreeSet::new, |store| written.history(&store))
}

/// Returns the paths and articles that hold neither a whole old version nor a whole new version.
pub(super) fn torn(stage: &Stage, known: &BTreeSet<Words>) -> Vec<String> {
    let mut torn = Vec::new();
    for (path, content) in files(stage) {
        let whole = match ending(&path) {
            _ if is_temporary(&path) => true,
            Some("html") => words::in_file(&path, &content)
                .first()
                .is_some_and(|words| known.contains(words)),
            Some("yaml") => content.contains("name:") || content.contains("service:"),
            _ => true,
        };
        if !whole {
            torn.push(format!("{path}: {content:?}"));
        }
    }
    for article in stage.sandbox.articles() {
        if !known.contains(&words::of_article(&article)) {
            torn.push(format!("{article:?}"));
        }
    }
    torn
}

fn ending(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, ending)| ending)
}
