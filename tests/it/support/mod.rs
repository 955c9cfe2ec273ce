//! The tools that tests share: the world, the real command, and the checks afterwards.

pub(crate) mod canary;
pub(crate) mod clocks;
pub(crate) mod daemon;
pub(crate) mod faults;
pub(crate) mod hostile;
pub(crate) mod kb;
pub(crate) mod look;
pub(crate) mod real_git;
pub(crate) mod schema;
pub(crate) mod terminal;
pub(crate) mod wire;
pub(crate) mod words;
pub(crate) mod world;

use kbsync::service::budget::clock;
