//! Searches bytes for which the law of `laws/merge.rs` does not hold.
#![no_main]

#[path = "../laws/merge.rs"]
mod merge;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| merge::hold(bytes));
