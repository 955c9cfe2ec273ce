//! The checks of every world, in addition to the reference model's answers.
//!
//! In order: the accounts of the plan; one plan for one world, whatever the order of its input (I15); no deletion
//! without a witness (I5, in the executor); the model's answers; no effect that is not in the plan (I14); a fixed point
//! after at most three rounds (I3); every word that a person wrote is still somewhere (I1).

use super::answers::{Act, After, Answer};
use super::carry::{Wrong, ensure};
use super::layout::Layout;
use super::reference::judge;
use super::scene::Scene;
use super::subject::{Said, Subject, change, subjects};
use super::texts;
use kbsync::model::{ArticleId, Flags, Side};
use kbsync::reconcile::pairing::Paired;
use kbsync::reconcile::plan::{Action, Key, Outcome, Plan, Step};
use kbsync::reconcile::snapshot::Remote;

/// The largest number of rounds to a fixed point.
const ROUNDS: usize = 3;

/// A bench for worlds. Parts that do not change between worlds are reused, because the cycles around the same articles
/// come one after another.
pub(super) struct Bench {
    scene: Scene,
    looked: Option<Looked>,
    carried: Option<Carried>,
}

/// The pairs of a layout, and what both sides have.
struct Looked {
    layout: Layout,
    paired: Paired,
    /// The same pairs from an input in reverse order.
    reversed: Option<Paired>,
    subjects: Vec<Subject>,
    before: Vec<(Said, Said)>,
}

/// A plan that was carried out, with both sides after its first round: the same plan for the same articles need not be
/// carried out again.
struct Carried {
    layout: Layout,
    plan: Plan,
    after: Vec<(Said, Said)>,
}

impl Bench {
    pub(super) fn new(layout: &Layout) -> Self {
        Self {
            scene: Scene::new(layout),
            looked: None,
            carried: None,
        }
    }

    /// Checks one world; returns the first fault.
    pub(super) fn check(&mut self, layout: &Layout) -> Result<(), Wrong> {
        let scene = &mut self.scene;
        scene.lay(layout);
        let known = self.looked.take();
        let looked = match known.filter(|looked| looked.layout.looks_like(layout)) {
            Some(looked) => looked,
            None => look(scene, layout)?,
        };
        let looked = self.looked.insert(looked);
        let plan = scene.plan(&looked.paired);
        let carried = self
            .carried
            .take()
            .filter(|carried| carried.plan == plan && carried.layout.but_for_conflicts(layout));
        let carried = match carried {
            Some(carried) => carried,
            None => carry_first(scene, layout, looked, plan)?,
        };
        let carried = self.carried.insert(carried);
        answered(layout, looked, carried)
    }
}

fn look(scene: &mut Scene, layout: &Layout) -> Result<Looked, Wrong> {
    let paired = scene.paired();
    let reversed = scene.reverse().then(|| scene.paired());
    scene.reverse();
    let subjects = subjects(layout);
    let before = sides(scene, &subjects)?;
    let layout = layout.clone();
    Ok(Looked {
        layout,
        paired,
        reversed,
        subjects,
        before,
    })
}

fn sides(scene: &Scene, subjects: &[Subject]) -> Result<Vec<(Said, Said)>, Wrong> {
    subjects
        .iter()
        .map(|subject| subject.sides(scene))
        .collect()
}

/// Checks that every key of the inputs has exactly one outcome, and that there is no other outcome.
fn books(scene: &Scene, looked: &Looked, plan: &Plan) -> Result<(), Wrong> {
    let paired = &looked.paired;
    let rows = scene
        .base
        .articles
        .keys()
        .chain(scene.remote.articles.keys());
    let files = paired.files.keys().chain(paired.unknown.keys());
    let mut keys: Vec<ArticleId> = rows.chain(files).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    let count = keys.len() + paired.new_files.len();
    ensure!(
        plan.outcomes.len() == count,
        "keys that are in no input: {:?}",
        plan.outcomes
    );
    outcomes(plan)
}

/// Checks a plan that is met for the first time, and its execution.
fn carry_first(
    scene: &mut Scene,
    layout: &Layout,
    looked: &Looked,
    plan: Plan,
) -> Result<Carried, Wrong> {
    books(scene, looked, &plan)?;
    // Equal pairs have equal plans, whatever the direction, so the reverse order is planned once.
    let reversed = looked.reversed.as_ref();
    let reversed =
        reversed.filter(|paired| layout.rules.settles_all() || **paired != looked.paired);
    if let Some(paired) = reversed {
        scene.reverse();
        let again = scene.plan(paired);
        scene.reverse();
        ensure!(
            plan == again,
            "another order, another plan:\n{}",
            lines(&again)
        );
    }
    let after =
        carry(scene, looked, &plan).map_err(|wrong| format!("{wrong}\n{}", lines(&plan)))?;
    let layout = layout.clone();
    Ok(Carried {
        layout,
        plan,
        after,
    })
}

/// Carries a plan out and continues until both sides are at rest; returns both sides after the first round.
fn carry(scene: &mut Scene, looked: &Looked, plan: &Plan) -> Result<Vec<(Said, Said)>, Wrong> {
    // If the plan does nothing, both sides are at rest already.
    if at_rest(plan) {
        return Ok(looked.before.clone());
    }
    let had = tokens(scene);
    scene.apply(plan)?;
    let after = sides(scene, &looked.subjects)?;
    settle(scene)?;
    let kept = tokens(scene);
    let lost = had.iter().zip(kept).any(|(had, kept)| had & !kept != 0);
    ensure!(!lost, "words of a person are lost");
    Ok(after)
}

/// Compares the result with the reference model, article by article.
fn answered(layout: &Layout, looked: &Looked, carried: &Carried) -> Result<(), Wrong> {
    let (articles, plan) = (layout.articles(), &carried.plan);
    let answers = judge(&articles, &layout.rules);
    for (at, subject) in looked.subjects.iter().enumerate() {
        let (before, after) = (looked.before[at], carried.after[at]);
        let actual = Actual {
            action: subject.action(plan),
            told: subject.told(plan),
            file: change(before.0, after.0),
            service: change(before.1, after.1),
        };
        actual.said()?;
        ensure!(
            answers[at].iter().any(|answer| actual.is(answer)),
            "article {at}: {:?}\n  right: {:?}\n  file {:?}, service {:?}\n{}",
            articles[at],
            answers[at],
            actual.file,
            actual.service,
            lines(plan)
        );
    }
    Ok(())
}

/// Checks that every article of an action counts as decided.
fn outcomes(plan: &Plan) -> Result<(), Wrong> {
    for action in &plan.actions {
        let Some(id) = action.id else { continue };
        let outcome = plan.outcomes.get(&Key::Article(id));
        ensure!(
            outcome == Some(&Outcome::Decided),
            "{outcome:?}: {action:?}"
        );
    }
    Ok(())
}

/// Plans and carries out until nothing is left to do.
fn settle(scene: &mut Scene) -> Result<(), Wrong> {
    for round in 1..=ROUNDS {
        let paired = scene.paired();
        let plan = scene.plan(&paired);
        if at_rest(&plan) {
            return Ok(());
        }
        ensure!(
            round < ROUNDS,
            "still not at rest in round {round}:\n{}",
            lines(&plan)
        );
        let applied = scene.apply(&plan);
        applied.map_err(|wrong| format!("in round {}: {wrong}\n{}", round + 1, lines(&plan)))?;
    }
    Ok(())
}

/// Formats a plan for a message: one line for each action and each problem.
fn lines(plan: &Plan) -> String {
    let actions = plan.actions.iter().map(|action| {
        let held = action.held.as_ref().map(|hold| &hold.reason);
        format!(
            "{:?} {} {} {:?}, {:?}, held: {held:?}\n",
            action.side,
            action.kind.word(),
            action.path,
            action.fields,
            action.note
        )
    });
    let problems = plan.problems.iter();
    let problems = problems.map(|problem| format!("!! {}: {}\n", problem.path, problem.message));
    actions.chain(problems).collect()
}

/// Returns whether a plan does nothing: held actions are only shown again.
fn at_rest(plan: &Plan) -> bool {
    let does = |action: &Action| match &action.step {
        Step::Conflict(conflict) => conflict.needs_copy,
        Step::Settle(_)
        | Step::CreateArticle { .. }
        | Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Wait => action.held.is_none(),
    };
    plan.records.is_empty() && !plan.actions.iter().any(does)
}

/// The result of the first round for one article.
struct Actual<'p> {
    action: Option<&'p Action>,
    told: bool,
    file: After,
    service: After,
}

impl Actual<'_> {
    fn is(&self, answer: &Answer) -> bool {
        let held = self.action.is_none_or(|action| action.held.is_some());
        let act = match answer.act {
            Act::Whatever => true,
            Act::Quiet => self.action.is_none() && !self.told,
            Act::Waits => held && (self.action.is_some() || self.told),
            Act::Does(kinds) => self
                .action
                .is_some_and(|action| action.held.is_none() && kinds.contains(&action.kind)),
        };
        act && self.file == answer.file && self.service == answer.service
    }

    /// Checks that nothing is done that is not in the plan.
    fn said(&self) -> Result<(), Wrong> {
        let action = self.action.filter(|action| action.held.is_none());
        let (file, service) = match action.map(|action| action.side) {
            None => (false, false),
            Some(Side::Local) => (true, false),
            Some(Side::Remote) => (false, true),
            Some(Side::Both) => (true, true),
        };
        ensure!(
            file || self.file == After::Kept,
            "a file changes unsaid: {action:?}"
        );
        ensure!(
            service || self.service == After::Kept,
            "the service changes unsaid: {action:?}"
        );
        Ok(())
    }
}

/// Returns the words of people that still exist, one bit each, by article.
fn tokens(scene: &Scene) -> [u32; texts::MOST] {
    let files = scene.local.files.iter().map(|file| &file.version);
    let service = scene
        .remote
        .articles
        .values()
        .filter_map(|entry| match entry {
            Remote::Present(seen) => Some(&seen.version),
            Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) | Remote::Foreign => None,
        });
    let kept = scene.history.iter().chain(scene.copies.values());
    let mut tokens = [0; texts::MOST];
    for version in files.chain(service).chain(kept) {
        if let Some((slot, words)) = texts::words(version, Flags::default()) {
            let [one, two, three] = words.body;
            tokens[slot] |= 1 << words.title | 16 << one | 256 << two | 4096 << three;
        }
    }
    tokens
}
