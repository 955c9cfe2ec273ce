//! Searches bytes for which the law of `laws/retry_after.rs` does not hold.
#![no_main]

#[path = "../laws/retry_after.rs"]
mod retry_after;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| retry_after::hold(bytes));
