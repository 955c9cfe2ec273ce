//! `kbsync run`.
pub mod quiet;
pub mod reach;
pub mod schedule;
