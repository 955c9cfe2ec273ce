//! Runs over many worlds: all of them on several threads, an even slice of them, or random ones.

use super::chance;
use super::check::Bench;
use super::domain::Domain;
use super::layout::Layout;
use super::states::State;
use super::texts;
use super::words::Rules;
use kbsync::reconcile::snapshot::{Direction, OnConflict};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The largest number of failures that are stored; all are counted.
const SHOWN: usize = 5000;

/// The number of worlds that a thread takes at a time.
const CHUNK: u64 = 8192;

/// A world with a failed check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    /// The number of the world, or its seed.
    pub(crate) number: u64,
    /// The world, and the failed check.
    pub(crate) told: String,
}

/// The result of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcome {
    /// The name of the run.
    pub(crate) name: &'static str,
    /// The number of worlds.
    pub(crate) worlds: u64,
    /// The number of failed worlds.
    pub(crate) failed: u64,
    /// The first failures.
    pub(crate) failures: Vec<Failure>,
    /// The duration.
    pub(crate) took: Duration,
}

impl fmt::Display for Outcome {
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        let rate = self.worlds as f64 / seconds.max(0.001);
        write!(
            f,
            "{}: {} worlds in {seconds:.1} s, {rate:.0} a second, {} failed",
            self.name, self.worlds, self.failed
        )?;
        for failure in &self.failures {
            write!(f, "\n\nworld {}: {}", failure.number, failure.told)?;
        }
        Ok(())
    }
}

impl Outcome {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    fn count(&mut self, failure: Option<Failure>) {
        self.worlds += 1;
        if let Some(failure) = failure {
            self.failed += 1;
            if self.failures.len() < SHOWN {
                self.failures.push(failure);
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.worlds += other.worlds;
        self.failed += other.failed;
        self.failures.extend(other.failures);
    }
}

/// Checks every world of two articles; with a `limit` below their number, an even slice of about so many.
pub(crate) fn exhaust(threads: usize, limit: u64, progress: &mut dyn FnMut(u64)) -> Outcome {
    let start = Instant::now();
    let domain = Domain::new();
    let slice = Slice::new(domain.numbers(), limit);
    let next = AtomicU64::new(0);
    let mut all = Outcome::new("worlds of two articles");
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for _ in 0..threads.max(1) {
            let (send, domain, next) = (send.clone(), &domain, &next);
            scope.spawn(move || {
                loop {
                    let from = next.fetch_add(CHUNK, Ordering::Relaxed);
                    if from >= slice.count || send.send(part(domain, slice, from)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        for part in receive {
            all.add(part);
            progress(all.worlds);
        }
    });
    all.failures.sort_by_key(|failure| failure.number);
    all.failures.truncate(SHOWN);
    all.took = start.elapsed();
    all
}

/// Checks every world of one article.
pub(crate) fn alone() -> Outcome {
    let start = Instant::now();
    let domain = Domain::new();
    let mut all = Outcome::new("worlds of one article");
    let slice = Slice {
        count: domain.alone(),
        stride: 1,
    };
    let mut from = 0;
    while from < slice.count {
        all.add(part(&domain, slice, from));
        from += CHUNK;
    }
    all.took = start.elapsed();
    all
}

/// Checks so many worlds on this thread, spread over all of them, until one fails.
pub(crate) fn until_failure(limit: u64) -> Outcome {
    let start = Instant::now();
    let domain = Domain::new();
    let numbers = domain.numbers();
    // Steps of the golden section soon reach every region.
    let step = coprime(numbers / 1_000 * 618);
    let mut all = Outcome::new("worlds of two articles");
    let mut bench = Bench::new(&nothing());
    let mut layout = nothing();
    for index in 0..limit {
        let number = index * step % numbers;
        if domain.layout(number, &mut layout) {
            all.count(tried(&mut bench, &domain, number, &layout));
        }
        if all.failed > 0 {
            break;
        }
    }
    all.took = start.elapsed();
    all
}

/// Returns the next number that shares no factor with any dimension of the domain, so that its multiples visit all of
/// them.
fn coprime(mut number: u64) -> u64 {
    while number > 1
        && [2, 3, 5, 7, 11, 13, 37, 73]
            .iter()
            .any(|prime| number.is_multiple_of(*prime))
    {
        number += 1;
    }
    number.max(1)
}

fn tried(bench: &mut Bench, domain: &Domain, number: u64, layout: &Layout) -> Option<Failure> {
    let wrong = bench.check(layout).err()?;
    let told = format!("{}{wrong}", Told(&domain.states_of(number), layout));
    Some(Failure { number, told })
}

/// Numbers at equal distances.
#[derive(Clone, Copy)]
struct Slice {
    count: u64,
    stride: u64,
}

impl Slice {
    fn new(numbers: u64, limit: u64) -> Self {
        let stride = coprime(numbers / limit.max(1));
        Self {
            count: numbers.div_ceil(stride),
            stride,
        }
    }
}

fn part(domain: &Domain, slice: Slice, from: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let mut layout = nothing();
    let mut bench = Bench::new(&layout);
    for index in from..(from + CHUNK).min(slice.count) {
        let number = index * slice.stride;
        if !domain.layout(number, &mut layout) {
            continue;
        }
        outcome.count(tried(&mut bench, domain, number, &layout));
    }
    outcome
}

/// Checks random worlds of three to eight articles.
pub(crate) fn random(seed: u64, runs: u64) -> Outcome {
    let start = Instant::now();
    let mut all = Outcome::new("random worlds of three to eight articles");
    let mut bench = Bench::new(&nothing());
    for run in 0..runs {
        let number = chance::seed_of(seed, run);
        let (mut layout, mut chosen) = chance::layout(number);
        let failure = bench.check(&layout).err().map(|_| {
            let wrong = chance::shrink(&mut bench, &mut layout, &mut chosen);
            Failure {
                number,
                told: format!("{}{wrong}", Told(&chosen, &layout)),
            }
        });
        all.count(failure);
    }
    all.took = start.elapsed();
    all
}

/// An empty world.
fn nothing() -> Layout {
    Layout {
        pieces: Vec::new(),
        rules: Rules {
            direction: Direction::Both,
            on_conflict: OnConflict::Hold,
            listed: true,
            scanned: true,
            max_deletes: 1,
        },
        only: None,
        folders: 2,
    }
}

/// A world, for people: its articles as (base, mirror, service), and the cycle around them.
struct Told<'a>(&'a [State], &'a Layout);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (state, piece) in self.0.iter().zip(&self.1.pieces) {
            let State { base, here, there } = state;
            let at = texts::place(piece.home.0, piece.home.1);
            write!(f, "({base:?} {here:?} {there:?}) at {at}, ")?;
        }
        let Rules {
            direction,
            on_conflict,
            listed,
            scanned,
            max_deletes,
        } = self.1.rules;
        write!(
            f,
            "{direction:?}, on_conflict {on_conflict:?}, max_deletes {max_deletes}"
        )?;
        if !listed {
            f.write_str(", the listing was cut short")?;
        }
        if !scanned {
            f.write_str(", the scan was cut short")?;
        }
        if let Some((category, name)) = self.1.only {
            write!(f, ", only {}", texts::place(category, name))?;
        }
        writeln!(f)
    }
}
