//! kbsync keeps a folder of front-matter HTML files and a hosted knowledge base equal, in both directions.

pub mod cli;
pub mod config;
pub mod engine;
pub mod mirror;
pub mod model;
pub mod reconcile;
pub mod sandbox;
pub mod service;
pub mod state;
