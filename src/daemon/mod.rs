//! `kbsync run`: one closed enum of events, one loop, one cycle at a time.
//!
//! ```text
//!   watch ────┐                     ┌──────────► desk (what waits; pure)
//!   trigger ──┤   Event   ┌──────┐  │            quiet, schedule, reach (pure, told the time)
//!   signals ──┼──────────►│ loop │──┤
//!   control ──┘           └──────┘  └──────────► Cycle: the engines, one cycle at a time
//! ```
//! Sources are tasks and threads that only send. A full channel makes them wait, and what the system then
//! drops becomes a doubt: nothing is ever missed in silence. While a cycle runs the loop goes on receiving,
//! and what comes in is folded into what waits.
//!
//! In reading order: [`job`] (what the loop asks for), [`desk`] with [`quiet`], [`schedule`] and [`reach`]
//! (the decisions), [`turn`] (the loop), then the sources [`watch`], [`trigger`], [`signals`], [`control`],
//! then [`engines`] and [`valve`] (the real cycles) and [`start`] (all of it put together).

mod asked;
pub mod control;
pub mod desk;
pub mod engines;
mod front;
pub mod git;
pub mod job;
pub mod quiet;
pub mod reach;
pub mod schedule;
pub mod settings;
pub mod signals;
pub mod start;
pub mod supervisor;
mod told;
pub mod trigger;
pub mod turn;
pub mod valve;
pub mod watch;

use control::Wished;
use quiet::Touch;
use watch::{Cause, Mode};

/// What can happen to the daemon.
#[derive(Debug)]
pub enum Event {
    /// Something happened to a path of the mirror.
    Touched {
        /// The path, relative to the mirror.
        path: String,
        /// What.
        touch: Touch,
    },
    /// It is not known what was touched.
    Doubt(Cause),
    /// How changes are noticed from now on.
    Watching(Mode),
    /// Time went on.
    Tick,
    /// A command came in.
    Wish(Wished),
    /// Everything is to be looked at now (SIGUSR1).
    SyncNow,
    /// The settings are to be read again (SIGHUP).
    Reload,
    /// It is time to stop (SIGTERM, SIGINT); the second time, at once.
    Stop,
}
