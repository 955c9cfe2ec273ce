//! The kill sweep: the real command, killed (SIGKILL) at every file, database and request boundary.
//!
//! A scenario is a service, a mirror and a command. The command runs once undisturbed. Then, for every point that it
//! passed, both sides are put back and the command is killed there. At that instant every path and article must hold a
//! whole old or new version, and no text may be lost. The command runs again, and must reach the end of the undisturbed
//! run, byte for byte and row for row; and the run after that must have nothing to do (promise 7; failures rows 1 to 8;
//! invariants I1, I2, I7 and I8).
//!
//! Two other ends are correct, if nothing is lost or double. A run after a kill may hold an action that an undisturbed
//! run carries out, and report it to a person. And if the service rewrites what it is sent, a write with a lost
//! response cannot be distinguished from a colleague's edit.
//!
//! For scenarios that write, the run after the kill is killed at each of its points as well, and the end after that is
//! checked in the same way. Only first kills that left a change count here, because the others repeat the single sweep.
//! Where there would be thousands of such pairs, only some of the first kills are followed by a second kill.

#![expect(
    clippy::print_stdout,
    reason = "a sweep of minutes tells how far it is"
)]

mod both;
mod daemon;
mod picture;
mod pulls;
mod pushes;
mod stage;
mod sweep;

use both::BOTH;
use daemon::DAEMON;
use pulls::PULLS;
use pushes::PUSHES;
use stage::Stage;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use sweep::{Choice, Scenario, Swept, sweep};

/// The first point of the bounded sweep in each scenario; any number will do.
const SEED: usize = 20_260_801;

fn scenarios() -> Vec<&'static Scenario> {
    let commands = PULLS.iter().chain(PUSHES).chain(BOTH);
    commands.chain(DAEMON).collect()
}

/// Sweeps over some scenarios on several stages at once: `KBSYNC_SWEEP_THREADS`, or two.
fn sweep_all(
    scenarios: &[&'static Scenario],
    choice: impl Fn(usize) -> Choice + Sync,
) -> Vec<(Swept, Duration)> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![(Swept::default(), Duration::ZERO); scenarios.len()]);
    let threads_wanted = std::env::var("KBSYNC_SWEEP_THREADS");
    let wanted = threads_wanted.map_or(2, |text| text.parse().expect("a number"));
    std::thread::scope(|threads| {
        for _ in 0..wanted {
            threads.spawn(|| {
                let stage = Stage::new();
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let Some(scenario) = scenarios.get(number) else {
                        break;
                    };
                    let started = Instant::now();
                    let swept = sweep(&stage, scenario, choice(number));
                    let took = started.elapsed();
                    println!(
                        "{:>4} points {:>6} kills {:>4} missed {:>4} failures {:>6.1} s  {}",
                        swept.points,
                        swept.kills + swept.pairs,
                        swept.missed,
                        swept.failures.len(),
                        took.as_secs_f64(),
                        scenario.name,
                    );
                    for failure in &swept.failures {
                        println!("     {failure}");
                    }
                    done.lock().expect("no panic holds it")[number] = (swept, took);
                }
            });
        }
    });
    done.into_inner().expect("no panic holds it")
}

fn assert_green(swept: &[(Swept, Duration)]) {
    let failures: Vec<_> = swept
        .iter()
        .flat_map(|(swept, _)| swept.failures.iter().map(String::as_str))
        .collect();
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

#[test]
fn f001_to_f008_a_kill_at_some_points_of_every_scenario_is_recovered_from() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 40);
    println!("seed {SEED}");
    let swept = sweep_all(&scenarios, |number| Choice {
        first: 1 + (SEED + number * 7) % 13,
        stride: 13,
        nested: false,
    });
    assert_green(&swept);
}

/// Returns the scenario that `KBSYNC_SWEEP` names, or else the scenarios whose names contain its value.
fn chosen() -> Vec<&'static Scenario> {
    let wanted = std::env::var("KBSYNC_SWEEP").unwrap_or_default();
    let mut scenarios = scenarios();
    let is_one = scenarios.iter().any(|scenario| scenario.name == wanted);
    scenarios
        .retain(|scenario| scenario.name == wanted || !is_one && scenario.name.contains(&wanted));
    scenarios
}

#[test]
#[ignore = "takes minutes; the full sweep"]
fn full_kill_sweep() {
    let scenarios = chosen();
    let swept = sweep_all(&scenarios, |_| Choice {
        first: 1,
        stride: 1,
        nested: true,
    });
    if scenarios.len() == self::scenarios().len() {
        let table = table(&scenarios, &swept);
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kill_sweep.md");
        std::fs::write(path, &table).expect("written");
        println!("{table}");
    }
    assert_green(&swept);
}

/// The table is about these scenarios, and without a failure: a new scenario has to be swept first.
#[test]
fn the_table_has_every_scenario_and_no_failure() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kill_sweep.md");
    let text = std::fs::read_to_string(path).expect("readable");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split(" | ").collect()).collect();
    let names = rows.iter().map(|row| row[0]);
    let swept: Vec<&str> = names
        .filter(|name| !["scenario", "**all**"].contains(name))
        .collect();
    let wanted: Vec<&str> = scenarios().iter().map(|scenario| scenario.name).collect();
    assert_eq!(swept, wanted, "make the table anew");
    for row in rows.iter().filter(|row| row[0] != "scenario") {
        let failures = row.last().map(|last| last.trim_end_matches(" |"));
        assert_eq!(failures, Some("0"), "{row:?}");
    }
}

/// Returns the text of `tests/kill_sweep.md`.
fn table(scenarios: &[&'static Scenario], swept: &[(Swept, Duration)]) -> String {
    let mut table = String::from(
        "# The kill sweep\n\n\
         Made by `cargo test --test it -- --ignored full_kill_sweep --nocapture`, which says in \
         `tests/it/kill_sweep/mod.rs` what is checked.\n\n\
         *Points*: file, database and request boundaries that the command passes. *Kills*: runs that were killed, \
         one at every point. *Pairs*: runs after a kill that were killed as well, at every \
         point that leaves something else than the first kill did. *Missed*: points that a run did not come to, so \
         that nothing was killed there.\n\n\
         | scenario | points | kills | pairs | missed | failures |\n|---|--:|--:|--:|--:|--:|\n",
    );
    let mut total = Swept::default();
    let mut failures = 0;
    for (scenario, (swept, _)) in scenarios.iter().zip(swept) {
        total.points += swept.points;
        total.kills += swept.kills;
        total.pairs += swept.pairs;
        total.missed += swept.missed;
        failures += swept.failures.len();
        line(&mut table, scenario.name, swept, swept.failures.len());
    }
    line(&mut table, "**all**", &total, failures);
    table
}

fn line(table: &mut String, name: &str, swept: &Swept, failures: usize) {
    let Swept {
        points,
        kills,
        pairs,
        missed,
        ..
    } = swept;
    writeln!(
        table,
        "| {name} | {points} | {kills} | {pairs} | {missed} | {failures} |"
    )
    .expect("a text");
}
