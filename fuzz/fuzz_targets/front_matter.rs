//! Searches bytes for which the law of `laws/front_matter.rs` does not hold.
#![no_main]

#[path = "../laws/front_matter.rs"]
mod front_matter;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| front_matter::hold(bytes));
