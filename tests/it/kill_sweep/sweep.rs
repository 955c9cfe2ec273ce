//! The sweep over one scenario: kill at every point, restart, and compare with the undisturbed run.

use super::picture::{self, Picture, difference};
use super::stage::{Moment, Ran, Stage};
use crate::support::faults::Inject;
use crate::support::faults::habits::Habits;
use crate::support::words::{Words, Written};
use kbsync::model::ExitCode;
use std::collections::BTreeSet;

/// The situation before a command, and the command that is killed.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// The habits of the service.
    pub(super) habits: fn(&mut Habits),
    /// Lines of settings besides service and workspace.
    pub(super) settings: &'static str,
    /// Prepares both sides for the command.
    pub(super) prepare: fn(&Stage),
    pub(super) command: &'static [&'static str],
    /// The command that is run last, and that must have nothing to do.
    pub(super) then: &'static [&'static str],
    /// The number of runs until an undisturbed scenario is at its end.
    pub(super) runs: usize,
    /// Whether the service rewrites what it is sent. Then a write with a lost response cannot be distinguished from a
    /// colleague's edit. Another end is accepted if nothing is lost or double, and if the next run has nothing to do.
    pub(super) rewrites: bool,
    /// The requests of a run that has nothing to do.
    pub(super) quiet: usize,
    /// After every n-th kill, the next run is killed at each of its points as well; 0: after none.
    pub(super) nested: usize,
}

/// Nothing on either side, and `kbsync sync`.
pub(super) const SYNC: Scenario = Scenario {
    name: "",
    habits: |_| (),
    settings: "",
    prepare: |_| (),
    command: &["sync"],
    then: &["sync"],
    runs: 1,
    rewrites: false,
    quiet: 1,
    nested: 0,
};

/// The points at which the command is killed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) first: usize,
    pub(super) stride: usize,
    pub(super) nested: bool,
}

/// The result of a sweep.
#[derive(Clone, Debug, Default)]
pub(super) struct Swept {
    /// The number of points that the command passes.
    pub(super) points: usize,
    /// The number of kills.
    pub(super) kills: usize,
    /// The number of pairs of kills.
    pub(super) pairs: usize,
    /// The number of points that a run did not reach, so that it ended by itself.
    pub(super) missed: usize,
    /// The descriptions of the failures.
    pub(super) failures: Vec<String>,
}

/// A scenario on its stage, and its undisturbed end.
struct Sweep<'a> {
    stage: &'a Stage,
    scenario: &'a Scenario,
    /// The stage before the command.
    start: Moment,
    begin: Picture,
    /// The picture after the command, and after the run that has nothing left to do.
    end: Picture,
    /// The exit codes of both runs.
    codes: [Option<i32>; 2],
    /// The words that people wrote.
    written: Written,
    /// The same words, and the words that the command makes of them.
    known: BTreeSet<Words>,
    /// The words that the history can bring back in the end.
    history: BTreeSet<Words>,
}

/// The largest difference in points between two runs of a command: six writes of the budget, each with a point before
/// and after it. The budget is written by time, so a run on a busy machine has more of these writes.
const BUDGET_POINTS: usize = 12;

/// Sweeps over a scenario.
pub(super) fn sweep(stage: &Stage, scenario: &Scenario, choice: Choice) -> Swept {
    let mut swept = Swept::default();
    let (sweep, points) = match Sweep::undisturbed(stage, scenario) {
        Ok(ready) => ready,
        Err(failure) => {
            swept.failures.push(failure);
            return swept;
        }
    };
    swept.points = points.len();
    for number in (choice.first..=points.len()).step_by(choice.stride) {
        let point = &points[number - 1];
        let kills = swept.kills;
        if let Err(failure) = sweep.kill_once(number, point, choice.nested, &mut swept) {
            swept.failures.push(format!(
                "{}: killed at {number} of {} ({point}): {failure}",
                scenario.name,
                points.len()
            ));
        } else if swept.kills == kills && number * 2 <= points.len() {
            let name = scenario.name;
            swept
                .failures
                .push(format!("{name}: nothing came to {number} ({point})"));
        }
    }
    // The points that a daemon passes depend on timing: on a busy machine a quarter fewer or more.
    if swept.missed > swept.kills + swept.pairs {
        let Swept { missed, kills, .. } = swept;
        let name = scenario.name;
        swept.failures.push(format!(
            "{name}: {missed} runs were not killed, and {kills} were"
        ));
    }
    swept
}

impl<'a> Sweep<'a> {
    /// Runs the scenario without a kill.
    fn undisturbed(
        stage: &'a Stage,
        scenario: &'a Scenario,
    ) -> Result<(Self, Vec<String>), String> {
        stage.renew(scenario);
        (scenario.prepare)(stage);
        let mut written = Written::default();
        written.add(&picture::sides(stage));
        let start = stage.keep();
        let begin = picture::picture(stage);
        stage.put_back(&start);
        let (ran, points) = stage.trace(scenario.command);
        let fail = |why: String| Err(format!("{}: undisturbed: {why}", scenario.name));
        if ran.code.is_none() || points.is_empty() {
            return fail(format!("{ran:#?}"));
        }
        for _ in 1..scenario.runs {
            stage.run(scenario.then);
        }
        let end = picture::picture(stage);
        let mut known = written.words.clone();
        known.extend(picture::sides(stage).words());
        let mut sweep = Self {
            stage,
            scenario,
            start,
            begin,
            end,
            codes: [ran.code; 2],
            history: picture::history(stage, &written),
            written,
            known,
        };
        match sweep.rest() {
            Ok(last) => sweep.codes[1] = last.code,
            Err(why) => return fail(why),
        }
        let lost = picture::lost(stage, &sweep.written);
        if lost.is_empty() {
            Ok((sweep, points))
        } else {
            fail(format!("lost {lost:?}"))
        }
    }

    fn kill_once(
        &self,
        number: usize,
        point: &str,
        nested: bool,
        swept: &mut Swept,
    ) -> Result<(), String> {
        self.stage.put_back(&self.start);
        if !self.kill(number, swept.points, &[])? {
            swept.missed += 1;
            return Ok(());
        }
        swept.kills += 1;
        let left = picture::picture(self.stage);
        // Where nothing has changed yet, the run after the kill repeats the undisturbed run, which is swept anyway.
        let nested =
            nested && self.scenario.nested > 0 && number.is_multiple_of(self.scenario.nested);
        let changed = nested && !is_before(point) && left != self.begin;
        let after = changed.then(|| self.stage.keep());
        let (points, same) = self.recover()?;
        if same {
            self.check_codes(&self.rest()?)?;
        }
        let Some(after) = after else { return Ok(()) };
        for (second, point) in points.iter().enumerate() {
            if is_before(point) {
                continue;
            }
            let second = second + 1;
            self.stage.put_back(&after);
            let told = |why| format!("then at {second} of {} ({point}): {why}", points.len());
            // A run after a kill may leave something for the next one.
            let left_over = [3, 4, 5].map(Some);
            if !(self.kill(second, points.len(), &left_over)).map_err(told)? {
                swept.missed += 1;
            } else if picture::picture(self.stage) != left {
                swept.pairs += 1;
                let (_, same) = self.recover().map_err(told)?;
                if same {
                    let rested = self.rest().and_then(|ran| self.check_codes(&ran));
                    rested.map_err(told)?;
                }
            }
        }
        Ok(())
    }

    /// Runs the command until it is killed, and checks both sides at that instant. Returns whether it was killed: the
    /// number of points varies for a daemon, and with the writes of the budget. `more`: exit codes beside the
    /// scenario's.
    fn kill(&self, number: usize, points: usize, more: &[Option<i32>]) -> Result<bool, String> {
        let ran = self.stage.run_killed_at(self.scenario.command, number);
        let is_near_end = number + BUDGET_POINTS > points;
        let mut codes = self.codes.iter().chain(more);
        let has_ended = ran.code == Some(0) || codes.any(|code| *code == ran.code);
        if has_ended && (self.scenario.command == ["run"] || is_near_end) {
            return Ok(false);
        }
        if ran.code.is_some() {
            return Err(format!("it was not killed: {ran:#?}"));
        }
        let torn = picture::torn(self.stage, &self.known);
        if !torn.is_empty() {
            return Err(format!("torn: {torn:#?}"));
        }
        self.nothing_lost().map(|()| true)
    }

    /// Runs the command again, to its end, and compares. Returns the points that it passed, and whether its end is the
    /// undisturbed end.
    fn recover(&self) -> Result<(Vec<String>, bool), String> {
        let has_fault = !self.stage.sandbox.faults().is_empty();
        let (mut ran, points) = self.stage.trace(self.scenario.command);
        if self.do_as_told(&ran) {
            ran = self.stage.run(self.scenario.command);
        }
        self.run_on();
        let mut found = self.picture();
        // If the kill came before the request, the scenario's lost response hits this run.
        let is_to_retry = has_fault && ran.code == Some(i32::from(ExitCode::Retry.number()));
        if found != self.end && (self.scenario.then != self.scenario.command || is_to_retry) {
            // Any other command finishes the work of such a command.
            ran = self.stage.run(self.scenario.then);
            found = self.picture();
        }
        if found != self.end && (self.scenario.rewrites || self.waits(&ran)) {
            return self.rest_elsewhere(&found).map(|()| (points, false));
        }
        if found != self.end {
            let difference = difference(&found, &self.end);
            return Err(format!("another end:\n{difference}\nafter {ran:#?}"));
        }
        self.nothing_lost()?;
        // Words that are still on both sides need not be in the history yet.
        let mut history = picture::history(self.stage, &self.written);
        history.extend(picture::sides(self.stage).words());
        let missing: Vec<_> = self.history.difference(&history).collect();
        if !missing.is_empty() {
            return Err(format!("the history lacks {missing:#?}"));
        }
        if self.scenario.then == self.scenario.command {
            self.check_codes(&ran)?;
        }
        Ok((points, true))
    }

    /// Runs the further runs that the scenario needs.
    fn run_on(&self) {
        for _ in 1..self.scenario.runs {
            self.stage.run(self.scenario.then);
        }
    }

    /// Returns the present picture. The next sync deletes the temporary file of `new`; `check` does not.
    fn picture(&self) -> Picture {
        let mut picture = picture::picture(self.stage);
        if self.scenario.then == ["check"] {
            picture.retain(|key, _| !picture::is_temporary(key));
        }
        picture
    }

    /// Returns whether an action waits for a person that an undisturbed run carries out: a correct end, if nothing is
    /// lost or double.
    fn waits(&self, ran: &Ran) -> bool {
        let attention = Some(i32::from(ExitCode::Attention.number()));
        ran.code == attention && !self.codes.contains(&attention)
    }

    fn rest_elsewhere(&self, found: &Picture) -> Result<(), String> {
        self.nothing_lost()?;
        let articles =
            |picture: &Picture| picture.keys().filter(|k| k.starts_with("article ")).count();
        self.stage.sandbox.clear_requests();
        let ran = self.stage.run(self.scenario.then);
        let counts = self.stage.sandbox.counts();
        let difference = difference(&self.picture(), found);
        if counts.writes() > 0 || !difference.is_empty() || articles(found) != articles(&self.end) {
            return Err(format!("no rest elsewhere:\n{difference}\nafter {ran:#?}"));
        }
        Ok(())
    }

    /// Makes a run that has nothing to do: it reports that, and changes nothing.
    fn rest(&self) -> Result<Ran, String> {
        let stage = self.stage;
        stage.sandbox.clear_requests();
        let stamps = stamps(stage);
        let ran = stage.run(self.scenario.then);
        let (found, counts) = (self.picture(), stage.sandbox.counts());
        if found != self.end {
            let difference = difference(&found, &self.end);
            return Err(format!("no rest:\n{difference}\nafter {ran:#?}"));
        }
        let quiet = u64::try_from(self.scenario.quiet).expect("few");
        if counts.total != quiet || counts.writes() > 0 || stamps != self::stamps(stage) {
            let asked: Vec<_> = stage.sandbox.requests();
            return Err(format!("not quiet: {asked:#?} {ran:#?}"));
        }
        Ok(ran)
    }

    fn check_codes(&self, ran: &Ran) -> Result<(), String> {
        if self.codes.contains(&ran.code) {
            return Ok(());
        }
        Err(format!("exit code not of {:?}: {ran:#?}", self.codes))
    }

    fn nothing_lost(&self) -> Result<(), String> {
        let lost = picture::lost(self.stage, &self.written);
        if lost.is_empty() {
            Ok(())
        } else {
            Err(format!("lost: {lost:#?}"))
        }
    }

    /// A person follows the report: a category whose creation had a lost response cannot be found through the API.
    fn do_as_told(&self, ran: &Ran) -> bool {
        let said = format!("{}{}", ran.stdout, ran.stderr);
        if said.contains("put its id into the file") {
            return self.give_id(&said);
        }
        let Some((_, rest)) = said.split_once("put its id into ") else {
            return false;
        };
        let Some((folder, _)) = rest.split_once("/_category.yaml") else {
            return false;
        };
        let categories = self.stage.sandbox.categories();
        let Some(category) = categories.iter().find(|one| one.slug == folder) else {
            return false;
        };
        let path = format!("{folder}/_category.yaml");
        let rest = if self.stage.mirror().join(&path).exists() {
            self.stage.read(&path)
        } else {
            format!("name: {}\n", category.name)
        };
        self.stage
            .write(&path, &format!("id: {}\n{rest}", category.id));
        true
    }

    /// A draft cannot be found either: the person has its id from the dashboard.
    fn give_id(&self, said: &str) -> bool {
        let articles = self.stage.sandbox.articles();
        let named = articles.iter().find_map(|one| {
            let file = format!("{}.html", one.slug);
            let path = said.split_whitespace().find(|word| word.ends_with(&file))?;
            Some((path, one.id))
        });
        let Some((path, id)) = named else {
            return false;
        };
        self.stage.edit(path, "---\n", &format!("---\nid: {id}\n"));
        true
    }
}

/// Returns whether nothing has changed since the point before.
fn is_before(point: &str) -> bool {
    point.contains(": before ") || point.starts_with("budget:")
}

/// Returns the time of the last write of each of the mirror's files.
fn stamps(stage: &Stage) -> Vec<(String, std::time::SystemTime)> {
    let mirror = stage.mirror();
    picture::files(stage)
        .into_keys()
        .filter(|path| !path.starts_with(".kbsync/"))
        .map(|path| {
            let found = std::fs::metadata(mirror.join(&path)).expect("a file");
            (path, found.modified().expect("a moment"))
        })
        .collect()
}
