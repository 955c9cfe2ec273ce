//! The simulator: `cargo run --release --example simulate -- --layer planner`.
//!
//! Prints what was tried, how fast, and every world in which something did not hold.

#[path = "../tests/it/simulator/mod.rs"]
mod simulator;

use simulator::planner;

#[expect(clippy::print_stdout, reason = "it is what a program is for")]
fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let (mut layer, mut limit, mut seed) = ("planner".to_owned(), u64::MAX, 1);
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        match word.as_str() {
            "--layer" => layer = value,
            "--limit" => limit = value.parse()?,
            "--seed" => seed = value.parse()?,
            _ => anyhow::bail!("unknown: {word}"),
        }
    }
    anyhow::ensure!(layer == "planner", "there is no layer {layer:?}");
    let threads = std::thread::available_parallelism()?.get();
    println!("{}", planner::exhaust(threads, limit, &mut |_| ()));
    println!("{}", planner::random(seed, 100_000));
    Ok(())
}
