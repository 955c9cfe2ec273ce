//! `_category.yaml`: read as it was scanned, written with what is new, and both versions go into the history.

use super::ApplyState;
use crate::engine::form::{MAX_YAML, category_changes, category_version, words_of};
use crate::engine::history::category::{last_document, seen_as};
use crate::engine::history::entry::HistoryEntry;
use crate::engine::journal::Journal;
use crate::mirror::disk::{At, Content, Disk, DiskError, DiskErrorKind, Durability};
use crate::mirror::document::CategoryDocument;
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, KnownFile, Place, Side, Stamp, TextDigest};
use crate::state::RowChange;

/// A folder's `_category.yaml` as it was scanned.
#[derive(Default)]
pub(super) struct ScannedYaml {
    pub(super) stamp: Option<Stamp>,
    /// The folder's name, and what both said, where the stamp was too young to vouch for it.
    racy: Option<(String, CategoryVersion)>,
}

impl ScannedYaml {
    pub(super) fn of(folder: &str, state: &ApplyState<'_>) -> Self {
        let stamp = state.observed.mirror.category_stamps.get(folder).copied();
        let mut scanned = state.observed.local.categories.iter();
        let category = scanned.find(|category| category.folder == folder);
        let racy = category
            .filter(|_| stamp.is_some_and(|stamp| state.observed.mirror.racy.contains(&stamp)))
            .and_then(|category| Some((folder.to_owned(), category.version.clone()?)));
        Self { stamp, racy }
    }

    /// Returns whether it still says what it said. Its stamp alone cannot, when it was saved just before the scan.
    fn is_said_by(&self, bytes: &[u8]) -> bool {
        self.racy.as_ref().is_none_or(|(folder, words)| {
            let document = CategoryDocument::parse(bytes).ok();
            let said = document.and_then(|document| category_version(folder, &document).ok());
            said.as_ref() == Some(words)
        })
    }
}

/// The words that are to be written into a `_category.yaml`.
pub(super) struct NewYaml<'a> {
    pub(super) folder: &'a str,
    pub(super) id: CategoryId,
    pub(super) version: &'a CategoryVersion,
    pub(super) scanned: &'a ScannedYaml,
    /// The words that are known to have been in it; any others are the writer's, and new.
    pub(super) before: Option<&'a CategoryVersion>,
    /// The folder's name until now: it is the slug of a file that names none.
    pub(super) named: &'a str,
    /// The side that has the written words, and the cause, for the history.
    pub(super) seen: (Side, &'static str),
}

/// Reads `_category.yaml` as it was scanned: what a writer saved since then is not what was decided on.
pub(super) fn read_yaml(
    disk: &impl Disk,
    folder: &str,
    scanned: &ScannedYaml,
) -> anyhow::Result<Option<Content>> {
    let at = At::Folder(folder);
    let path = format!("{folder}/{CATEGORY_FILE}");
    let existing = match disk.look(at, CATEGORY_FILE)? {
        Some(_) => Some(disk.read(at, CATEGORY_FILE, MAX_YAML)?),
        None => None,
    };
    let found = existing.as_ref();
    if found.map(|content| content.stamp) != scanned.stamp
        || found.is_some_and(|content| !scanned.is_said_by(&content.bytes))
    {
        return Err(DiskError::new(DiskErrorKind::Changed, "read", path).into());
    }
    anyhow::ensure!(
        existing.as_ref().is_none_or(|content| content.whole),
        "{path} is larger than {MAX_YAML} bytes"
    );
    Ok(existing)
}

/// Writes what is new into `_category.yaml`. `rows` become true with it.
pub(super) fn write_yaml<D: Disk>(
    journal: &mut Journal<'_, D>,
    new: &NewYaml<'_>,
    mut rows: Vec<RowChange>,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<()> {
    let (folder, id, version) = (new.folder, new.id, new.version);
    let existing = read_yaml(journal.disk, folder, new.scanned)?;
    let document = existing
        .as_ref()
        .map(|content| CategoryDocument::parse(&content.bytes))
        .transpose()?;
    // One that went missing comes back as it was.
    let last = match &document {
        Some(_) => None,
        None => last_document(journal.store, id, None)?,
    };
    let form = document.as_ref().or(last.as_ref());
    let written = form.and_then(CategoryDocument::slug);
    let changes = category_changes(id, folder, version, written);
    let source = form.map_or_else(
        || CategoryDocument::compose(&changes),
        |document| document.edit(&changes),
    );
    if (existing.as_ref()).is_some_and(|content| content.bytes == source.as_bytes()) {
        journal
            .store
            .write(|tx| rows.iter().try_for_each(|row| tx.apply(row)))?;
        return Ok(());
    }
    let mut entry = HistoryEntry {
        bodies: vec![source.clone()],
        seen: None,
    };
    if let (Some(content), Some(document)) = (&existing, &document) {
        let replaced = std::str::from_utf8(&content.bytes)?;
        let words = words_of(document, new.named);
        let cause = if new.before == Some(&words) {
            "replaced"
        } else {
            "edited here"
        };
        let text = TextDigest::of(replaced);
        entry.bodies.push(replaced.to_owned());
        entry.seen = Some(seen_as(id, folder, (Side::Local, cause), &words, text));
    }
    let after = seen_as(id, folder, new.seen, version, TextDigest::of(&source));
    rows.push(RowChange::Version(Box::new(after)));
    let place = Place::new(folder, CATEGORY_FILE);
    let staged = journal.stage(&place, source.as_bytes(), None, Durability::Now)??;
    let over = existing
        .as_ref()
        .map(|content| KnownFile::of(content.stamp, &content.bytes));
    let stamp = journal.change_file(staged.over(over).with_history(entry).with(rows))??;
    // It may be saved once more within the clock's grain: for this cycle its stamp vouches for nothing.
    let mirror = &mut state.observed.mirror;
    mirror.category_stamps.insert(folder.to_owned(), stamp);
    mirror.racy.push(stamp);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f083_a_category_saved_twice_within_a_tick_is_not_what_was_scanned() {
        let words = |description: &str| CategoryVersion {
            name: "Start".to_owned(),
            slug: "start".to_owned(),
            description: description.to_owned(),
            meta_description: String::new(),
        };
        let racy = |description| ScannedYaml {
            stamp: Some(Stamp::default()),
            racy: Some(("start".to_owned(), words(description))),
        };
        let settled = ScannedYaml {
            stamp: Some(Stamp::default()),
            racy: None,
        };
        let bytes = b"name: Start\ndescription: Mine.\n";
        assert!(racy("Mine.").is_said_by(bytes));
        assert!(!racy("Before.").is_said_by(bytes));
        assert!(settled.is_said_by(bytes));
        assert!(!racy("Mine.").is_said_by(b"\"\n"));
    }
}
