//! Restore: brings versions of the history back into the mirror. Nothing is sent here; a cycle over the files does
//! that.
//!
//! - The file of an existing article is edited: it gets the version's content, and keeps its `id`, address (name,
//!   folder, `slug:`), `enabled`, `draft`, and the writer's own keys and comments.
//! - A deleted article gets a new file without an `id`, so that a cycle creates it as a new article. A comment in the
//!   file, which is never sent, names the old one.
//! - The present text is stored in the history before it is replaced.
//!
//! `target` finds the place, `content` makes the text, `write` hands it to the journal. `open_actions` stores the
//! articles that an interrupted restore left out.

mod content;
mod target;
mod write;

pub use super::ending::Refused;
pub use target::Target;

use crate::engine::journal::Journal;
use crate::engine::journal::recover::Recovered;
use crate::engine::mirror_view::MirrorView;
use crate::engine::open_actions::begin_restore;
use crate::engine::ports::{Teller, begin_phase, report_done};
use crate::engine::reasons::put_below;
use crate::engine::report::{Line, Status};
use crate::engine::{Engine, cycle, history};
use crate::mirror::disk::{Disk, DiskError, DiskErrorKind};
use crate::mirror::document::Document;
use crate::model::{ArticleId, Digest, ExitCode, Field, Flags, Place, Side, Stamp};
use crate::reconcile::place_in_conflict;
use crate::reconcile::plan::Kind;
use crate::service::Service;
use crate::state::store::Store;
use crate::state::{StoredVersion, Subject};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use target::refuse;
use tokio::task::yield_now;
use write::write_restored;

/// A version that a person wants back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestoreRequest {
    /// The article, category or file.
    pub subject: Subject,
    /// The version's number; `None`: the last version of a deleted article or a missing file, else the previous one.
    #[serde(default)]
    pub number: Option<u64>,
    /// A new place for a deleted article's file; `None`: its old place.
    #[serde(default)]
    pub to: Option<Place>,
    /// Whether the file was missing when the person asked: then a file that is back by now is left as it is.
    #[serde(default)]
    pub missing: bool,
    /// The mark of the file that a person was shown; `None`: nobody was shown one. Any other file is left as it is.
    #[serde(default)]
    pub shown: Option<Digest>,
}

impl RestoreRequest {
    /// Asks for the version of a subject that comes back without a number.
    pub const fn of(subject: Subject) -> Self {
        Self {
            subject,
            number: None,
            to: None,
            missing: false,
            shown: None,
        }
    }

    /// Asks for the last version of an article whose file is missing.
    pub fn missing(id: ArticleId) -> Self {
        Self {
            missing: true,
            ..Self::of(Subject::Article(id))
        }
    }
}

/// The prepared file of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RestoredFile {
    /// The version.
    pub version: StoredVersion,
    /// The version's number in `kbsync log`, which lists the first of equal versions.
    number: u64,
    /// The file.
    pub target: Target,
    /// The present text and its stamp; `None`: there is no file.
    present: Option<(Stamp, String)>,
    /// The text that is written.
    pub new: String,
    /// The fields that change.
    pub fields: Vec<Field>,
    /// Whether readers have this content already, or do not get it before a person decides.
    is_silent: bool,
}

impl RestoredFile {
    /// The present text; `None`: there is no file.
    pub fn old(&self) -> Option<&str> {
        self.present.as_ref().map(|(_, text)| text.as_str())
    }

    /// Returns whether the file holds the version already.
    pub fn is_there(&self) -> bool {
        self.old() == Some(&self.new)
    }

    /// Names the version for people.
    pub fn described(&self) -> String {
        let of = self.target.instead_of;
        let of = of.map_or_else(String::new, |id| format!(" of {id}"));
        let version = format!("version @{}{of}", self.number);
        if self.is_there() {
            format!("the file holds {version} already")
        } else {
            version
        }
    }

    /// Returns the request for exactly this file, which a person was shown: by the time of the restore, the file may
    /// have another text, and a request without a number may choose another version.
    #[must_use]
    pub fn agreed(&self, request: &RestoreRequest) -> RestoreRequest {
        RestoreRequest {
            missing: self.present.is_none() && self.target.id.is_some(),
            shown: Some(self.mark()),
            ..request.clone()
        }
    }

    /// The digest of the place, the text that is written, and the present text.
    fn mark(&self) -> Digest {
        let place = self.target.place.to_string();
        let texts = std::iter::once(self.new.as_str()).chain(self.old());
        let parts = std::iter::once(place.as_str()).chain(texts);
        Digest::of_parts(&parts.map(str::as_bytes).collect::<Vec<_>>())
    }

    /// Returns whether the file becomes a new article.
    pub fn is_new_article(&self) -> bool {
        self.target.id.is_none() && !self.target.is_category()
    }

    /// Returns whether readers will see a change. `fresh`: the flags of a new article whose file has none. In doubt a
    /// version goes live.
    pub fn goes_live(&self, fresh: Flags) -> bool {
        if self.is_silent || self.target.is_category() {
            return !self.is_silent;
        }
        let fresh = Some(fresh).filter(|_| self.is_new_article());
        let fresh = fresh.unwrap_or_default();
        // A file that is not ready is never sent.
        let document = Document::parse_leniently(self.new.as_bytes());
        document.is_ok_and(|document| !document.flags().or(fresh).hides())
    }

    /// The version's cause in the history, which leads from the new article to the old one.
    fn cause(&self) -> String {
        let of = self.target.instead_of;
        let of = of.map_or_else(String::new, |id| id.to_string());
        format!("restored from {of}@{}", self.number)
    }
}

/// Prepares files from the mirror, the history and the base. One scan is enough for many requests.
struct Preparer<'a, D> {
    disk: &'a D,
    store: &'a Store,
    view: &'a MirrorView,
}

impl<D: Disk> Preparer<'_, D> {
    /// Prepares the file of a request. Looks at its place again, after the scan. Fails with [`Refused`].
    fn prepare(&self, request: &RestoreRequest) -> anyhow::Result<RestoredFile> {
        let Some(history) = history::of(self.store, request.subject.clone())? else {
            return refuse(
                "nothing of it is in the history",
                "`kbsync log` lists what is",
            );
        };
        let target = self.target(&history, request)?;
        self.content(&history, request, target)
    }
}

/// Tells a refused request from a failure of the disk or the state.
fn or_refused<T>(
    view: &MirrorView,
    request: &RestoreRequest,
    result: anyhow::Result<T>,
) -> anyhow::Result<Result<T, Refused>> {
    let error = match result {
        Ok(value) => return Ok(Ok(value)),
        Err(error) => error,
    };
    let (path, id) = match &request.subject {
        Subject::File(place) => (place.to_string(), None),
        Subject::Article(id) => {
            let file = view.paired.files.get(id).map(|file| file.place.clone());
            let place = file.or_else(|| Some(view.last_place(*id)?.0));
            (
                place.map_or(id.to_string(), |place| place.to_string()),
                Some(*id),
            )
        }
    };
    let is_moved = error
        .downcast_ref::<DiskError>()
        .is_some_and(|error| matches!(error.kind, DiskErrorKind::Changed | DiskErrorKind::Exists));
    let refused = if is_moved {
        let message = format!("{path} changed just now, and was left as it is");
        let help = "look at the file, then run the command again";
        Refused::new(ExitCode::Retry, message, help)
    } else {
        error.downcast::<Refused>()?
    };
    Ok(Err(refused.at(path, id)))
}

/// Prepares the files of requests, and writes nothing.
///
/// # Errors
///
/// When the mirror or the state cannot be read.
pub fn prepare<D: Disk>(
    disk: &D,
    store: &mut Store,
    requests: &[RestoreRequest],
) -> anyhow::Result<Vec<Result<RestoredFile, Refused>>> {
    let view = &MirrorView::read(disk, store)?;
    let preparer = Preparer { disk, store, view };
    let each = requests.iter();
    each.map(|request| or_refused(view, request, preparer.prepare(request)))
        .collect()
}

/// Returns requests for the missing files of existing articles in a folder; `""` stands for all folders.
///
/// # Errors
///
/// When the mirror or the state cannot be read.
pub fn missing<D: Disk>(
    disk: &D,
    store: &mut Store,
    folder: &str,
) -> anyhow::Result<Vec<RestoreRequest>> {
    let view = MirrorView::read(disk, store)?;
    let differences = view.differences().into_iter();
    let removed = differences.filter_map(|one| one.row.filter(|_| one.file.is_none()));
    // An article in conflict since its first sync has no row in the base.
    let conflicts = view.base.conflicts.values();
    let conflicts = conflicts.filter(|row| row.remote.is_some() && view.has_lost_file(row));
    let conflicts = conflicts.map(|row| (place_in_conflict(&view.base, row), row.id));
    let all = removed.map(|row| (&row.place, row.id)).chain(conflicts);
    let sorted: BTreeSet<(&Place, ArticleId)> = all
        .filter(|(place, _)| folder.is_empty() || place.folder == folder)
        .collect();
    let ids = sorted.into_iter().map(|(_, id)| id);
    Ok(ids.map(RestoreRequest::missing).collect())
}

/// The result of a restore.
#[derive(Debug, Default)]
pub struct Restored {
    /// The places of the files, for a cycle to look at.
    pub places: Vec<String>,
    /// A line for each file that changed.
    pub lines: Vec<Line>,
    /// The refused requests, if others were carried out.
    pub refused: Vec<Refused>,
    /// The failure that stopped the restore; a [`Refused`], if every request was refused.
    pub failed: Option<anyhow::Error>,
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Brings versions back into the mirror, one after the other, until the disk or the state fails. A cycle over their
    /// places sends them. Articles that are left out stay stored in `open_actions`.
    pub async fn restore(&mut self, requests: &[RestoreRequest]) -> Restored {
        let mut restored = Restored::default();
        let teller = Teller::clone(&self.teller);
        let written = match cycle::recover(self).and_then(Recovered::or_open) {
            Ok(()) => restore_each(&mut self.journal(), &teller, requests, &mut restored).await,
            Err(error) => Err(error),
        };
        restored.failed = written.err();
        restored.refused.sort_by(|a, b| a.path.cmp(&b.path));
        if restored.places.is_empty() && restored.failed.is_none() {
            let refused = Refused::all(std::mem::take(&mut restored.refused));
            restored.failed = refused.map(anyhow::Error::new);
        }
        let prefix = &self.settings.prefix;
        for Refused { path, help, .. } in &mut restored.refused {
            put_below(prefix, path, Some(help));
        }
        for line in &mut restored.lines {
            put_below(prefix, &mut line.path, None);
        }
        restored
    }
}

async fn restore_each<D: Disk>(
    journal: &mut Journal<'_, D>,
    teller: &Teller,
    requests: &[RestoreRequest],
    restored: &mut Restored,
) -> anyhow::Result<()> {
    let view = MirrorView::read_and_keep(journal.disk, journal.store)?;
    let articles = requests.iter().filter_map(|one| one.subject.article());
    begin_restore(journal.store, articles)?;
    begin_phase(teller, "restoring", Some(requests.len()), 0);
    for (done, request) in requests.iter().enumerate() {
        let written = restore_one(journal, request, &view, restored);
        let refused = or_refused(&view, request, written)?.err();
        restored.refused.extend(refused);
        report_done(teller, done + 1);
        // New files are written without any wait, so yield here for an interrupt.
        yield_now().await;
    }
    Ok(())
}

fn restore_one<D: Disk>(
    journal: &mut Journal<'_, D>,
    request: &RestoreRequest,
    view: &MirrorView,
    restored: &mut Restored,
) -> anyhow::Result<()> {
    let preparer = Preparer {
        disk: journal.disk,
        store: journal.store,
        view,
    };
    let file = preparer.prepare(request)?;
    let path = file.target.place.to_string();
    if request.shown.is_some_and(|shown| shown != file.mark()) {
        return Err(DiskError::new(DiskErrorKind::Changed, "restore", path).into());
    }
    if !file.is_there() {
        let never_sent = write_restored(journal, &file, view)?;
        restored.places.extend(never_sent);
        let replaced = file.old().map(|_| "; the replaced text is in the history");
        restored.lines.push(Line {
            action: Kind::Restore,
            side: Side::Local,
            path: path.clone(),
            id: file.target.id,
            status: Status::Done,
            reason: Some(file.described() + replaced.unwrap_or_default()),
            rule: None,
            fingerprint: None,
            fields: file.fields,
        });
    }
    restored.places.push(path);
    Ok(())
}
