//! The ground of the random team: a service, a bare repository, three clones, and the way to rest.
//!
//! After each step the judge checks the requests of the step.

use super::{
    Chance, Steps,
    judge::{CATEGORY, Judge, Token},
    steps::file,
};
use crate::support::daemon::unlimited;
use crate::support::kb::{Kb, Service, TOKEN};
use crate::support::real_git::try_git_in;
use kbsync::{model::TextDigest, sandbox::NewSeed, state::Store};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};
use tempfile::TempDir;
use uuid::Uuid;

/// A writer with their own clone and state.
pub(super) struct Writer {
    pub(super) name: &'static str,
    pub(super) kb: Kb,
    /// The texts that the mirror showed, by slug.
    pub(super) seen: BTreeMap<String, BTreeSet<Token>>,
}

/// The team, and the record of its steps.
pub(super) struct Team {
    pub(super) service: Service,
    pub(super) category: Uuid,
    pub(super) writers: Vec<Writer>,
    pub(super) judge: Judge,
    pub(super) chance: Chance,
    /// The number of articles and branches that were made.
    pub(super) made: usize,
    done: Steps,
    bare: TempDir,
}

impl Writer {
    /// A clone with a branch checked out, whose settings are trusted.
    fn cloning(name: &'static str, path: &str, branch: &str) -> Self {
        let mut kb = Kb::new();
        kb.set("KBSYNC_TOKEN", TOKEN);
        let seen = BTreeMap::new();
        let writer = Self { name, kb, seen };
        assert!(writer.git(&["clone", "-q", "-b", branch, path, "."]));
        writer.kb.trust();
        writer
    }

    /// Runs git, and returns whether it succeeded.
    pub(super) fn git(&self, arguments: &[&str]) -> bool {
        self.ask_git(arguments).is_some()
    }

    /// Runs git, and returns its output; `None`: git failed.
    pub(super) fn ask_git(&self, arguments: &[&str]) -> Option<String> {
        let options = ["-c", "pull.rebase=false", "-c", "advice.detachedHead=false"];
        let arguments = [options.as_slice(), arguments].concat();
        try_git_in(&self.kb.mirror(), &arguments)
    }

    /// Returns the files of the category's folder, by name.
    fn texts(&self) -> BTreeMap<String, String> {
        let folder = self.kb.mirror().join("start");
        let Ok(entries) = std::fs::read_dir(folder) else {
            return BTreeMap::new();
        };
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let text = |path: PathBuf| {
            let name = path.file_name()?.to_str()?.to_owned();
            // A daemon may delete the file at this moment.
            Some((name, std::fs::read_to_string(path).ok()?))
        };
        paths.filter_map(text).collect()
    }

    /// Returns the files with the tokens in them, by slug. A file in a git conflict has several tokens.
    pub(super) fn files(&self) -> BTreeMap<String, BTreeSet<Token>> {
        let texts = self.texts().into_iter();
        texts
            .filter_map(|(name, text)| {
                let slug = match name.as_str() {
                    "_category.yaml" => CATEGORY,
                    name => name.strip_suffix(".html")?,
                };
                Some((slug.to_owned(), Token::all_in(&text)))
            })
            .filter(|(slug, _)| !slug.ends_with(".conflict"))
            .collect()
    }

    /// Returns the slugs of the files that have a conflict copy.
    pub(super) fn copies(&self) -> Vec<String> {
        let names = self.texts().into_keys();
        names
            .filter_map(|name| Some(name.strip_suffix(".conflict.html")?.to_owned()))
            .collect()
    }

    /// Returns whether a text is in the mirror, in git's objects or in the history.
    fn keeps(&self, token: Token, objects: &str) -> bool {
        let body = token.body();
        let texts = self.texts();
        if objects.contains(&body) || texts.values().any(|text| text.contains(&body)) {
            return true;
        }
        let private = self.kb.mirror().join(".kbsync");
        let store = Store::open_read_only(&private, None).expect("opened");
        let kept = store.map(|store| store.body(TextDigest::of(&body)).expect("read"));
        kept.flatten().is_some() || self.has_category_version(&body)
    }

    /// Returns whether a version of the category's file has a text.
    fn has_category_version(&self, text: &str) -> bool {
        (1..)
            .map_while(|number| {
                let version = format!("start/_category.yaml@{number}");
                let ran = self.kb.run(&["show", &version]);
                (ran.code == 0).then_some(ran.stdout)
            })
            .any(|version| version.contains(text))
    }

    /// Returns the reason why an article differs from the service, from `kbsync status`.
    fn says(&self, slug: &str) -> Option<String> {
        let status = self.kb.run(&["status", "--json"]).exits(0).json();
        let paths = match slug {
            CATEGORY => vec!["start/_category.yaml".to_owned(), "start".to_owned()],
            slug => vec![format!("start/{slug}.html")],
        };
        ["held", "conflicts", "problems", "invisible"]
            .into_iter()
            .flat_map(|list| status[list].as_array().cloned().unwrap_or_default())
            .find(|line| paths.iter().any(|path| line["path"] == path.as_str()))
            .map(|line| line.to_string())
    }
}

impl Team {
    /// A team with four articles, which are committed and in all clones.
    pub(super) fn new(seed: u64) -> Self {
        let service = Service::empty();
        let category = service.category("start");
        let mut judge = Judge::default();
        for slug in ["a", "b", "c", "d"] {
            let body = judge.write(BTreeSet::new()).body();
            service.article(category, slug, &body);
        }
        let description = judge.write(BTreeSet::new()).body();
        let described = service.sandbox.edit_category(category, |category| {
            category.description = Some(description);
        });
        assert!(described.is_some());
        let bare = tempfile::tempdir().expect("a folder");
        let path = bare.path().to_str().expect("text").to_owned();
        let first = Writer {
            name: "ann",
            kb: unlimited(&service),
            seen: BTreeMap::new(),
        };
        let settings = first.kb.read("kbsync.yaml") + "guard_window: 0s\n";
        first.kb.write("kbsync.yaml", &settings);
        first.kb.write(".gitignore", "*.conflict.html\n");
        assert!(first.git(&["init", "-q", "-b", "main"]));
        first.kb.run(&["sync"]).exits(0);
        assert!(first.git(&["init", "-q", "--bare", "-b", "main", &path]));
        for command in [
            &["add", "-A"][..],
            &["commit", "-q", "-m", "all"],
            &["remote", "add", "origin", &path],
            &["push", "-q", "-u", "origin", "main"],
        ] {
            assert!(first.git(command), "{command:?}");
        }
        let mut writers = vec![first];
        for name in ["bob", "cat"] {
            let writer = Writer::cloning(name, &path, "main");
            writer.kb.run(&["sync"]).exits(0);
            writers.push(writer);
        }
        judge.look(&service.sandbox);
        let mut team = Self {
            service,
            category,
            writers,
            judge,
            chance: Chance(seed),
            made: 0,
            done: Steps {
                seed,
                lines: Vec::new(),
            },
            bare,
        };
        team.look();
        team
    }

    /// A new writer clones the repository, with a branch checked out.
    pub(super) fn clone(&self, branch: &str) -> Writer {
        Writer::cloning("dan", self.bare.path().to_str().expect("text"), branch)
    }

    /// Notes a step for the message of a failed run.
    pub(super) fn note(&mut self, what: impl Into<String>) {
        self.done.lines.push(what.into());
    }

    /// Lets the judge check the requests, and remembers the texts that the writers see.
    pub(super) fn look(&mut self) {
        self.judge.judge(&self.service.sandbox);
        for writer in &mut self.writers {
            for (slug, tokens) in writer.files() {
                writer.seen.entry(slug).or_default().extend(tokens);
            }
        }
    }

    /// A writer removed an article, after seeing everything that the mirror showed of it.
    pub(super) fn removed(&mut self, index: usize, slug: &str) {
        let seen = self.writers[index].seen.get(slug).cloned();
        self.judge.remove(slug, seen.unwrap_or_default());
    }

    /// A colleague edits, creates or deletes an article in the dashboard.
    pub(super) fn dashboard(&mut self) {
        let articles = self.service.sandbox.articles();
        let Some(article) = self.chance.pick(&articles).cloned() else {
            return;
        };
        match self.chance.below(8) {
            0 => {
                self.made += 1;
                let slug = format!("w{}", self.made);
                let body = self.judge.write(BTreeSet::new()).body();
                self.note(format!("dashboard: makes {slug} {body}"));
                let seed = NewSeed::new(self.category, &slug, &slug, &body);
                self.service.sandbox.add_article(seed);
            }
            1 if articles.len() > 3 => {
                self.note(format!("dashboard: deletes {}", article.slug));
                self.judge.delete(&article.slug, &article.text);
                self.service.sandbox.remove(article.id);
            }
            _ => {
                let body = self.judge.write(Token::all_in(&article.text)).body();
                self.note(format!("dashboard: edits {} to {body}", article.slug));
                let edited = self.service.sandbox.edit(article.id, |article| {
                    article.text.clone_from(&body);
                });
                assert!(edited.is_some());
            }
        }
        self.judge.look(&self.service.sandbox);
    }

    /// All writers commit, pull, sync and push until nothing changes. Then every file is equal, or held with a reason,
    /// and no last text of anybody is lost.
    pub(super) fn come_to_rest(&mut self) {
        for round in 0..3 {
            for index in 0..self.writers.len() {
                self.note(format!("round {round}: {}", self.writers[index].name));
                self.commit_all(index);
                self.pull(index, false);
                self.sync(index);
                self.commit_all(index);
                self.writers[index].git(&["push", "-q"]);
            }
        }
        for index in 0..self.writers.len() {
            // A sync of a path reads the category, even if it was read recently.
            let ran = self.writers[index].kb.run(&["sync", &file(CATEGORY)]);
            assert!(matches!(ran.code, 0 | 3 | 4), "{ran:#?}");
            self.look();
        }
        self.converges();
        self.loses_nothing();
    }

    fn converges(&self) {
        for writer in &self.writers {
            let files = writer.files();
            let live = self.judge.live();
            let slugs: BTreeSet<&String> = files.keys().chain(live.keys()).collect();
            for slug in slugs {
                let file = files.get(slug).cloned().unwrap_or_default();
                let there: BTreeSet<Token> = live.get(slug).copied().into_iter().collect();
                if file != there {
                    let said = writer.says(slug);
                    let name = writer.name;
                    assert!(
                        said.is_some(),
                        "{name} has {file:?} of {slug}, the service {there:?}, and nothing is said of it:\n{}",
                        writer.kb.run(&["status"]).stdout
                    );
                }
            }
        }
    }

    fn loses_nothing(&self) {
        let objects = self.writers.iter().map(|writer| {
            let all = ["cat-file", "--batch-all-objects", "--batch"];
            writer.ask_git(&all).expect("read")
        });
        let objects: Vec<String> = objects.collect();
        let live: BTreeSet<&Token> = self.judge.live().values().collect();
        for token in self.judge.last_words() {
            let kept = live.contains(&token)
                || (self.writers.iter().zip(&objects))
                    .any(|(writer, all)| writer.keeps(token, all));
            assert!(kept, "{token:?} is lost");
        }
    }
}
