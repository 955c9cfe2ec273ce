//! A local stand-in for the hosted service: for trying kbsync out, for the demo and for the tests.
//!
//! It answers the ten endpoints of `docs/api.md` (A4): strictly where a fact is documented; where a fact is not
//! shown, [`Options`] chooses among the plausible services. A [`Sandbox`] is a handle that can be cloned:
//! [`Sandbox::serve`] speaks HTTP, its other methods are what colleagues do in the dashboard, and
//! [`Sandbox::inject`] makes the network and the service misbehave.
//!
//! It knows nothing else of kbsync, and has its own JSON types on purpose: a misreading of the facts
//! in one of the two shows as a failing test.
//!
//! | part | job |
//! |---|---|
//! | `options` | the choices where a fact is not shown |
//! | `store` | workspaces, categories, articles, and the rules between them |
//! | `world`, `handle` | everything under one lock; the handle and its operations |
//! | `gate` | what every API request passes: record, faults, sign-in, rate limits |
//! | `routes`, `reads`, `writes` | the endpoints |
//! | `fields`, `normalise`, `wire`, `listing`, `reply` | input rules, JSON, shapes of the listing, answers |
//! | `faults`, `spoil` | what can go wrong on purpose |
//! | `serve` | sockets, with connections that can be dropped |
//! | `dashboard` | the web pages for people |
//! | `seed`, `file`, `snapshot` | invented content; a file that keeps the content; going back in memory |

mod clock;
mod dashboard;
mod faults;
mod fields;
mod file;
mod gate;
mod handle;
mod limits;
mod listing;
mod normalise;
mod options;
mod reads;
mod reply;
mod routes;
mod seed;
mod serve;
mod snapshot;
mod spoil;
mod store;
mod wire;
mod world;
mod writes;

pub use faults::{AnswerEdit, Fault, FaultKind, Hook, Matcher, RawAnswer};
pub use handle::{Past, Sandbox};
pub use options::{
    Access, EmptyPut, ListingEndpoint, Login, Normalise, Options, Paging, RetryAfter, Rights,
    Shape, TOKEN, TimeGrain,
};
pub use serve::Running;
pub use snapshot::Snapshot;
pub use store::{Article, Category, NewSeed, Workspace};
pub use world::{Counts, RequestRecord};

#[cfg(test)]
mod tests;
