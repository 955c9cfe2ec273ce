//! Decisions as data: small worlds, their plans, and the laws of all plans.

mod apply;
mod categories;
mod conflicts;
mod emptied;
mod flags;
mod guards;
mod identity;
mod laws;
mod order;
mod people;
mod small;
mod table;
mod worlds;

use super::plan::{Action, Plan};
use crate::model::{Field, Side};
use std::fmt;

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = match self.side {
            Side::Local => "<-",
            Side::Remote => "->",
            Side::Both => "<>",
        };
        write!(f, "{arrow} {} {}", self.kind.word(), self.path)?;
        if !self.fields.is_empty() {
            write!(f, " ({})", Field::keys(&self.fields, ", "))?;
        }
        if let Some(note) = &self.note {
            write!(f, ", {note}")?;
        }
        if let Some(hold) = &self.held {
            write!(f, ", held: {}", hold.reason)?;
        }
        Ok(())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for action in &self.actions {
            writeln!(f, "{action}")?;
        }
        for problem in &self.problems {
            let path = &problem.path;
            let colon = if path.is_empty() { "" } else { ": " };
            writeln!(f, "!! {path}{colon}{}", problem.message)?;
        }
        Ok(())
    }
}
