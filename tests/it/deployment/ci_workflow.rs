//! The steps of `examples/ci-workflow.yml`, run in order: the real git and a bare repository, the real command and a
//! stand-in for the service. Each run begins with a fresh clone; only the files that the workflow keeps pass from run
//! to run.

use crate::deployment::files::{list, text, yaml};
use crate::support::kb::{Kb, Service, TOKEN, write_program};
use serde_yaml::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A team: a repository, a writer's clone of it, and the files that runs of the workflow keep.
struct Team {
    service: Service,
    /// The folder that holds the repository, the clones and the kept files.
    place: Kb,
    steps: Vec<Value>,
}

/// Two paragraphs whose changes git can merge: between neighbouring lines there would be a conflict.
const TEXT: &str = "<p>One.</p>\n<p>x</p>\n<p>y</p>\n<p>Two.</p>";

/// The result of each step of a run, by its name; a skipped step is not named.
type Ended = Vec<(String, bool)>;

impl Team {
    /// Makes a repository that has the settings, and that was never synced.
    fn new() -> Self {
        let [file] = yaml("examples/ci-workflow.yml").try_into().expect("one");
        let steps = list(&file, "jobs/sync/steps").to_vec();
        let service = Service::empty();
        let start = service.category("start");
        service.article(start, "one", TEXT);
        service.article(start, "gone", "<p>Gone.</p>");
        let place = Kb::new();
        let team = Self {
            service,
            place,
            steps,
        };
        team.git(
            &team.path(""),
            &[
                "init",
                "--quiet",
                "--bare",
                "--initial-branch=main",
                "origin.git",
            ],
        );
        team.git(
            &team.path(""),
            &["clone", "--quiet", "origin.git", "writer"],
        );
        let settings = format!(
            "workspace: {}\ngit: {{branch: main}}\n",
            team.service.workspace
        );
        team.commit("help/kbsync.yaml", Some(&settings));
        team
    }

    fn path(&self, below: &str) -> PathBuf {
        self.place.mirror().join(below)
    }

    /// A program without any settings of this user.
    fn command(&self, program: &str, folder: &Path) -> Command {
        let ours = Path::new(env!("CARGO_BIN_EXE_kbsync"))
            .parent()
            .expect("a folder");
        let others = std::env::var("PATH").expect("a path");
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", format!("{}:{others}", ours.display()))
            .env("HOME", self.path(""))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    #[track_caller]
    fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=writer", "-c", "user.email=w@example.com"];
        let output = self
            .command("git", folder)
            .args(identity)
            .args(arguments)
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// A writer writes or removes a file, and pushes the commit.
    #[track_caller]
    fn commit(&self, file: &str, content: Option<&str>) {
        let clone = self.path("writer");
        let path = clone.join(file);
        match content {
            Some(content) => {
                fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                fs::write(&path, content).expect("written");
            }
            None => fs::remove_file(&path).expect("removed"),
        }
        self.git(&clone, &["add", "-A"]);
        self.git(&clone, &["commit", "--quiet", "-m", "words"]);
        self.git(&clone, &["push", "--quiet", "origin", "HEAD:main"]);
    }

    /// A writer replaces words in a file of the repository, and pushes the commit.
    #[track_caller]
    fn edit(&self, file: &str, from: &str, to: &str) {
        self.git(
            &self.path("writer"),
            &["pull", "--quiet", "--rebase", "origin", "main"],
        );
        let before = self.published(file);
        assert!(before.contains(from), "{file} has no {from:?}:\n{before}");
        self.commit(file, Some(&before.replacen(from, to, 1)));
    }

    /// Returns a file as it is in the repository.
    #[track_caller]
    fn published(&self, file: &str) -> String {
        self.git(&self.path("origin.git"), &["show", &format!("main:{file}")])
    }

    /// Runs the steps of the workflow. `before` is called with the name of each step.
    fn run(&self, mut before: impl FnMut(&str)) -> Ended {
        let (work, kept) = (self.path("work"), self.path("kept"));
        let mut ended: Ended = Vec::new();
        let mut all_well = true;
        for step in &self.steps {
            let name = step
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or("Check out");
            let taken_up = ended
                .iter()
                .any(|(name, well)| name.starts_with("Take up") && *well);
            let is_due = match step.get("if").and_then(Value::as_str) {
                None => all_well,
                Some("always()") => true,
                Some("always() && steps.take-up.outcome == 'success'") => taken_up,
                Some(other) => panic!("{name}: {other} is not known here"),
            };
            if !is_due {
                continue;
            }
            before(name);
            let uses = step.get("uses").and_then(Value::as_str).unwrap_or_default();
            let kept_paths = || text(step, "with/path").lines().map(str::trim);
            let well = match uses.split('@').next().unwrap_or_default() {
                "actions/checkout" => {
                    if work.exists() {
                        fs::remove_dir_all(&work).expect("removed");
                    }
                    self.git(
                        &self.path(""),
                        &["clone", "--quiet", "--branch=main", "origin.git", "work"],
                    );
                    true
                }
                "actions/cache/restore" => {
                    kept_paths().for_each(|path| copy(&kept.join(path), &work.join(path)));
                    true
                }
                "actions/cache/save" => {
                    if kept.exists() {
                        fs::remove_dir_all(&kept).expect("removed");
                    }
                    kept_paths().for_each(|path| copy(&work.join(path), &kept.join(path)));
                    true
                }
                "" => self.script(step, &work).status.success(),
                other => panic!("{other} is not known here"),
            };
            all_well &= well;
            ended.push((name.to_owned(), well));
        }
        ended
    }

    /// Runs a step's lines as the workflow's shell does.
    fn script(&self, step: &Value, work: &Path) -> Output {
        let mut command = self.command("sh", work);
        command.args(["-e", "-c", text(step, "run")]);
        let given = step.get("env").and_then(Value::as_mapping);
        for (name, value) in given.into_iter().flatten() {
            let (name, value) = (
                name.as_str().expect("a name"),
                value.as_str().expect("text"),
            );
            let value = value
                .replace("${{ github.workspace }}", &work.display().to_string())
                .replace("${{ secrets.KBSYNC_TOKEN }}", TOKEN);
            assert!(!value.contains("${{"), "{value} is not known here");
            let service = name == "KBSYNC_SERVICE";
            command.env(name, if service { &self.service.url } else { &value });
        }
        command.output().expect("it runs")
    }

    /// Sets whether the repository accepts a push.
    fn takes_pushes(&self, yes: bool) {
        let hook = self.path("origin.git/hooks/pre-receive");
        fs::create_dir_all(hook.parent().expect("a folder")).expect("made");
        write_program(&hook, &format!("#!/bin/sh\nexit {}\n", i32::from(!yes)));
    }

    /// Changes an article's words in the dashboard.
    fn dashboard(&self, slug: &str, from: &str, to: &str) {
        let article = self.article(slug);
        let text = article.text.replacen(from, to, 1);
        assert_ne!(text, article.text);
        let edited = self
            .service
            .sandbox
            .edit(article.id, |article| article.text = text);
        assert!(edited.is_some());
    }

    fn article(&self, slug: &str) -> kbsync::sandbox::Article {
        let articles = self.service.sandbox.articles();
        let mut found = articles.into_iter().filter(|article| article.slug == slug);
        found.next().expect("an article")
    }
}

/// Copies a folder as it is; a missing folder is left out.
fn copy(from: &Path, to: &Path) {
    if !from.exists() {
        return;
    }
    fs::create_dir_all(to.parent().expect("a folder")).expect("made");
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.expect("it runs").success());
}

fn well(ended: &[(String, bool)]) -> bool {
    ended.iter().all(|(_, well)| *well)
}

const ONE: &str = "help/start/one.html";

#[test]
fn the_workflow_carries_words_both_ways_and_rebases_on_what_others_pushed() {
    let team = Team::new();
    let ended = team.run(|_| ());
    assert!(well(&ended), "{ended:?}");
    assert!(team.published(ONE).contains("<p>One.</p>"));

    // A writer edits, a colleague edits in the dashboard, and another writer pushes in between.
    team.edit(ONE, "One.", "One, by a writer.");
    team.dashboard("one", "Two.", "Two, in the dashboard.");
    let ended = team.run(|step| {
        if step.starts_with("Push") {
            team.commit("help/notes.txt", Some("in between\n"));
        }
    });
    assert!(well(&ended), "{ended:?}");
    for words in ["One, by a writer.", "Two, in the dashboard."] {
        assert!(team.published(ONE).contains(words), "{words}");
        assert!(team.article("one").text.contains(words), "{words}");
    }
    assert_eq!(team.published("help/notes.txt"), "in between\n");

    // An article whose file was removed on the published branch is deleted.
    team.git(
        &team.path("writer"),
        &["pull", "--quiet", "--rebase", "origin", "main"],
    );
    team.commit("help/start/gone.html", None);
    let ended = team.run(|_| ());
    assert!(well(&ended), "{ended:?}");
    assert_eq!(team.service.sandbox.articles().len(), 1);

    // A conflict makes the run fail, and its copy is not committed.
    team.edit(ONE, "One, by a writer.", "One, by a writer again.");
    team.dashboard("one", "One, by a writer.", "One, in the dashboard.");
    let ended = team.run(|_| ());
    assert!(ended.contains(&("Sync".to_owned(), false)), "{ended:?}");
    let files = team.git(
        &team.path("origin.git"),
        &["ls-tree", "-r", "--name-only", "main"],
    );
    assert!(!files.contains("conflict"), "{files}");
}

#[test]
fn the_state_of_a_run_whose_push_failed_is_kept_and_the_next_run_goes_on() {
    let team = Team::new();
    assert!(well(&team.run(|_| ())));
    team.dashboard("one", "Two.", "Two, in the dashboard.");
    team.takes_pushes(false);
    let ended = team.run(|_| ());
    let failed: Vec<_> = ended.iter().filter(|(_, well)| !well).collect();
    assert_eq!(failed.len(), 1, "{ended:?}");
    assert!(failed[0].0.starts_with("Push"), "{ended:?}");
    assert!(team.path("kept/help/.kbsync/state.db").exists());
    assert!(!team.published(ONE).contains("in the dashboard"));

    team.takes_pushes(true);
    team.edit(ONE, "One.", "One, by a writer.");
    let ended = team.run(|_| ());
    assert!(well(&ended), "{ended:?}");
    for words in ["One, by a writer.", "Two, in the dashboard."] {
        assert!(team.published(ONE).contains(words), "{words}");
        assert!(team.article("one").text.contains(words), "{words}");
    }
    // Nothing is left to do.
    let before = team.git(&team.path("origin.git"), &["rev-parse", "main"]);
    assert!(well(&team.run(|_| ())));
    assert_eq!(
        team.git(&team.path("origin.git"), &["rev-parse", "main"]),
        before
    );
}
