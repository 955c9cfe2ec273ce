//! What a running daemon shows over HTTP: health, readiness, figures. Nothing can be changed here.
//!
//! [`board`] holds what is shown, as plain values; [`health`] judges it, pure; [`metrics`] writes it for
//! Prometheus; [`guests`] bounds the connections; [`serve()`] answers. No article, path or token is shown.

pub mod board;
pub mod guests;
pub mod health;
pub mod metrics;
mod serve;

pub use serve::{Purse, serve, shown_address};
