//! Rules about the repository itself: layers, documents, and the table of failures.

mod code;
mod documents;
mod engine;
mod failures;
mod fuzz_corpus;
mod messages;
