//! What has to hold between runs: of one trace in another order (I15), and of one that is killed on its way (I7).
//!
//! Both compare where the sides end: all files and all articles. A run that ends with something held or in
//! conflict is not compared, since what is held may depend on what came first; that it is told is I12.

use super::random::mix;
use super::run::{Bench, Ground, Outcome, Source};
use super::step::{At, Colleague, Command, Setup, Step, Trace, Writer};
use super::world::Violation;

/// How a trace is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Relation {
    /// In itself.
    Alone,
    /// Against the same with the deeds of people in another order.
    Order,
    /// Against the same, killed at this boundary of its last cycle, and again at the next one.
    Killed(u16),
}

impl Relation {
    /// How the world of a seed is judged, besides in itself: each is compared, or two in a hundred are.
    pub(crate) fn of(seed: u64, each: bool) -> Self {
        let killed = Self::Killed(u16::try_from(mix(seed) % 70).unwrap_or_default());
        match (seed % 100, each) {
            (33, false) => Self::Order,
            (67, false) => killed,
            (_, false) => Self::Alone,
            (number, true) if number % 2 == 0 => Self::Order,
            (_, true) => killed,
        }
    }

    /// The call that judges in this way, as code.
    pub(crate) fn code(self) -> String {
        match self {
            Self::Alone => "holds(setup, steps)".to_owned(),
            Self::Order | Self::Killed(_) => format!("compares(Relation::{self:?}, setup, steps)"),
        }
    }
}

/// Judges a trace. Gives what was run of it, and what did not hold.
pub(crate) fn judge(
    bench: &mut Bench,
    relation: Relation,
    setup: Setup,
    steps: &[Step],
) -> (Trace, Option<Violation>) {
    let first = run(bench, setup, steps);
    let violation = match relation {
        Relation::Alone => first.violation.clone(),
        Relation::Order | Relation::Killed(_) => other(bench, relation, &first)
            .and_then(|(first, second)| differ(relation, &first, &second)),
    };
    (first.trace, violation)
}

fn run(bench: &mut Bench, setup: Setup, steps: &[Step]) -> Outcome {
    bench.run(setup, Source::Steps(steps), Ground::Memory)
}

/// The two runs that are compared: this one, or a calmer form of it, and the other one.
///
/// None, where the first one says nothing: it violates something by itself, it does not end with equal sides, or
/// there is no other one.
pub(crate) fn other(
    bench: &mut Bench,
    relation: Relation,
    first: &Outcome,
) -> Option<(Outcome, Outcome)> {
    let (setup, steps) = (first.trace.setup, &first.trace.steps);
    let (first, other) = match relation {
        Relation::Alone => return None,
        Relation::Order => (steps.clone(), reordered(steps)),
        Relation::Killed(after) => {
            let calm = calmed(steps)?;
            let killed = killed(&calm, after)?;
            (calm, killed)
        }
    };
    if first == other {
        return None;
    }
    let first = run(bench, setup, &first);
    if first.violation.is_some() || !first.equal {
        return None;
    }
    let second = run(bench, setup, &other);
    // The answer to the POST of a category is the only place that tells its id: a person has to give it.
    let is_lost = second.lost_category && second.violation.is_none();
    (!is_lost).then_some((first, second))
}

/// I15: what people did between two cycles, on two sides or to two articles, may have come in either order.
/// I7: a run that dies in its last cycle, and once more while it recovers, ends where an undisturbed one does.
pub(crate) fn differ(relation: Relation, first: &Outcome, second: &Outcome) -> Option<Violation> {
    if second.violation.is_some() {
        return second.violation.clone();
    }
    let (invariant, how) = match relation {
        Relation::Alone => return None,
        Relation::Order => ("I15", "in another order"),
        Relation::Killed(_) => ("I7", "after two kills"),
    };
    // A kill may leave a copy of a conflict more, and nothing else.
    let plain = |end: &[String]| -> Vec<String> {
        let kept = end.iter().filter(|line| !line.contains(".conflict."));
        kept.cloned().collect()
    };
    let (one, other) = (plain(&first.end), plain(&second.end));
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        let lines = these.iter().filter(|line| !those.contains(line));
        lines.cloned().collect()
    };
    (one != other).then(|| Violation {
        invariant,
        message: format!(
            "it ended with {:#?}, {how} with {:#?}",
            only(&one, &other),
            only(&other, &one)
        ),
    })
}

/// The same steps with a process that dies in the last one, and once more when it is run again.
fn killed(steps: &[Step], after: u16) -> Option<Vec<Step>> {
    let (last, before) = steps.split_last()?;
    let mut killed = before.to_vec();
    for after in [after, after / 2] {
        killed.extend([Step::Kill { after }, *last]);
    }
    killed.push(*last);
    Some(killed)
}

/// The steps up to the last whole cycle, in which nothing goes wrong.
fn calmed(steps: &[Step]) -> Option<Vec<Step>> {
    let is_cycle = |step: &Step| {
        let command = Command::Sync {};
        *step == Step::Run { command }
    };
    let last = steps.iter().rposition(is_cycle)?;
    let mut calm = steps.get(..=last)?.to_vec();
    let runs = |step: &Step| matches!(step, Step::Run { .. });
    let before = calm.get(..last)?.iter().rposition(runs);
    let mut index = 0;
    calm.retain(|step| {
        let late = before.is_none_or(|before| index > before);
        index += 1;
        let trouble = matches!(
            step,
            Step::Fault { .. } | Step::Kill { .. } | Step::PowerLoss { .. }
        );
        !(late && trouble)
    });
    Some(calm)
}

/// The same deeds in another order: a colleague's before the writer's, later edits before earlier ones.
fn reordered(steps: &[Step]) -> Vec<Step> {
    let mut steps = steps.to_vec();
    for end in 1..steps.len() {
        let mut index = end;
        while index > 0 && may_swap(steps[index - 1], steps[index]) {
            steps.swap(index - 1, index);
            index -= 1;
        }
    }
    steps
}

/// Tells whether the second of two deeds may come first, and is to.
fn may_swap(one: Step, other: Step) -> bool {
    match (one, other) {
        (Step::Mirror { .. }, Step::Service { .. }) => true,
        (Step::Mirror { deed: one }, Step::Mirror { deed: other }) => {
            edited(one).zip(edited(other)).is_some_and(falls)
        }
        (Step::Service { deed: one }, Step::Service { deed: other }) => {
            changed(one).zip(changed(other)).is_some_and(falls)
        }
        (
            Step::Mirror { .. }
            | Step::Service { .. }
            | Step::Run { .. }
            | Step::Wait { .. }
            | Step::Restart {}
            | Step::Fault { .. }
            | Step::Kill { .. }
            | Step::PowerLoss { .. }
            | Step::SaveState {}
            | Step::RestoreState {}
            | Step::LoseState {},
            _,
        ) => false,
    }
}

/// Two places, in the order of which the second one comes first.
fn falls((one, other): (At, At)) -> bool {
    one < other
}

/// The place of an edit. Two edits of one place stay in their order.
fn edited(deed: Writer) -> Option<At> {
    if let Writer::Edit { at, .. } = deed {
        Some(at)
    } else {
        None
    }
}

/// The place of a colleague's change.
fn changed(deed: Colleague) -> Option<At> {
    if let Colleague::Change { at, .. } = deed {
        Some(at)
    } else {
        None
    }
}
