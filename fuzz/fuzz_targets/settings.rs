//! Searches bytes for which the law of `laws/settings.rs` does not hold.
#![no_main]

#[path = "../laws/settings.rs"]
mod settings;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| settings::hold(bytes));
