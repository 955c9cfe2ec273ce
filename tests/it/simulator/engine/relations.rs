//! What has to hold between runs: of one trace in another order (I15), of one that is killed on its way (I7), of
//! one in which something goes wrong with one article (I13), and of one on a real folder (L2).
//!
//! The first two compare where the sides end: all files and all articles, but for what either run holds
//! ([`super::held`]). On a real folder everything is the same, down to the calls.

use super::held::Held;
use super::isolation;
use super::kb::rewritten;
use super::random::mix;
use super::run::{Bench, Ground, Outcome, Rested, Source};
use super::step::{At, Colleague, Command, Probing, Rewriting, Setup, Step, Trace, Writer};
use super::wording::{self, variants};
use super::world::Violation;
use kbsync::model::ArticleId;

variants! {
    /// How a trace is judged.
    Relation {
        /// In itself.
        Alone,
        /// Against the same with the deeds of people in another order.
        Order,
        /// Against the same, killed at this boundary of its last cycle, and again at the next one.
        Killed { after: u16 },
        /// Against the same, with the fault of this number in its last cycle.
        Struck { number: u16 },
        /// Against the same on a real folder with a real database.
        Disk,
    }
}

/// Which runs are compared with another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compare {
    /// Four in a hundred.
    Few,
    /// Each that can be.
    Each,
    /// Each that can be, with one on a real folder.
    OnDisk,
}

impl Relation {
    /// How the world of a seed is judged, besides in itself.
    pub(crate) fn of(seed: u64, compare: Compare) -> Self {
        let number = |most| u16::try_from(mix(seed) % most).unwrap_or_default();
        let killed = Self::Killed { after: number(70) };
        let struck = Self::Struck {
            number: number(1000),
        };
        match (seed % 100, compare) {
            (_, Compare::OnDisk) | (0, _) => Self::Disk,
            (33, Compare::Few) => Self::Order,
            (50, Compare::Few) => struck,
            (67, Compare::Few) => killed,
            (_, Compare::Few) => Self::Alone,
            (number, Compare::Each) if number % 5 == 3 => struck,
            (number, Compare::Each) if number % 2 == 0 => Self::Order,
            (_, Compare::Each) => killed,
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
        Relation::Order | Relation::Killed { .. } | Relation::Struck { .. } | Relation::Disk => {
            other(bench, relation, &first)
                .and_then(|(first, second)| differ(relation, &first, &second))
        }
    };
    (first.trace, violation)
}

fn run(bench: &mut Bench, setup: Setup, steps: &[Step]) -> Outcome {
    bench.run(setup, Source::Steps(steps), Ground::Memory)
}

/// Runs a trace on a real folder with a real database.
fn run_on_disk(bench: &mut Bench, setup: Setup, steps: &[Step]) -> Outcome {
    let root = tempfile::tempdir().expect("a folder");
    bench.run(setup, Source::Steps(steps), Ground::Folder(root.path()))
}

/// A loss of power is for memory alone.
fn can_be_real(step: &Step) -> bool {
    !matches!(step, Step::PowerLoss { .. })
}

/// The two runs that are compared: this one, or a calmer form of it, and the other one.
///
/// None, where the first one says nothing, or there is no other one.
pub(crate) fn other(
    bench: &mut Bench,
    relation: Relation,
    first: &Outcome,
) -> Option<(Outcome, Outcome)> {
    let (setup, steps) = (first.trace.setup, &first.trace.steps);
    let (first, other) = match relation {
        Relation::Alone => return None,
        Relation::Order => (steps.clone(), reordered(steps)),
        Relation::Killed { after } => {
            let calm = calmed(steps)?;
            let killed = killed(&calm, after)?;
            (calm, killed)
        }
        // Where the budget is short, a request that went wrong is one that another article waits for.
        Relation::Struck { .. } if setup.thrifty => return None,
        Relation::Struck { number } => {
            let first = run(bench, setup, &calmed(steps)?);
            let struck = struck(&first, number)?;
            let second = run(bench, setup, &struck);
            let counts =
                first.violation.is_none() && isolation::is_one_article(second.struck.as_ref());
            return counts.then_some((first, second));
        }
        Relation::Disk => {
            if !steps.iter().all(can_be_real) {
                return None;
            }
            let first = run(bench, setup, steps);
            let second = run_on_disk(bench, setup, steps);
            return first.violation.is_none().then_some((first, second));
        }
    };
    if first == other {
        return None;
    }
    bench.outlasts = true;
    let (first, second) = (run(bench, setup, &first), run(bench, setup, &other));
    bench.outlasts = false;
    Some((first, second))
}

/// I15: what people did between two cycles, on two sides or to two articles, may have come in either order.
/// I7: a run that dies in its last cycle, and once more while it recovers, ends where an undisturbed one does.
pub(crate) fn differ(relation: Relation, first: &Outcome, second: &Outcome) -> Option<Violation> {
    if first.violation.is_some() || second.violation.is_some() {
        return first
            .violation
            .as_ref()
            .or(second.violation.as_ref())
            .cloned();
    }
    let (invariant, how) = match relation {
        Relation::Alone => return None,
        Relation::Struck { .. } => return isolation::differ(first, second),
        Relation::Disk => return differ_on_disk(first, second),
        Relation::Order => ("I15", "in another order"),
        Relation::Killed { .. } => ("I7", "after two kills"),
    };
    // A kill may leave a copy of a conflict more, and something that waits for a person. Where it took the answer to what was sent, nobody
    // knows that it was the service that rewrote it: that counts as a colleague's, and is pulled.
    let rewriting = match relation {
        Relation::Killed { .. } => first.trace.setup.rewriting,
        Relation::Alone | Relation::Order | Relation::Struck { .. } | Relation::Disk => {
            Rewriting::Nothing
        }
    };
    let setup = first.trace.setup;
    // Nor whether what is listed was sent hidden and lies there so, where hidden articles are listed and no probe tells.
    let blind = setup.lists_disabled
        && setup.probing != Probing::Allowed
        && matches!(relation, Relation::Killed { .. });
    let shown = |line: String| {
        let of = |id: &ArticleId| line.contains(&id.to_string());
        if blind && second.died_over.iter().any(of) {
            line.replace("\nenabled: false\n", "\n")
        } else {
            line
        }
    };
    let worse = second.left.worse_than(&first.left);
    if let Some(message) = worse.filter(|_| matches!(relation, Relation::Killed { .. })) {
        return Some(Violation { invariant, message });
    }
    let held = Held::of_both(first, second);
    let plain = |end: &[String]| -> Vec<String> {
        let kept = end.iter();
        let kept = kept.filter(|line| !line.contains(".conflict.") && !held.has(line));
        let lines = kept.map(|line| shown(as_rewritten(rewriting, line)));
        let mut lines: Vec<String> = lines.collect();
        lines.sort();
        lines
    };
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        let lines = these.iter().filter(|line| !those.contains(line));
        lines.cloned().collect()
    };
    let compared = |what: &str, one: Vec<String>, other: Vec<String>| {
        let apart = (only(&one, &other), only(&other, &one));
        let message = format!("it {what} with {:#?}, {how} with {:#?}", apart.0, apart.1);
        (one != other).then_some(Violation { invariant, message })
    };
    // Nobody need wait a day for what is not asked for once a day only.
    let rests = first.rested.as_ref().zip(second.rested.as_ref());
    let rests = rests.filter(|(one, other)| one.equal && other.equal);
    let early = rests.and_then(|(one, other)| {
        let hidden: Vec<String> = (one.hidden.iter().chain(&other.hidden))
            .map(ToString::to_string)
            .collect();
        let seen = |rested: &Rested| {
            let mut lines = plain(&rested.lines);
            lines.retain(|line| !hidden.iter().any(|id| line.contains(id)));
            lines.sort();
            lines
        };
        compared("came to rest", seen(one), seen(other))
    });
    early.or_else(|| compared("ended", plain(&first.end), plain(&second.end)))
}

/// A line of how a run ended, with the name and the text of a file as the service would rewrite them.
fn as_rewritten(rewriting: Rewriting, line: &str) -> String {
    match line.split_once("\n---\n") {
        Some((head, text)) if rewriting != Rewriting::Nothing => {
            let (path, rest) = head.split_once(".html: ").unwrap_or((head, ""));
            let path = path.to_lowercase();
            format!("{path}.html: {rest}\n---\n{}", rewritten(rewriting, text))
        }
        Some(_) | None => line.to_owned(),
    }
}

/// L2: on a real folder it makes the same calls, and ends with the same files and articles.
fn differ_on_disk(first: &Outcome, second: &Outcome) -> Option<Violation> {
    let message = if first.end != second.end {
        format!(
            "in memory it ended with {:#?}, on the disk with {:#?}",
            first.end, second.end
        )
    } else if first.hash != second.hash {
        "on the disk it took another way".to_owned()
    } else {
        return None;
    };
    Some(Violation {
        invariant: "L2",
        message,
    })
}

/// The same steps with something that goes wrong in the last one.
fn struck(first: &Outcome, number: u16) -> Option<Vec<Step>> {
    let (last, before) = first.trace.steps.split_last()?;
    let mut struck = before.to_vec();
    struck.extend([isolation::fault(number, first)?, *last]);
    Some(struck)
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
        let command = Command::Sync;
        *step == Step::Run { command }
    };
    let last = steps.iter().rposition(is_cycle)?;
    let mut calm = steps.get(..=last)?.to_vec();
    // What is to go wrong waits for a cycle, and where nothing is to be released or settled there is none.
    let runs = |step: &Step| {
        let may_rest = |command| matches!(command, Command::Approve | Command::Resolve { .. });
        matches!(step, Step::Run { command } if !may_rest(*command))
    };
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

/// Returns whether the second of two deeds may come first, and is to.
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
            | Step::Restart
            | Step::Fault { .. }
            | Step::Kill { .. }
            | Step::PowerLoss { .. }
            | Step::SaveState
            | Step::RestoreState
            | Step::LoseState,
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
