//! Whether it bites: every deliberate defect of the planner is found, and after how many worlds.

use super::run::until_failure;
use kbsync::drill::defect::{Defect, let_in};

/// The defects that this layer has to find.
pub(crate) const DEFECTS: [Defect; 23] = [
    Defect::AbsenceIsDeletion,
    Defect::DoubtIgnored,
    Defect::UnseenIsPostedAnew,
    Defect::HolderForgotten,
    Defect::WishOverwritten,
    Defect::EchoIsEdit,
    Defect::PullSends,
    Defect::ScanTrusted,
    Defect::GuardWithoutLimit,
    Defect::DeletionBeatsEdit,
    Defect::GoneBeatsEdit,
    Defect::SlugIsKey,
    Defect::ScopeIgnored,
    Defect::DeletionWithoutBase,
    Defect::RenameIsDeletion,
    Defect::CopyTakesOver,
    Defect::SwapWithoutParking,
    Defect::NameTaken,
    Defect::LastWriterWins,
    Defect::CopyAfterCopy,
    Defect::MergePicksOurs,
    Defect::FalseConflict,
    Defect::WholeFileWins,
];

/// How many worlds are tried for each, at most.
const SLICE: u64 = 100_000;

/// Lets one defect in, on this thread. Returns how many worlds it took to find it; `None`: it was not found.
pub(crate) fn worlds_until_found(defect: Defect) -> Option<u64> {
    let_in(Some(defect));
    let found = until_failure(SLICE);
    let_in(None);
    (found.failed > 0).then_some(found.worlds)
}
