//! What has to hold in every world, besides the reference model's word on it.
//!
//! In order: the books; one plan for one world, in whatever order it is told (I15); no deletion without a
//! witness (I5, in the executor); the model's answers; nothing done that the plan did not say (I14); a fixed
//! point after at most three rounds (I3); every word that a person wrote still somewhere (I1).

use super::answers::{Act, After, Answer};
use super::carry::{Wrong, ensure};
use super::layout::Layout;
use super::reference::judge;
use super::scene::Scene;
use super::texts;
use super::words::Words;
use kbsync::model::{ArticleId, Flags, Place, Side, Version};
use kbsync::reconcile::plan::{Action, Key, Outcome, Plan, Step};
use kbsync::reconcile::snapshot::Remote;
use kbsync::reconcile::unaccounted;

/// How many rounds lead to a fixed point, at most.
const ROUNDS: usize = 3;

/// Tries one world; says what did not hold.
pub(super) fn check(scene: &mut Scene, layout: &Layout) -> Result<(), Wrong> {
    scene.lay(layout);
    let paired = scene.paired();
    let plan = scene.plan(&paired);
    let open = unaccounted(&scene.world(&paired), &plan);
    ensure!(open.is_empty(), "not accounted for: {open:?}");
    let mut keys: Vec<ArticleId> = paired
        .files
        .keys()
        .chain(paired.unknown.keys())
        .copied()
        .collect();
    keys.extend(
        scene
            .base
            .articles
            .keys()
            .chain(scene.remote.articles.keys()),
    );
    keys.sort_unstable();
    keys.dedup();
    ensure!(
        plan.outcomes.len() == keys.len() + paired.fresh.len(),
        "keys that are in no input: {:?}",
        plan.outcomes
    );
    outcomes(&plan)?;
    if scene.reverse() {
        // What is paired alike is planned alike, whichever way changes may go: that is looked at once.
        let other = scene.paired();
        let again = (other != paired || layout.rules.settles_all()).then(|| scene.plan(&other));
        scene.reverse();
        if let Some(again) = again {
            ensure!(plan == again, "another order, another plan:\n{again}");
        }
    }

    let articles = layout.articles();
    let subjects = subjects(layout);
    let mut before = Vec::with_capacity(subjects.len());
    for subject in &subjects {
        before.push(subject.sides(scene)?);
    }
    // Where nothing is done, both sides are at rest as they are.
    let tokens = (!at_rest(&plan)).then(|| tokens(scene));
    if tokens.is_some() {
        scene
            .apply(&plan)
            .map_err(|wrong| format!("{wrong}\n{plan}"))?;
    }
    let answers = judge(&articles, &layout.rules);
    let told = articles.iter().enumerate();
    for (((subject, before), (at, article)), answers) in
        subjects.iter().zip(before).zip(told).zip(&answers)
    {
        let after = match tokens {
            Some(_) => subject.sides(scene)?,
            None => before,
        };
        let actual = Actual {
            action: subject.action(&plan),
            told: subject.told(&plan),
            file: change(before.0, after.0),
            service: change(before.1, after.1),
        };
        actual.said()?;
        ensure!(
            answers.iter().any(|answer| actual.is(answer)),
            "subject {at} {article:?}\n  right: {answers:?}\n  file {:?}, service {:?}\n{plan}",
            actual.file,
            actual.service
        );
    }
    let Some(tokens) = tokens else { return Ok(()) };
    settle(scene)?;
    let kept = self::tokens(scene);
    let lost = tokens.iter().zip(kept).any(|(had, kept)| had & !kept != 0);
    ensure!(!lost, "words of a person are lost\n{plan}");
    Ok(())
}

/// What is held says so in the books, and everything else that is planned, too.
fn outcomes(plan: &Plan) -> Result<(), Wrong> {
    for action in &plan.actions {
        let Some(id) = action.id else { continue };
        let wanted = if action.held.is_some() {
            Outcome::Held
        } else {
            Outcome::Planned
        };
        let outcome = plan.outcomes.get(&Key::Article(id));
        ensure!(
            outcome == Some(&wanted),
            "{outcome:?} in the books: {action}"
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
            "still not at rest in round {round}:\n{plan}"
        );
        let applied = scene.apply(&plan);
        applied.map_err(|wrong| format!("in round {}: {wrong}\n{plan}", round + 1))?;
    }
    Ok(())
}

/// Tells whether a plan does nothing: what is held is only shown again.
fn at_rest(plan: &Plan) -> bool {
    let does = |action: &Action| match &action.step {
        Step::Conflict(conflict) => conflict.fresh,
        Step::Settle(_)
        | Step::CreateArticle { .. }
        | Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::ParkSlug { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Wait => action.held.is_none(),
    };
    plan.records.is_empty() && !plan.actions.iter().any(does)
}

/// What the model judges: an article, or a file that is an article of its own.
struct Subject {
    id: Option<ArticleId>,
    place: Option<Place>,
    /// A file with the same id that is not meant.
    not: Option<Place>,
}

/// One side of an article, before or after.
type Said = Option<Words>;

fn subjects(layout: &Layout) -> Vec<Subject> {
    let place =
        |file: Option<super::layout::File>| file.map(|file| texts::place(file.folder, file.name));
    let pieces = layout.pieces.iter().enumerate();
    let articles = pieces.map(|(slot, piece)| Subject {
        id: Some(texts::article(slot)),
        place: place(piece.files[0]),
        not: place(piece.files[1]),
    });
    let copies = layout.pieces.iter().filter(|piece| piece.copy.is_some());
    let copies = copies.map(|piece| Subject {
        id: None,
        place: place(piece.files[1]),
        not: None,
    });
    articles.chain(copies).collect()
}

impl Subject {
    fn sides(&self, scene: &Scene) -> Result<(Said, Said), Wrong> {
        let made = scene
            .created
            .iter()
            .find(|(_, place)| Some(place) == self.place.as_ref());
        let made = made.map(|(id, _)| *id);
        let file = scene.local.files.iter().find(|file| {
            let known = file.id.is_some() && (file.id == self.id || file.id == made);
            let at_place = Some(&file.place) == self.place.as_ref();
            Some(&file.place) != self.not.as_ref()
                && (known || at_place && (file.id.is_none() || self.id.is_none()))
        });
        let file = match file {
            Some(file) => {
                let mut words = words(&file.version, file.flags)?;
                // The folder is the category, whatever the plan thought of it.
                let folder = (0..2).find(|number| texts::folder(*number) == file.place.folder);
                words.at.0 = folder.ok_or("a folder that nobody made")?;
                Some(words)
            }
            None => None,
        };
        let entry = [made, self.id].into_iter().flatten().find_map(|id| {
            match scene.remote.articles.get(&id) {
                Some(Remote::Present(seen)) => Some(seen),
                Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)) | None => None,
            }
        });
        let service = match entry {
            Some(seen) => Some(words(&seen.version, seen.flags)?),
            None => None,
        };
        Ok((file, service))
    }

    fn action<'p>(&self, plan: &'p Plan) -> Option<&'p Action> {
        plan.actions.iter().find(|action| match &action.step {
            Step::ParkSlug { .. } => false,
            Step::CreateArticle { place, .. } => Some(place) == self.place.as_ref(),
            Step::Settle(_)
            | Step::CreateCategory { .. }
            | Step::SettleCategory(_)
            | Step::DeleteArticle { .. }
            | Step::RemoveFile { .. }
            | Step::Forget { .. }
            | Step::Conflict(_)
            | Step::Wait => action.id.is_some() && action.id == self.id,
        })
    }

    fn told(&self, plan: &Plan) -> bool {
        plan.problems.iter().any(|problem| {
            problem.id.is_some() && problem.id == self.id
                || self
                    .place
                    .as_ref()
                    .is_some_and(|place| problem.path == place.to_string())
        })
    }
}

fn words(version: &Version, flags: Flags) -> Result<Words, Wrong> {
    let words = texts::words(version, flags).map(|(_, words)| words);
    words.ok_or_else(|| format!("nobody wrote {version:?}"))
}

fn change(before: Said, after: Said) -> After {
    match (before, after) {
        (None, None) => After::Kept,
        (Some(_), None) => After::Removed,
        (Some(before), Some(after)) if before == after => After::Kept,
        (_, Some(after)) => After::Says(after),
    }
}

/// What became of one article in the first round.
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

    /// Nothing is done but what the plan says.
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

/// The words that people wrote and that are somewhere, a bit each, by article.
fn tokens(scene: &Scene) -> [u32; texts::MOST] {
    let files = scene.local.files.iter().map(|file| &file.version);
    let service = scene
        .remote
        .articles
        .values()
        .filter_map(|entry| match entry {
            Remote::Present(seen) => Some(&seen.version),
            Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => None,
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
