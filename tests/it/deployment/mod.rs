//! The files for containers, services and CI, and what is linked.

mod ci_workflow;
mod container;
mod dependencies;
mod files;
