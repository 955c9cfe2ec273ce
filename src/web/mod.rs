//! The pages of a running daemon, over HTTP: health, readiness, metrics. Nothing can be changed here.
//!
//! [`shared_status`] holds the status as plain values; [`health`] judges it; [`metrics`] writes it for Prometheus;
//! [`connections`] limits the connections; [`serve()`] answers. No article, path or token is shown.

pub mod connections;
pub mod health;
pub mod metrics;
mod serve;
pub mod shared_status;

pub use serve::{BudgetSource, serve, shown_address};
