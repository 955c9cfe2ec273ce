//! A random team: three writers in clones of one repository, each with a state, and a dashboard. Git and the command
//! are real; the team's steps come from a seed.
//!
//! [`judge`] knows what people wrote and meant, and checks each request that changed the service. [`ground`] is the
//! ground, and [`steps`] are the steps of people. `KBSYNC_TEAM_SEEDS=50` plays so many seeds, from `KBSYNC_TEAM_FIRST`
//! on.

mod ground;
mod judge;
mod steps;

use ground::Team;
use std::{fmt::Write as _, time::Instant};

/// The number of steps before the team comes to rest.
const STEPS: usize = 40;

/// Pseudo-random numbers from a seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("small");
        usize::try_from(self.next() % bound).expect("small")
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() {
            return None;
        }
        all.get(self.below(all.len()))
    }
}

/// Prints the steps when a run fails.
struct Steps {
    seed: u64,
    lines: Vec<String>,
}

impl Drop for Steps {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut text = format!("seed {}:\n", self.seed);
            for line in &self.lines {
                writeln!(text, "  {line}").expect("written");
            }
            tell(&text);
        }
    }
}

#[expect(clippy::print_stderr, reason = "who plays seeds reads it")]
fn tell(text: &str) {
    eprintln!("{text}");
}

fn play(seed: u64) {
    let mut team = Team::new(seed);
    for _ in 0..STEPS {
        team.step();
    }
    team.come_to_rest();
}

fn number(name: &str, usual: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(usual, |given| given.parse().expect("a number"))
}

#[test]
fn f084_f087_whatever_a_team_does_with_git_nothing_is_sent_or_deleted_that_nobody_meant() {
    let (first, count) = (
        number("KBSYNC_TEAM_FIRST", 1),
        number("KBSYNC_TEAM_SEEDS", 3),
    );
    for seed in first..first + count {
        let began = Instant::now();
        play(seed);
        tell(&format!(
            "seed {seed}: {:.1} s",
            began.elapsed().as_secs_f64()
        ));
    }
}
