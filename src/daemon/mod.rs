//! `kbsync run`: one closed enum of events, one loop, one cycle at a time.
//!
//! ```text
//!   watch ────┐                     ┌──► work queue, with debounce, schedule and outage (pure)
//!   ticker ───┤   Event   ┌──────┐  │
//!   signals ──┼──────────►│ loop │──┤
//!   control ──┘           └──────┘  └──► engines: one cycle at a time
//! ```
//! Event sources are tasks and threads that only send. When the channel is full, the sources wait. If the system drops
//! events meanwhile, the whole mirror is looked at, so that no change is missed. The loop receives events while a
//! cycle runs, and adds them to the work that waits.
//!
//! In reading order: [`job`] (the values that the loop and the cycles exchange), [`work_queue`] with [`debounce`],
//! [`schedule`] and [`outage`] (the decisions), [`event_loop`], then the sources [`watch`], [`sources`] and [`control`]
//! with [`settings_mark`], then [`engines`] and [`workspaces`] (the real cycles), and [`start`] (wires all of it).
//! [`failure`] turns errors into failures for a person, also for the commands.

pub mod control;
pub mod debounce;
pub mod engines;
pub mod event_loop;
pub mod failure;
pub mod git;
pub mod job;
mod log_once;
pub mod loop_state;
pub mod outage;
pub mod schedule;
pub mod settings_mark;
pub mod sources;
pub mod start;
pub mod supervisor;
pub mod watch;
pub mod work_queue;
pub mod workspaces;

use control::QueuedCommand;
use debounce::Touch;
use watch::{Mode, RescanCause};

/// The events of the daemon.
#[derive(Debug)]
pub enum Event {
    /// A path of the mirror was touched.
    Touched {
        /// The path, relative to the mirror.
        path: String,
        /// The kind of the touch.
        touch: Touch,
    },
    /// It is unknown which paths were touched.
    Rescan(RescanCause),
    /// How changes are noticed from now on.
    Watching(Mode),
    /// Time has passed.
    Tick,
    /// A command arrived.
    Command(QueuedCommand),
    /// A full cycle is wanted now (SIGUSR1).
    SyncNow,
    /// The settings must be read again (SIGHUP).
    Reload,
    /// The daemon must stop (SIGTERM, SIGINT); at the second signal, at once.
    Stop,
}
