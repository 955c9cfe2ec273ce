//! The simulator: `cargo run --release --example simulate -- --layer memory --seconds 60 --seed 1`.
//!
//! Prints the number of runs, their speed, and every world that broke an invariant, shortened. Such a world is also
//! written to `target/traces`; the file becomes a test when it is moved to `tests/it/simulator/traces`. Exits with 1
//! when there is such a world.

#[path = "../tests/it/simulator/mod.rs"]
mod simulator;

use clap::Parser as _;
use simulator::engine::relations::{self, Compare, Relation};
use simulator::engine::run::{Bench, Ground, Source};
use simulator::engine::{self, Tally, shrink, trace, zoo};
use simulator::{planner, planted};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Creating and dropping small worlds is a tenth faster than with the system's allocator: `--features jemalloc`.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Generates worlds, and checks in each that nothing is lost.
#[derive(clap::Parser)]
struct Wish {
    /// The part to run: the planner alone, engines in memory, or the same traces on a real folder
    #[arg(long, value_enum, default_value_t = Layer::Memory)]
    layer: Layer,
    /// Plants the defects of tests/zoo in a copy of the program, and hunts each until it is found; writes tests/zoo.md
    #[arg(long, conflicts_with_all = ["layer", "show"])]
    zoo: bool,
    /// With `--zoo`: hunts only these defects, and writes nothing
    #[arg(long, requires = "zoo", value_name = "DEFECT")]
    only: Vec<String>,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stops after so many seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Stops after so many worlds; with `--zoo`: hunts a defect in at most so many (10000 if not given)
    #[arg(long)]
    limit: Option<u64>,
    /// Stops a thread after so many worlds that broke an invariant
    #[arg(long, default_value_t = 10)]
    failures: usize,
    /// Threads
    #[arg(long, default_value_t = 1)]
    threads: u64,
    /// Compares each run in memory with a run in another order, with kills or with a fault, instead of four in a
    /// hundred
    #[arg(long)]
    compare: bool,
    /// Prints the steps of one seed's world
    #[arg(long, value_name = "SEED")]
    show: Option<u64>,
    /// With `--show`: the shortest world that breaks the same invariant
    #[arg(long, requires = "show")]
    short: bool,
    /// Replays a trace file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["show", "zoo", "layer"])]
    replay: Option<PathBuf>,
}

/// A part of the simulator.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Layer {
    /// All worlds of two articles, then random worlds of more articles.
    Planner,
    /// Whole engines on ports in memory.
    Memory,
    /// The same engines on the file system and a database.
    Disk,
}

#[expect(clippy::print_stdout, reason = "it is what a program is for")]
fn main() -> anyhow::Result<ExitCode> {
    let wish = Wish::parse();
    if let Some(seed) = wish.show {
        let mut bench = Bench::new();
        bench.talk = true;
        show(&mut bench, seed, &wish);
        return Ok(ExitCode::SUCCESS);
    }
    if wish.zoo {
        return zoo(&wish);
    }
    if let Some(path) = &wish.replay {
        return replay(path);
    }
    match wish.layer {
        Layer::Planner => {
            let limit = wish.limit.unwrap_or(u64::MAX);
            let green = planner::show(limit, wish.seed, &mut |line| println!("{line}"));
            Ok(if green {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(1)
            })
        }
        Layer::Memory | Layer::Disk => Ok(worlds(&wish)),
    }
}

impl Wish {
    fn compared(&self) -> Compare {
        match (self.layer, self.compare) {
            (Layer::Disk, _) => Compare::OnDisk,
            (Layer::Memory | Layer::Planner, true) => Compare::Each,
            (Layer::Memory | Layer::Planner, false) => Compare::Few,
        }
    }
}

/// Replays a trace file, and prints the first run that breaks an invariant.
#[expect(clippy::print_stdout, reason = "it is what a program is for")]
fn replay(path: &Path) -> anyhow::Result<ExitCode> {
    let text = std::fs::read_to_string(path)?;
    match trace::replay(&mut Bench::new(), &text) {
        Ok(runs) => println!("{runs} runs hold"),
        Err(fault) => {
            println!("{}:{}: {}", path.display(), fault.line, fault.message);
            return Ok(ExitCode::from(1));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the log of a seed's world, and of the world that it is compared with.
#[expect(clippy::print_stdout, reason = "it is what a program is for")]
fn show(bench: &mut Bench, seed: u64, wish: &Wish) {
    let mut outcome = engine::seed(bench, seed);
    let relation = match &outcome.violation {
        Some(_) => Relation::Alone,
        None => Relation::of(seed, wish.compared()),
    };
    let (_, violation) =
        relations::judge(bench, relation, outcome.trace.setup, &outcome.trace.steps);
    if let Some(violation) = violation.filter(|_| wish.short) {
        let (trace, _) = shrink::shrink(bench, relation, &outcome.trace, &violation);
        println!("{}", trace::file(&trace, relation, &violation.message));
        let source = Source::Steps(&trace.steps);
        outcome = bench.run(trace.setup, source, Ground::Memory);
    }
    let Some((first, second)) = relations::other(bench, relation, &outcome) else {
        println!("{}", outcome.log.join("\n"));
        println!("{:?}", outcome.violation);
        return;
    };
    let same = first.log.iter().zip(&second.log);
    let same = same.take_while(|(one, other)| one == other).count();
    println!("{}", first.log.join("\n"));
    println!("\nCompared: {relation:?}, which goes another way after {same} lines with");
    println!("{}", second.log[same..].join("\n"));
    println!("{:?}", relations::differ(relation, &first, &second));
}

/// Returns whether the tally is enough.
type Until<'a> = dyn FnMut(&Tally) -> bool + 'a;

/// Distributes the seeds over the threads, and prints failures as they are found. Returns the sum of the tallies and
/// the seconds that the runs took.
#[expect(clippy::print_stdout, reason = "it is what a program is for")]
fn share(
    wish: &Wish,
    run: &(dyn Fn(&mut dyn Iterator<Item = u64>, &mut Until<'_>) -> Tally + Sync),
) -> (Tally, f64) {
    let begin = Instant::now();
    let end = begin + Duration::from_secs(wish.seconds);
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..wish.threads)
            .map(|thread| {
                scope.spawn(move || {
                    let step = usize::try_from(wish.threads).unwrap_or(1);
                    let mut seeds = (wish.seed + thread..).step_by(step);
                    let limit = wish.limit.unwrap_or(u64::MAX) / wish.threads.max(1);
                    let mut told = 0;
                    run(&mut seeds, &mut |tally| {
                        for failure in &tally.failures[told..] {
                            println!("{failure}");
                            keep(failure);
                        }
                        told = tally.failures.len();
                        Instant::now() >= end || tally.runs >= limit || told >= wish.failures
                    })
                })
            })
            .collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    let mut sum = Tally::default();
    for tally in tallies {
        sum.add(tally);
    }
    (sum, begin.elapsed().as_secs_f64())
}

/// Writes a failure as a file that can be moved to the traces of the tests.
#[expect(clippy::print_stdout, reason = "it is what a program is for")]
fn keep(failure: &engine::Failure) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/traces");
    let path = folder.join(format!("seed_{}.trace", failure.seed));
    match std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, failure.to_string()))
    {
        Ok(()) => println!("It is in {}.\n", path.display()),
        Err(error) => println!("It cannot be written to {}: {error}\n", path.display()),
    }
}

#[expect(clippy::print_stdout, reason = "it is what a program is for")]
fn worlds(wish: &Wish) -> ExitCode {
    let (sum, took) = share(wish, &|seeds, until| {
        engine::seeds(&mut Bench::new(), seeds, wish.compared(), until)
    });
    let runs = f64::from(u32::try_from(sum.runs).unwrap_or(u32::MAX));
    println!(
        "{} runs from seed {} ({} compared, {} of them with a real folder), {} steps, {} cycles ({} of them incremental) in \
         {took:.1} s: {:.0} runs a second; {} failed",
        sum.runs,
        wish.seed,
        sum.compared,
        sum.on_disk,
        sum.steps,
        sum.cycles,
        sum.incremental,
        runs / took,
        sum.failures.len()
    );
    ExitCode::from(u8::from(!sum.failures.is_empty()))
}

/// Hunts the defects in a copy of the program in which they are planted.
fn zoo(wish: &Wish) -> anyhow::Result<ExitCode> {
    if planted::is_planted() {
        return hunt(wish);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = root.join("target/zoo");
    planted::plant(&copy)?;
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--locked", "--quiet", "--example", "simulate"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    command.args(["--", "--zoo"]);
    let limit = wish.limit.map(|limit| format!("--limit={limit}"));
    command.args(limit);
    command.args(wish.only.iter().flat_map(|name| ["--only", name]));
    // Without the variable, the copy would be built into this program's target folder.
    command.env("CARGO_TARGET_DIR", root.join("target/zoo-target"));
    let done = command.current_dir(&copy).status()?;
    if wish.only.is_empty() && done.success() {
        std::fs::copy(copy.join("tests/zoo.md"), root.join("tests/zoo.md"))?;
    }
    Ok(ExitCode::from(u8::from(!done.success())))
}

/// Hunts the defects of this program.
#[expect(clippy::print_stdout, reason = "it is what a program is for")]
fn hunt(wish: &Wish) -> anyhow::Result<ExitCode> {
    let mut defects = planted::defects()?;
    for name in &wish.only {
        let is_there = defects.iter().any(|defect| defect.name == *name);
        anyhow::ensure!(is_there, "there is no defect {name}");
    }
    defects.retain(|defect| wish.only.is_empty() || wish.only.contains(&defect.name));
    let catches = zoo::hunt_all(&defects, wish.limit.unwrap_or(10_000), &|found| {
        println!(
            "{}: {:?} runs, {:?}",
            found.defect.name, found.runs, found.file
        );
        if let Some((trace, violation)) = &found.trace {
            let world = format!("{}: {}", violation.invariant, violation.message);
            println!("{}", trace::file(trace, Relation::Alone, &world));
        }
    });
    let table = zoo::table(&catches);
    print!("{table}");
    if wish.only.is_empty() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/zoo.md"), table)?;
    }
    let all = catches.iter().all(zoo::Catch::is_caught);
    Ok(ExitCode::from(u8::from(!all)))
}
