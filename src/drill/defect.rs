//! The bug zoo: deliberate defects, each of which the simulator has to find.
//!
//! A place in the program that could be wrong in a way that was seen elsewhere asks [`is`] whether it is to
//! be wrong now. The answer is no, and known to be no at compile time, unless the package is built with its
//! feature `drill` and the running thread has let one defect in.

/// A deliberate defect; one per serious row of the list of failures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Defect {
    /// Row 1: what a listing does not show is taken for deleted.
    AbsenceIsDeletion,
    /// Row 19: deletions go on in a cycle in which a look failed.
    DoubtIgnored,
    /// Row 27: an edit of an article that cannot be seen is posted as a new one.
    UnseenIsPostedAnew,
    /// Row 28: an address is asked for although another article has it.
    HolderForgotten,
    /// Row 30: `enabled` of the service replaces what a writer wished in the file.
    WishOverwritten,
    /// Row 31: what the service made of our last write is taken for somebody's edit.
    EchoIsEdit,
    /// Row 34: `pull` sends what the file has.
    PullSends,
    /// Row 40: a mirror that was not listed whole proves absence.
    ScanTrusted,
    /// Row 41: the limit on deletions holds nothing.
    GuardWithoutLimit,
    /// Row 44: a removal here beats an edit on the service.
    DeletionBeatsEdit,
    /// Row 45: a deletion on the service beats an edit here.
    GoneBeatsEdit,
    /// Row 47: articles are found by slug.
    SlugIsKey,
    /// Row 48: what the command's paths leave out is changed all the same.
    ScopeIgnored,
    /// Row 50: a file that no base knows is removed.
    DeletionWithoutBase,
    /// Row 53: a renamed file is a removed and a new one.
    RenameIsDeletion,
    /// Row 54: of two files with one id, the copy is the article.
    CopyTakesOver,
    /// Row 55: addresses are swapped without a temporary one.
    SwapWithoutParking,
    /// Row 59: a name is given although a file has it.
    NameTaken,
    /// Row 62: where both sides changed the same, the file wins unasked.
    LastWriterWins,
    /// Row 64: a conflict gets a new copy in every cycle.
    CopyAfterCopy,
    /// Row 65: a body that cannot be merged is the file's.
    MergePicksOurs,
    /// Row 67: equal edits on both sides are a conflict.
    FalseConflict,
    /// Row 70: a field changed here takes the other fields along.
    WholeFileWins,
}

/// Whether the defect is let in, on this thread.
#[cfg(not(feature = "drill"))]
#[inline]
pub fn is(_defect: Defect) -> bool {
    false
}

/// Whether the defect is let in, on this thread.
#[cfg(feature = "drill")]
pub fn is(defect: Defect) -> bool {
    LET_IN.with(|cell| cell.get() == Some(defect))
}

#[cfg(feature = "drill")]
thread_local! {
    static LET_IN: std::cell::Cell<Option<Defect>> = const { std::cell::Cell::new(None) };
}

/// Lets one defect in, or none, for whatever runs on this thread from now on.
#[cfg(feature = "drill")]
pub fn let_in(defect: Option<Defect>) {
    LET_IN.with(|cell| cell.set(defect));
}
