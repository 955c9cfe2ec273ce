//! The decision: what both sides hold → what to do. Pure.

pub mod merge;
