//! `kbsync run`.
pub mod quiet;
