//! What a running daemon shows over HTTP: health, readiness, figures. Nothing can be changed here.
//!
//! [`board`] holds what is shown, as plain values; [`health`] judges it, pure; [`metrics`] writes it for
//! Prometheus; [`guests`] bounds the connections; [`serve()`] answers. No article, path or token is shown.

pub mod connections;
pub mod health;
pub mod metrics;
mod serve;
pub mod shared_status;

pub use serve::{BudgetSource, serve, shown_address};
