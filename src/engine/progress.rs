//! How far a cycle has come: what people who wait are told.

use std::sync::Arc;

/// How far a cycle has come, for people who wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// A phase begins.
    Phase {
        /// Its name.
        name: &'static str,
        /// Its units, where that is known.
        total: Option<u64>,
        /// Requests that one unit costs.
        requests: u32,
    },
    /// So many units of the phase are done.
    Done(u64),
}

/// The receiver of progress; it must not block.
pub type Teller = Arc<dyn Fn(Progress) + Send + Sync>;

/// Reports that a phase begins.
pub(super) fn begin(teller: &Teller, name: &'static str, total: Option<u64>, requests: u32) {
    teller(Progress::Phase {
        name,
        total,
        requests,
    });
}

/// Reports how many units of the phase are done.
pub(super) fn done(teller: &Teller, units: u64) {
    teller(Progress::Done(units));
}
