//! One sync with the library: `cargo run --example sync_once`.
//!
//! A sandbox service stands in for the hosted one; with `service` and `token` of your own, the rest is the
//! same.

use kbsync::engine::settings::{Request, Settings};
use kbsync::engine::{Clock as _, Engine, SystemClock};
use kbsync::mirror::{Lock, RealDisk, lock};
use kbsync::model::WorkspaceId;
use kbsync::reconcile::snapshot::Direction;
use kbsync::sandbox::{Options, Sandbox};
use kbsync::service::budget::{Budget, Limits};
use kbsync::service::client::{Client, ClientOptions};
use kbsync::service::token::Token;
use kbsync::state::{Binding, Store};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> anyhow::Result<()> {
    let running = Sandbox::start(Options::default()).await?;
    let workspace = WorkspaceId::new(running.sandbox.seed(12, 3));
    let mirror = tempfile::tempdir()?;

    // One process at a time: the lock is held for as long as the engine lives.
    let _lock = Lock::acquire(mirror.path(), "example")?;
    let binding = Binding {
        service: running.url.clone(),
        workspace,
    };
    let private = lock::private_folder(mirror.path())?;
    let store = Store::open(&private, &binding, SystemClock.now())?;
    let token = Token::new(&running.token())?;
    let budget = Budget::in_memory(Limits {
        per_minute: 60,
        per_day: 1440,
        reserve_for_pushes_percent: 20,
    });
    let client = Client::new(ClientOptions::new(&running.url, token, budget))?;
    let disk = RealDisk::open(mirror.path())?;
    let mut engine = Engine::new(client, disk, store, Settings::new(workspace));

    let first = engine.cycle(&Request::new(Direction::Both)).await?;
    println!(
        "first sync: {} actions, {} requests",
        first.actions.len(),
        first.requests.total
    );
    anyhow::ensure!(
        first.outcome.exit_code() == 0,
        "the first sync left something open"
    );

    let second = engine.cycle(&Request::new(Direction::Both)).await?;
    println!(
        "second sync: {} actions, {} request",
        second.actions.len(),
        second.requests.total
    );
    anyhow::ensure!(
        second.is_quiet() && second.requests.total == 1,
        "the second sync is not quiet"
    );
    Ok(())
}
