//! Random worlds of three to eight articles, and the shrinking of a failing world.

use super::check::Bench;
use super::layout::{Around, Layout, piece};
use super::states::{State, states};
use super::texts::MOST;
use super::words::{Address, Rules};
use kbsync::reconcile::snapshot::{Direction, OnConflict};

/// Numbers from a seed: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).expect("31 bits") % bound
    }

    fn slot(&mut self, bound: u8) -> u8 {
        u8::try_from(self.below(usize::from(bound))).expect("below a byte")
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Returns the seed of one run of many.
pub(super) fn seed_of(seed: u64, run: u64) -> u64 {
    Numbers(seed ^ run.wrapping_mul(0xd6e8_feb8_6659_fd93)).next()
}

/// Makes up a world.
pub(super) fn layout(seed: u64) -> (Layout, Vec<State>) {
    let mut numbers = Numbers(seed);
    let all = states();
    let most = 3 + numbers.slot(6);
    let homes: Vec<Address> = (0..most).map(|slot| home(&mut numbers, slot)).collect();
    let mut layout = Layout {
        pieces: Vec::new(),
        rules: Rules {
            direction: numbers.pick(&[
                Direction::Both,
                Direction::Both,
                Direction::Pull,
                Direction::Push,
            ]),
            on_conflict: numbers.pick(&[OnConflict::Hold, OnConflict::Local, OnConflict::Remote]),
            listed: numbers.below(6) > 0,
            scanned: numbers.below(6) > 0,
            max_deletes: 1 + numbers.below(3),
        },
        only: None,
        folders: 2,
    };
    if numbers.below(6) == 0 {
        layout.only = Some(numbers.pick(&homes));
    }
    let mut chosen = Vec::new();
    for (slot, home) in (0..most).zip(&homes) {
        let neighbour = numbers.pick(&homes);
        let around = Around {
            home: *home,
            away: (home.0, 20 + slot),
            neighbour: if neighbour == *home {
                (home.0, 70 + slot)
            } else {
                neighbour
            },
            line: if neighbour == *home {
                60 + slot
            } else {
                neighbour.1
            },
            copies: [40 + slot, 50 + slot],
        };
        // An impossible piece is chosen again; some state always fits.
        for _ in 0..MOST {
            let state = numbers.pick(&all);
            layout.pieces.push(piece(state, around));
            if layout.possible() {
                chosen.push(state);
                break;
            }
            layout.pieces.pop();
        }
    }
    (layout, chosen)
}

/// Returns a slug of its own in one of the folders, or the slug that the slot before may have in the other folder.
fn home(numbers: &mut Numbers, slot: u8) -> Address {
    if slot % 2 == 1 && numbers.below(3) == 0 {
        return (1, slot - 1);
    }
    (
        if slot.is_multiple_of(2) {
            0
        } else {
            numbers.slot(2)
        },
        slot,
    )
}

/// Leaves articles out of a failing world as long as the world fails.
pub(super) fn shrink(bench: &mut Bench, layout: &mut Layout, chosen: &mut Vec<State>) -> String {
    let mut wrong = bench.check(layout).err().unwrap_or_default();
    let mut at = 0;
    while at < layout.pieces.len() {
        let mut smaller = layout.clone();
        smaller.pieces.remove(at);
        match bench.check(&smaller) {
            Err(still) => {
                (*layout, wrong) = (smaller, still);
                chosen.remove(at);
                at = 0;
            }
            Ok(()) => at += 1,
        }
    }
    wrong
}
