//! The files for containers, services and CI, and the linked crates.

mod ci_workflow;
mod container;
mod dependencies;
mod files;
