//! Shortens a failing trace: steps are left out, then faults, then contents are simplified, as long as the same
//! invariant is violated.

use super::relations::{self, Relation};
use super::run::Bench;
use super::step::{
    At, Colleague, Command, Part, Probing, Rewriting, Save, Setup, Step, Trace, What, Writer,
};
use super::world::Violation;

/// Returns the shortest trace that was found, and its violation.
pub(crate) fn shrink(
    bench: &mut Bench,
    relation: Relation,
    trace: &Trace,
    violation: &Violation,
) -> (Trace, Violation) {
    let mut shrinker = Shrinker {
        bench,
        relation,
        best: trace.clone(),
        violation: violation.clone(),
        tries: 3_000,
    };
    loop {
        let before = shrinker.best.clone();
        shrinker.leave_out();
        shrinker.plain_setup();
        shrinker.plain_steps();
        if shrinker.best == before || shrinker.tries == 0 {
            break;
        }
    }
    (shrinker.best, shrinker.violation)
}

struct Shrinker<'a> {
    bench: &'a mut Bench,
    relation: Relation,
    best: Trace,
    violation: Violation,
    tries: usize,
}

impl Shrinker<'_> {
    /// Takes a candidate that still fails in the same way. Returns whether it did.
    fn try_it(&mut self, setup: Setup, steps: &[Step]) -> bool {
        if self.tries == 0 {
            return false;
        }
        self.tries -= 1;
        let (trace, violation) = relations::judge(self.bench, self.relation, setup, steps);
        match violation {
            Some(violation) if violation.invariant == self.violation.invariant => {
                self.best = trace;
                self.violation = violation;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Delta debugging: leaves out ever smaller pieces.
    fn leave_out(&mut self) {
        let mut size = self.best.steps.len().div_ceil(2).max(1);
        loop {
            let mut start = 0;
            let mut changed = false;
            while start < self.best.steps.len() {
                let mut steps = self.best.steps.clone();
                let end = (start + size).min(steps.len());
                steps.drain(start..end);
                if self.try_it(self.best.setup, &steps) {
                    changed = true;
                } else {
                    start += size;
                }
            }
            if size > 1 {
                size = size.div_ceil(2);
            } else if !changed {
                return;
            }
        }
    }

    fn plain_setup(&mut self) {
        let plain: [fn(&mut Setup); 11] = [
            |setup| setup.bodies = true,
            |setup| setup.etag = false,
            |setup| setup.by_category = false,
            |setup| setup.lists_disabled = false,
            |setup| setup.rewriting = Rewriting::Nothing,
            |setup| setup.probing = Probing::Allowed,
            |setup| setup.one_line = false,
            |setup| setup.no_window = false,
            |setup| setup.commands = false,
            |setup| setup.thrifty = false,
            |setup| setup.fine = false,
        ];
        for change in plain {
            let mut setup = self.best.setup;
            change(&mut setup);
            if setup != self.best.setup {
                let steps = self.best.steps.clone();
                self.try_it(setup, &steps);
            }
        }
    }

    fn plain_steps(&mut self) {
        let mut index = 0;
        while index < self.best.steps.len() {
            for plainer in plainer(self.best.steps[index]) {
                if index >= self.best.steps.len() || self.best.steps[index] == plainer {
                    continue;
                }
                let mut steps = self.best.steps.clone();
                steps[index] = plainer;
                if self.try_it(self.best.setup, &steps) {
                    break;
                }
            }
            index += 1;
        }
    }
}

/// Returns plainer steps that may fail as well, the plainest first.
fn plainer(step: Step) -> Vec<Step> {
    match step {
        Step::Run { command } if command != Command::Sync => vec![Step::Run {
            command: Command::Sync,
        }],
        Step::Wait { seconds } if seconds > 1 => [1, 20, 600]
            .into_iter()
            .filter(|less| *less < seconds)
            .map(|seconds| Step::Wait { seconds })
            .collect(),
        Step::PowerLoss { after, .. } => vec![Step::Kill { after }],
        Step::Fault { call, nth, what } => {
            let down = matches!(what, What::Down { .. });
            let less = down.then_some(What::LostBefore);
            let first = (nth > 0).then_some(Step::Fault { call, nth: 0, what });
            let plain = less.map(|what| Step::Fault { call, nth, what });
            first.into_iter().chain(plain).collect()
        }
        Step::Mirror {
            deed: Writer::Edit {
                at, token, part, ..
            },
        } => [(Part::First, Save::RenameOver), (part, Save::RenameOver)]
            .into_iter()
            .map(|(part, save)| Step::Mirror {
                deed: Writer::Edit {
                    at,
                    part,
                    token,
                    save,
                },
            })
            .collect(),
        Step::Service {
            deed: Colleague::Change { at, token, part },
        } if part != Part::First => vec![Step::Service {
            deed: Colleague::Change {
                at,
                part: Part::First,
                token,
            },
        }],
        Step::Mirror {
            deed: Writer::RemoveFolder { folder },
        } => vec![Step::Mirror {
            deed: Writer::Remove { at: At(folder, 0) },
        }],
        Step::Run { .. }
        | Step::Wait { .. }
        | Step::Mirror { .. }
        | Step::Service { .. }
        | Step::Restart
        | Step::Kill { .. }
        | Step::SaveState
        | Step::RestoreState
        | Step::LoseState => Vec::new(),
    }
}
