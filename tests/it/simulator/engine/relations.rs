//! The relations between runs: of one trace in another order (I15), killed during the last cycle (I7), with a fault at
//! one article (I13), and on a real folder (L2).
//!
//! The first two compare the ends: all files and all articles, except those that either run holds ([`super::held`]). On
//! a real folder everything is the same, including the calls.

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
    /// The judgement of a trace.
    Relation {
        /// By itself.
        Alone,
        /// Against the same steps with the deeds of people in another order.
        Order,
        /// Against the same steps, killed at this boundary of the last cycle, and again in the next cycle.
        Killed { after: u16 },
        /// Against the same steps, with the fault of this number in the last cycle.
        Struck { number: u16 },
        /// Against the same steps on a real folder with a real database.
        Disk,
    }
}

/// The runs that are compared with another run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compare {
    /// Four in a hundred.
    Few,
    /// Each run that can be compared.
    Each,
    /// Each run that can be compared, with a run on a real folder.
    OnDisk,
}

impl Relation {
    /// Returns the relation by which the world of a seed is judged, besides by itself.
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

/// Judges a trace. Returns the trace of the run, and the violation.
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

/// A power loss is possible in memory only.
fn can_be_real(step: &Step) -> bool {
    !matches!(step, Step::PowerLoss { .. })
}

/// Returns the two runs to compare: this run, or a calmer form of it, and the other run.
///
/// `None`: the first run proves nothing, or there is no other run.
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
        // With a short budget, a failed request costs another article its request.
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

/// I15: the deeds of people between two cycles, on two sides or at two articles, may come in either order. I7: a run
/// that dies in its last cycle, and again during recovery, ends like an undisturbed run.
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
    // A kill may leave one more conflict copy, and an action that waits for a person. If the kill lost the response,
    // nobody knows that the service rewrote the text: the rewriting counts as a colleague's edit, and is pulled.
    let rewriting = match relation {
        Relation::Killed { .. } => first.trace.setup.rewriting,
        Relation::Alone | Relation::Order | Relation::Struck { .. } | Relation::Disk => {
            Rewriting::Nothing
        }
    };
    let setup = first.trace.setup;
    // Nor does anybody know whether a listed article was sent hidden and is still hidden, if hidden articles are listed
    // and no probe is allowed.
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
    // Only reads that happen once a day may wait for a day.
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

/// Returns a line of a run's end, with the name and the text of a file as the service would rewrite them.
fn as_rewritten(rewriting: Rewriting, line: &str) -> String {
    match line.split_once("\n---\n") {
        Some((head, text)) if rewriting != Rewriting::Nothing => {
            let (path, rest) = head.split_once(".html: ").unwrap_or((head, ""));
            let path = path.to_lowercase();
            // A pulled address that differs from the file's name in case only is a line.
            let address = format!("slug: {}", path.rsplit('/').next().unwrap_or_default());
            let rest: Vec<&str> = rest.lines().filter(|line| *line != address).collect();
            let rest = rest.join("\n");
            format!("{path}.html: {rest}\n---\n{}", rewritten(rewriting, text))
        }
        Some(_) | None => line.to_owned(),
    }
}

/// L2: a run on a real folder makes the same calls, and ends with the same files and articles.
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

/// Returns the same steps with a fault in the last one.
fn struck(first: &Outcome, number: u16) -> Option<Vec<Step>> {
    let (last, before) = first.trace.steps.split_last()?;
    let mut struck = before.to_vec();
    struck.extend([isolation::fault(number, first)?, *last]);
    Some(struck)
}

/// Returns the same steps with a process that dies in the last step, and again when that step is repeated.
fn killed(steps: &[Step], after: u16) -> Option<Vec<Step>> {
    let (last, before) = steps.split_last()?;
    let mut killed = before.to_vec();
    for after in [after, after / 2] {
        killed.extend([Step::Kill { after }, *last]);
    }
    killed.push(*last);
    Some(killed)
}

/// Returns the steps up to the last whole cycle, without faults in it.
fn calmed(steps: &[Step]) -> Option<Vec<Step>> {
    let is_cycle = |step: &Step| {
        let command = Command::Sync;
        *step == Step::Run { command }
    };
    let last = steps.iter().rposition(is_cycle)?;
    let mut calm = steps.get(..=last)?.to_vec();
    // A fault waits for a cycle, and a command with nothing to approve or to settle runs none.
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

/// Returns the same deeds in another order: a colleague's before the writer's, later edits before earlier ones.
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

/// Returns whether the second of two places sorts before the first.
fn falls((one, other): (At, At)) -> bool {
    one < other
}

/// Returns the place of an edit. Two edits of one place stay in their order.
fn edited(deed: Writer) -> Option<At> {
    if let Writer::Edit { at, .. } = deed {
        Some(at)
    } else {
        None
    }
}

/// Returns the place of a colleague's change.
fn changed(deed: Colleague) -> Option<At> {
    if let Colleague::Change { at, .. } = deed {
        Some(at)
    } else {
        None
    }
}
