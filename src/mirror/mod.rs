//! The mirror: the folder of files, the local side.
pub mod document;
