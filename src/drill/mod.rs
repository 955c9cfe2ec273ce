//! Fail points, and the switch of planted defects: the means of the tests to kill and to mislead the program.
//!
//! Everything here is empty code unless the package is built with its feature `drill`, which only the package's own
//! tests and examples switch on. Nothing here decides anything by itself: the tests decide.

pub mod death;
#[cfg(feature = "drill")]
pub mod defect;
pub mod failpoint;
