//! The mirror beside the base: one scan for the commands that compare and restore. The service is not asked.

use super::index::Index;
use super::observe::sift::FEW;
use super::observe::unsettled::Unsettled;
use super::observe::{load_base, local};
use super::spool::Spool;
use crate::mirror::disk::Disk;
use crate::mirror::layout::Layout;
use crate::mirror::scan::survey;
use crate::model::Place;
use crate::model::base::ArticleRow;
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot, RemoteSnapshot};
use crate::state::store::Store;
use std::collections::BTreeSet;

/// The mirror at one moment, and what both sides last agreed on.
pub(super) struct MirrorView {
    pub(super) base: Base,
    pub(super) local: LocalSnapshot,
    pub(super) paired: Paired,
    pub(super) layout: Layout,
    /// Files that are left out, and why.
    pub(super) problems: Vec<Problem>,
}

/// An article whose file is not as the base has it. One of the two may be missing, never both.
#[derive(Clone, Copy)]
pub(super) struct Difference<'v> {
    pub(super) row: Option<&'v ArticleRow>,
    pub(super) file: Option<&'v LocalFile>,
}

impl MirrorView {
    /// Scans the mirror. Edits that no version has go into the history, unless the spool is dry.
    pub(super) fn read<D: Disk>(
        disk: &D,
        store: &mut Store,
        mut spool: Spool,
    ) -> anyhow::Result<Self> {
        let base = load_base(store)?;
        let scanned = local::scan(disk, store, &base, &Unsettled::default(), &mut spool)?;
        let mut paired = pairing::pair(&base, &scanned.snapshot, &RemoteSnapshot::default());
        let mut problems = scanned.problems;
        problems.append(&mut paired.problems);
        problems.sort();
        problems.dedup();
        Ok(Self {
            base,
            local: scanned.snapshot,
            paired,
            layout: scanned.layout,
            problems,
        })
    }

    /// Looks at every file's stamp, and loads the rows of the articles whose file has another one. `None`: that is not
    /// enough to see what changed.
    pub(super) fn of_touched<D: Disk>(
        disk: &D,
        store: &mut Store,
        mut spool: Spool,
    ) -> anyhow::Result<Option<Self>> {
        let Ok(index) = Index::read(disk, store)? else {
            return Ok(None);
        };
        let Ok(touched) = survey(disk, &index.mirror) else {
            return Ok(None);
        };
        let plain = index.beside.conflicts.is_empty()
            && touched.files.len() <= FEW
            && index.words_stay(disk, &touched.words);
        if !plain {
            return Ok(None);
        }
        let places: BTreeSet<Place> = touched.files.into_iter().collect();
        let mut base = index.beside;
        for id in places
            .iter()
            .filter_map(|place| index.mirror.article(place))
        {
            let row = store.article(id)?;
            base.articles.extend(row.map(|row| (id, row)));
        }
        let scanned = local::glance_home(disk, store, &base, &mut spool, &places)?;
        let Some(scanned) = scanned.filter(|scanned| scanned.problems.is_empty()) else {
            return Ok(None);
        };
        let base = local::part_of(&base, &places);
        let paired = pairing::pair(&base, &scanned.snapshot, &RemoteSnapshot::default());
        Ok(Some(Self {
            base,
            local: scanned.snapshot,
            paired,
            layout: index.mirror.layout().clone(),
            problems: Vec::new(),
        }))
    }

    /// Returns the articles whose files differ from the base, then the files without a base. A file that is there and
    /// cannot be read says nothing, and a conflict before the first sync is no new file.
    pub(super) fn differences(&self) -> Vec<Difference<'_>> {
        let (base, paired) = (&self.base, &self.paired);
        let rows = base.articles.values().filter_map(|row| {
            let file = paired.files.get(&row.id);
            let is_unreadable = paired.unknown.contains_key(&row.id);
            let is_equal = file.is_some_and(|file| {
                file.version == row.local && file.flags == row.file_flags && file.place == row.place
            });
            let row = Some(row);
            (!is_unreadable && !is_equal).then_some(Difference { row, file })
        });
        let unknown = paired
            .files
            .iter()
            .filter(|(id, _)| !base.articles.contains_key(id) && !base.conflicts.contains_key(id));
        let created = unknown.map(|(_, file)| file).chain(&paired.fresh);
        let created = created.map(|file| Difference {
            row: None,
            file: Some(file),
        });
        rows.chain(created).collect()
    }
}
