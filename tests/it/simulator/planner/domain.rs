//! The enumerated worlds: every state of an article, and every cycle around two articles.
//!
//! An article is in one of the [`states`]: two kinds of base (the service answered with the file's words, or it trimmed
//! the title) with every edit of a file and every fate on the service; no base, with every new article; a known draft,
//! with every change of a draft. A world is two articles, each state with each, in every one of: two neighbourhoods
//! (one folder, or one slug in two folders), three directions, three settings of `on_conflict`, and four looks (both
//! whole, the listing or the scan cut short, one path named).
//!
//! Impossible worlds are left out: two files at one place, two articles of the service at one address.

use super::layout::{Layout, Piece, around, piece};
use super::states::{State, states};
use super::words::Rules;
use kbsync::reconcile::snapshot::{Direction, OnConflict};

const DIRECTIONS: [Direction; 3] = [Direction::Both, Direction::Pull, Direction::Push];
const SETTINGS: [OnConflict; 3] = [OnConflict::Hold, OnConflict::Local, OnConflict::Remote];
const LOOKS: usize = 4;
const CYCLES: usize = 2 * DIRECTIONS.len() * SETTINGS.len() * LOOKS;

/// All worlds of two articles, numbered.
pub(super) struct Domain {
    pub(super) states: Vec<State>,
    /// The pieces by neighbourhood, slot and state.
    pieces: [[Vec<Piece>; 2]; 2],
}

impl Domain {
    pub(super) fn new() -> Self {
        let states = states();
        let lay = |together, slot| {
            let around = around(slot, together);
            states.iter().map(|state| piece(*state, around)).collect()
        };
        let pieces = [true, false].map(|together| [0, 1].map(|slot| lay(together, slot)));
        Self { states, pieces }
    }

    /// Returns the count of numbers, including the numbers of impossible worlds.
    pub(super) fn numbers(&self) -> u64 {
        (self.states.len() * self.states.len() * CYCLES) as u64
    }

    /// Returns the count of numbers without a first article: they come first.
    pub(super) fn alone(&self) -> u64 {
        (self.states.len() * CYCLES) as u64
    }

    /// Returns the states of a world, for people.
    pub(super) fn states_of(&self, number: u64) -> [State; 2] {
        let pair = usize::try_from(number).expect("64 bits") / CYCLES;
        [pair / self.states.len(), pair % self.states.len()].map(|index| self.states[index])
    }

    /// Lays a world out; returns false if the world is impossible.
    pub(super) fn layout(&self, number: u64, layout: &mut Layout) -> bool {
        let number = usize::try_from(number).expect("64 bits");
        let (pair, cycle) = (number / CYCLES, number % CYCLES);
        let (on_conflict, cycle) = (SETTINGS[cycle % 3], cycle / 3);
        let (direction, cycle) = (DIRECTIONS[cycle % 3], cycle / 3);
        // The neighbourhood changes last, so the laid-out articles stay until then.
        let (look, apart) = (cycle % LOOKS, cycle / LOOKS);
        let [one, two] = [pair / self.states.len(), pair % self.states.len()];
        layout.pieces.clear();
        layout.pieces.push(self.pieces[apart][0][one]);
        layout.pieces.push(self.pieces[apart][1][two]);
        layout.rules = Rules {
            direction,
            on_conflict,
            listed: look != 1,
            scanned: look != 2,
            max_deletes: 1,
        };
        layout.only = (look == 3).then_some(layout.pieces[0].home);
        layout.folders = if apart == 0 { 1 } else { 2 };
        layout.possible()
    }
}
