//! One sync with the library: `cargo run --example sync_once`.
//!
//! A sandbox stands in for the hosted service; with an address and token of your own, the rest is the same.

use kbsync::engine::settings::{CycleRequest, Settings};
use kbsync::engine::{Clock as _, Engine, SystemClock};
use kbsync::mirror::{Lock, RealDisk, lock};
use kbsync::model::WorkspaceId;
use kbsync::reconcile::snapshot::Direction;
use kbsync::sandbox::{Options, Sandbox};
use kbsync::service::{
    budget::{Budget, BudgetLimits, clock},
    client::{Client, ClientOptions},
    token::Token,
};
use kbsync::state::{Binding, Store};
use std::sync::Arc;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> anyhow::Result<()> {
    let running = Sandbox::new(Options::default()).run().await?;
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
    let budget = Budget::in_memory(BudgetLimits::default(), Arc::new(clock::SystemClock));
    let client = Client::new(ClientOptions::new(&running.url, token, budget))?;
    let disk = RealDisk::open(mirror.path())?;
    let mut engine = Engine::new(client, disk, store, Settings::new(workspace));

    for name in ["first sync", "second sync"] {
        let report = engine.cycle(&CycleRequest::new(Direction::Both)).await?;
        let (actions, requests) = (report.actions.len(), report.requests.total);
        println!("{name}: {actions} actions, {requests} requests");
        anyhow::ensure!(report.outcome.number() == 0, "it left something open");
    }
    Ok(())
}
