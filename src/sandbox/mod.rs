//! A local stand-in for the hosted service: for trying kbsync out, for the demo and for the tests.
//!
//! The sandbox answers the ten endpoints of `docs/api.md` (A4): documented facts strictly, and facts that are not shown
//! according to [`Options`]. A [`Sandbox`] is a handle that can be cloned: [`Sandbox::serve`] speaks HTTP,
//! an [`Interceptor`] may make the network and the service misbehave, and the other methods are the actions of
//! colleagues in the dashboard.
//!
//! The sandbox uses no other module of kbsync, and builds its JSON itself: if the sandbox or the client
//! misreads a fact, a test fails.
//!
//! | part | job |
//! |---|---|
//! | `options` | the choices for facts that are not shown |
//! | `store` | workspaces, categories, articles, and the rules between them |
//! | `world`, `handle` | everything under one lock; the handle and its operations |
//! | `gate` | the steps of every API request: record, interceptor, sign-in, rate limits |
//! | `routes`, `reads`, `writes` | the endpoints |
//! | `fields`, `wire`, `listing`, `reply` | input rules, JSON, the listing, answers |
//! | `serve` | sockets |
//! | `dashboard` | the web pages for people |
//! | `seed`, `snapshot` | generated content; snapshots in memory |

mod clock;
mod dashboard;
mod fields;
mod gate;
mod handle;
mod limits;
mod listing;
mod options;
mod reads;
mod reply;
mod routes;
mod seed;
mod serve;
mod snapshot;
mod store;
mod wire;
mod world;
mod writes;

pub use gate::{CarryOut, Dropped, Interceptor};
pub use handle::Sandbox;
pub use options::{Access, Options, Rights, TOKEN, TimeGrain};
pub use serve::Running;
pub use snapshot::Snapshot;
pub use store::{Article, Category, NewSeed, Workspace};
pub use world::{Counts, RequestRecord};

#[cfg(test)]
mod tests;
