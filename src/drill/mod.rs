//! Fail points, and the switch of planted defects: what the tests need in order to kill and to mislead the program.
//!
//! Everything here is empty code unless the package is built with its feature `drill`, which only its own
//! tests and examples switch on. Nothing here decides anything by itself: it is asked from outside.

pub mod death;
#[cfg(feature = "drill")]
pub mod defect;
pub mod failpoint;
