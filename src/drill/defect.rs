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
