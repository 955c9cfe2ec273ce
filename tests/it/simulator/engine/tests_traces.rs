//! Replays the trace files, and makes further checks of some of them.

use super::relations::{Compare, Relation};
use super::run::Bench;
use super::seed;
use super::trace::{self, Recorded, files};
use std::path::Path;
use std::sync::Mutex;

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).expect("a text")
}

#[test]
fn every_trace_in_a_file_holds() {
    let left = Mutex::new(files());
    let next = || left.lock().expect("no thread panicked").pop();
    let replay = || {
        let (mut bench, mut faults, mut runs) = (Bench::new(), Vec::new(), 0);
        while let Some(file) = next() {
            match trace::replay(&mut bench, &text(&file)) {
                Ok(held) => runs += held,
                Err(fault) => faults.push(format!(
                    "{}:{}: {}",
                    file.display(),
                    fault.line,
                    fault.message
                )),
            }
        }
        (faults, runs)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (faults, runs) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(replay)).collect();
        let done = threads
            .into_iter()
            .map(|thread| thread.join().expect("joined"));
        done.fold((Vec::new(), 0), |(mut faults, runs), (more, held)| {
            faults.extend(more);
            (faults, runs + held)
        })
    });
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(runs > 1_500, "{runs} runs");
}

#[test]
fn a_trace_is_read_back_as_it_was_written() {
    let mut bench = Bench::new();
    for number in 1..=100 {
        let (made, relation) = (
            seed(&mut bench, number).trace,
            Relation::of(number, Compare::Each),
        );
        let text = trace::file(&made, relation, "A world.\nA second line of it.");
        let Ok(read) = Recorded::parse(&text) else {
            panic!("it cannot be read: {text}");
        };
        assert_eq!((read.trace, read.relation), (made, relation), "{text}");
    }
}

/// Returns the fault of a text, with its line.
fn fault(text: &str) -> Option<(usize, String)> {
    let fault = trace::replay(&mut Bench::new(), text).err()?;
    let first = fault.message.lines().next().unwrap_or_default();
    Some((fault.line, first.to_owned()))
}

#[test]
fn a_file_is_run_with_each_number_of_its_ranges_and_a_fault_has_its_line() {
    let post = "# A world of 0..9 words.\nService Post at=alpha/b token=1 shown=true\n";
    let runs = |text: String| trace::replay(&mut Bench::new(), &text).ok();
    let sync = "0..3 times Run Sync\n";
    assert_eq!(runs(format!("{post}Kill after=4..6\n{sync}")), Some(6));
    assert_eq!(
        runs(format!("Setup thrifty=true\n{post}Ends with zq001z\n")),
        Some(1)
    );
    let ends = fault(&format!("{post}Run Sync\nEnds without zq001z\n"));
    let (line, message) = ends.expect("it ends with it");
    assert!(
        line == 3 && message.starts_with("it ends with \"zq001z\""),
        "{line} {message}"
    );
    for wrong in [
        "Service Post at=alpha/x token=1 shown=true",
        "Run",
        "Run Sync Sync",
        "Setup x=1",
        "Ends",
        "Judged",
    ] {
        let (line, message) = fault(&format!("{post}{wrong}\n")).expect("it means nothing");
        assert_eq!(
            (line, message),
            (3, format!("nobody knows what this means: {wrong}"))
        );
    }
}
