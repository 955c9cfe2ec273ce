//! Shows what is in conflict: where a person's file and the service's version differ.
//!
//! Reads the files and the states; nothing is written. A conflict with only one version left has no differences.

use super::{
    diff::parts,
    failure::Failure,
    print::escape_block,
    report::several,
    scope::{self, Part},
    version_spec::{below_mirror, state},
};
use crate::{
    config::Config,
    engine::report::{Line, Status},
    mirror::{
        RealDisk,
        disk::{At, Disk as _},
        document::{Document, MAX_FILE},
    },
    model::{ArticleId, Place, Side, Version, base::ConflictRow},
    reconcile::plan::Kind,
    state::Store,
};
use similar::{ChangeTag, TextDiff};

/// The most differences that are listed where many things are.
const FEW: usize = 3;

/// An open conflict.
#[derive(Debug)]
pub(super) struct Conflict {
    /// The article.
    pub(super) id: ArticleId,
    /// The file, below the mirror.
    pub(super) path: String,
    /// Where the two versions differ; empty: only one is left.
    differences: Vec<Difference>,
    reason: String,
}

/// A place in which the two versions differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Difference {
    /// The line of the person's file.
    pub(super) line: usize,
    pub(super) yours: String,
    pub(super) theirs: String,
}

impl Difference {
    /// Returns the lines that show both sides.
    pub(super) fn sides(&self) -> [String; 2] {
        [("yours:  ", &self.yours), ("theirs: ", &self.theirs)].map(|(name, text)| side(name, text))
    }
}

/// Returns the lines that show one side.
pub(super) fn side(name: &str, text: &str) -> String {
    let text = match text.trim_end_matches('\n') {
        "" => "(nothing)".to_owned(),
        text => escape_block(text).replace('\n', "\n               "),
    };
    format!("      {name} {text}")
}

/// Returns the open conflicts of the mirror.
pub(super) fn open(config: &Config) -> Result<Vec<Conflict>, Failure> {
    let mut conflicts = Vec::new();
    for part in scope::all(config) {
        let Some(store) = state(config, &part)? else {
            continue;
        };
        for row in store.conflicts()? {
            // A file that was moved is where the base has it.
            let moved = store.article(row.id)?.map(|base| base.place);
            let mut places = [Some(row.place.clone()), moved].into_iter().flatten();
            let found = places.find_map(|place| Some((document(&part, &place)?, place)));
            let (differences, place) = match found {
                Some((document, place)) => (differences(&store, &row, &document)?, place),
                None => (Vec::new(), row.place),
            };
            conflicts.push(Conflict {
                id: row.id,
                path: below_mirror(&part, &place),
                differences,
                reason: row.reason,
            });
        }
    }
    conflicts.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(conflicts)
}

/// Reads a file; `None`: there is no readable article.
pub(super) fn document(part: &Part, place: &Place) -> Option<Document> {
    let disk = RealDisk::open(&part.root.path).ok()?;
    let content = disk.read(At::Folder(&place.folder), &place.file, MAX_FILE);
    Document::parse_with_markers(&content.ok()?.bytes).ok()
}

fn differences(
    store: &Store,
    row: &ConflictRow,
    document: &Document,
) -> Result<Vec<Difference>, Failure> {
    let Some(remote) = &row.remote else {
        return Ok(Vec::new());
    };
    let Some(theirs) = store.body(remote.text)? else {
        return Ok(Vec::new());
    };
    let mut found = of_keys(document, remote);
    let before = document.lines_before_text();
    // The last line of the file ends with a newline that is not part of the text.
    let (yours, theirs) = (format!("{}\n", document.text()), theirs + "\n");
    let diff = TextDiff::from_lines(&yours, &theirs);
    for op in diff
        .ops()
        .iter()
        .filter(|op| op.tag() != similar::DiffTag::Equal)
    {
        let side = |tag| -> String {
            let lines = diff
                .iter_inline_changes(op)
                .filter(|line| line.tag() == tag);
            let cut = lines.map(|line| {
                let words = parts(&line, Some(0)).into_iter().map(|(_, part)| part);
                words.collect::<String>().trim().to_owned()
            });
            cut.collect::<Vec<_>>().join(" ")
        };
        found.push(Difference {
            line: before + op.old_range().start + 1,
            yours: side(ChangeTag::Delete),
            theirs: side(ChangeTag::Insert),
        });
    }
    Ok(found)
}

/// Returns the keys of the front matter in which the versions differ.
pub(super) fn of_keys(document: &Document, remote: &Version) -> Vec<Difference> {
    let line = |key: &str| {
        let mut lines = document.source().lines();
        lines.position(|line| line.starts_with(key)).unwrap_or(0) + 1
    };
    let keys = [
        ("title:", document.title(), &remote.title),
        ("introtext:", document.introtext(), &remote.introtext),
        ("keywords:", document.keywords(), &remote.keywords),
    ];
    keys.into_iter()
        .filter(|(_, yours, theirs)| yours != theirs)
        .map(|(key, yours, theirs)| Difference {
            line: line(key),
            yours: format!("{key} {yours}"),
            theirs: format!("{key} {theirs}"),
        })
        .collect()
}

impl Conflict {
    /// Returns the line of a report.
    pub(super) fn line(&self) -> Line {
        Line {
            action: Kind::Conflict,
            side: Side::Both,
            path: self.path.clone(),
            id: Some(self.id),
            fields: Vec::new(),
            status: Status::Held,
            reason: Some(self.reason.clone()),
            rule: None,
        }
    }

    /// Returns the lines that show the first differences.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for one in self.differences.iter().take(FEW) {
            lines.push(format!("    line {}", one.line));
            lines.extend(one.sides());
        }
        if let Some(more @ 1..) = self.differences.len().checked_sub(FEW) {
            let more = several(more, "more difference");
            lines.push(format!(
                "    … and {more}; `kbsync diff --remote` shows all"
            ));
        }
        lines
    }
}
