//! kbsync keeps a folder of front-matter HTML files and a hosted knowledge base equal, in both directions.
//!
//! ```text
//!             main ──► cli ──► daemon ──► engine ──► reconcile (pure) ──► model (pure)
//!                       │        │          ├──────► service ─────────────────┤      observe → reconcile → guard
//!                       │        └► web     ├──────► mirror ──────────────────┤        → apply → record → report
//!                       └► sandbox          └──────► state ───────────────────┘
//! ```
//! Imports point down; neighbours in a row do not import each other. Async begins at `service`.
//!
//! # What holds throughout
//!
//! 1. No human edit is ever lost: every version that was seen on either side is in the state's history before it is
//!    replaced anywhere.
//! 2. Nobody is overwritten unseen: the version that a write replaces was read at most `guard_window` ago.
//! 3. Absent is not deleted: only a complete look can prove absence, and only the service's own answer ends an article.
//! 4. Nothing happens without a cause: two quiet sides cost one request and change nothing.
//! 5. One bad article stops only itself.
//! 6. The budget of requests holds, across restarts and commands.
//! 7. A kill at any moment leaves both sides and the state usable.
//!
//! # In reading order
//!
//! - [`model`]: the domain's words, as plain values.
//! - [`reconcile`]: the decision table; `(base, local, remote, policy) -> plan`. Its header is the table.
//! - [`mirror`]: file text and articles, folders and snapshots, safe writes.
//! - [`service`]: the port to the hosted service, and its HTTP side.
//! - [`state`]: the stored facts, and the promise of each row.
//! - [`engine`]: one cycle, readable top to bottom like a recipe.
//! - [`daemon`]: one closed enum of events and one loop around the engines; [`web`]: its health and its metrics.
//! - [`config`] and [`cli`]: settings and commands; `files`: whole and durable files of the user's own;
//!   `programs`: git and the token's command, within a time limit.
//! - [`sandbox`]: a stand-in for the service, for the demo and the tests.
//! - [`drill`]: fail points, compiled in for the tests only.
//!
//! `docs/architecture.md` is the map of the code, `docs/decisions/README.md` the rules behind it.
//! `examples/plan_only.rs` shows the pure part, `examples/sync_once.rs` a whole sync.

pub mod cli;
pub mod config;
pub mod daemon;
pub mod drill;
pub mod engine;
mod files;
pub mod mirror;
pub mod model;
mod programs;
pub mod reconcile;
pub mod sandbox;
pub mod service;
pub mod state;
pub mod web;
