//! The switch of the planted defects.
//!
//! The program has no planted defect. The patches in `tests/zoo` plant defects in a copy of the program; each patch
//! asks [`is`] whether its defect is let in. A defect is let in on one thread, so that several can be hunted at once.

use std::cell::RefCell;

thread_local! {
    static LET_IN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Returns whether the defect of this name is let in on this thread.
pub fn is(name: &str) -> bool {
    LET_IN.with_borrow(|defect| defect.as_deref() == Some(name))
}

/// Lets one defect in, or none, for all that runs on this thread from now on.
pub fn let_in(name: Option<&str>) {
    LET_IN.set(name.map(str::to_owned));
}
