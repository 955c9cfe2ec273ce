//! Searches bytes for which the law of `laws/names.rs` does not hold.
#![no_main]

#[path = "../laws/names.rs"]
mod names;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| names::hold(bytes));
