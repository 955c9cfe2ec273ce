//! The bounded part: fixed seeds, in memory and on a real folder, and a few of the defects.

use super::run::{Bench, Ground, Source};
use super::{author, in_memory, on_disk, seed, zoo};
use kbsync::drill::defect::Defect;

/// Seeds in memory.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=400;

#[test]
fn in_every_world_everything_holds() {
    let tally = in_memory(&mut Bench::new(), SEEDS, false, &mut |tally| {
        !tally.failures.is_empty()
    });
    let failures: Vec<String> = tally.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(tally.cycles > 5 * tally.runs, "{} cycles", tally.cycles);
    assert!(tally.steps >= 20 * tally.runs, "{} steps", tally.steps);
}

#[test]
fn in_another_order_and_after_kills_it_ends_with_the_same() {
    let tally = in_memory(&mut Bench::new(), 1..=60, true, &mut |tally| {
        !tally.failures.is_empty()
    });
    let failures: Vec<String> = tally.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(tally.compared > 25, "{} are compared", tally.compared);
}

#[test]
fn the_same_trace_gives_the_same_run() {
    let mut bench = Bench::new();
    for number in 1..=25 {
        let first = seed(&mut bench, number);
        let source = Source::Steps(&first.trace.steps);
        let again = Bench::new().run(author::setup(number), source, Ground::Memory);
        assert_eq!(first.hash, again.hash, "seed {number}");
        assert_eq!(first.trace, again.trace, "seed {number}");
    }
}

#[test]
fn entries_told_again_by_their_bytes_end_as_if_they_were_read() {
    let (mut bench, mut reading) = (Bench::new(), Bench::new());
    reading.reads_all = true;
    for number in 1..=60 {
        let first = seed(&mut bench, number);
        let source = Source::Steps(&first.trace.steps);
        let again = reading.run(first.trace.setup, source, Ground::Memory);
        assert_eq!(first.hash, again.hash, "seed {number}");
        assert_eq!(first.end, again.end, "seed {number}");
    }
}

#[test]
fn on_a_real_folder_it_ends_with_the_same() {
    let mut bench = Bench::new();
    for number in 1..=20 {
        assert_eq!(on_disk(&mut bench, number), None, "seed {number}");
    }
}

#[test]
fn a_defect_is_found_and_told_by_a_short_trace() {
    let mut bench = Bench::new();
    for (defect, invariant) in [
        (Defect::AbsenceIsDeletion, "I5"),
        (Defect::BytesNotSynced, "I2"),
        (Defect::LocalEditNotKept, "I1"),
    ] {
        let found = zoo::hunt(&mut bench, defect, 400);
        let (trace, violation) = found
            .trace
            .unwrap_or_else(|| panic!("{defect:?} is not found"));
        assert_eq!(violation.invariant, invariant, "{defect:?}: {violation:?}");
        assert!(
            trace.steps.len() <= 8,
            "{}",
            trace.code("it", "holds(setup, steps)")
        );
    }
}

#[test]
fn the_table_of_the_zoo_knows_every_defect_and_its_end() {
    let table = include_str!("../../../zoo.md");
    let of_none = zoo::table(&zoo::hunt_all(0, &|_| ()));
    let named = |table: &str| -> Vec<String> {
        let lines = table.lines().filter(|line| line.starts_with("| "));
        let names = lines.filter_map(|line| line.split('|').nth(1));
        names.map(|name| name.trim().to_owned()).collect()
    };
    assert_eq!(named(table), named(&of_none));
    assert!(!table.contains("not found"), "{table}");
}
