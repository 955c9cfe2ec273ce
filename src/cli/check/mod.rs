//! `kbsync check`: looks through the files without asking anyone, for editors and CI.

mod rules;
