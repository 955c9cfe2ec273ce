//! Searches bytes for which the law of `laws/listing.rs` does not hold.
#![no_main]

#[path = "../laws/listing.rs"]
mod listing;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| listing::hold(bytes));
