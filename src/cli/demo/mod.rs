//! `kbsync demo`: a sandbox, a mirror in a temporary folder, and six scenes between them.
//!
//! The commands are real commands of this program, with their real output. After each step both sides are checked, and
//! a broken promise fails the demo. `scenes` has the steps.

mod scenes;

use super::{
    Cli, ExitCode, Outcome, ask,
    context::Context,
    failure::Failure,
    print::{DIM, ERROR, GOOD, HELP},
    sandbox::stopped,
};
use crate::sandbox::{Article, NewSeed, Options, Running, Sandbox};
use clap::Parser as _;
use std::{
    fs,
    io::{self, IsTerminal as _},
    path::PathBuf,
};
use tempfile::TempDir;
use uuid::Uuid;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Keep the folder
    #[arg(long)]
    keep: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    if context.out.json {
        return Err(Failure::usage(
            "the demo is a play for people; it has no JSON",
            "leave --json out: its exit code says whether every step checked out",
        ));
    }
    let stage = Stage::build(context).await?;
    let played = tokio::select! {
        biased;
        () = stopped() => Err(Failure::new(
            ExitCode::Interrupted,
            "stopped",
            "the demo changed nothing outside of its own folder",
        )),
        played = scenes::play(&stage) => played,
    };
    if played.is_ok() && ask::possible() && io::stdout().is_terminal() {
        stage.print(format!(
            "\n{HELP}Your turn.{HELP:#} In another terminal:\n  cd {}\n  export KBSYNC_TOKEN={}\n  kbsync status\n\
             Be the colleague in the dashboard: {}/\n{DIM}Ctrl-C ends it.{DIM:#}",
            stage.mirror.display(),
            stage.running.token(),
            stage.running.url
        ))?;
        stopped().await;
    }
    if args.keep {
        let folder = stage.folder.keep();
        context.out.note(format!("kept: {}", folder.display()));
    } else {
        stage.folder.close().map_err(broken)?;
    }
    played.map(|()| ExitCode::Done)
}

/// A sandbox and a mirror, with the actions of a writer and of a colleague, and the checks.
struct Stage<'c> {
    context: &'c Context,
    running: Running,
    folder: TempDir,
    mirror: PathBuf,
    workspace: Uuid,
}

impl<'c> Stage<'c> {
    /// Starts the sandbox, and creates an empty folder.
    async fn build(context: &'c Context) -> Result<Self, Failure> {
        let running = Sandbox::new(Options::default()).run().await;
        let running = running.map_err(broken)?;
        let folder = tempfile::Builder::new()
            .prefix("kbsync-demo-")
            .tempdir()
            .map_err(broken)?;
        let mirror = folder.path().join("help");
        fs::create_dir(&mirror).map_err(broken)?;
        let stage = Self {
            context,
            workspace: running.sandbox.add_workspace("Help centre"),
            running,
            folder,
            mirror,
        };
        stage.print(format!(
            "{DIM}A stand-in service at {}, a mirror in {}.\n\
             Every command below is real, and after each step both sides are checked.{DIM:#}",
            stage.running.url,
            stage.mirror.display()
        ))?;
        Ok(stage)
    }

    fn sandbox(&self) -> &Sandbox {
        &self.running.sandbox
    }

    /// Adds a category with articles (slug, title, body) to the service.
    fn category(&self, name: &str, slug: &str, articles: &[(&str, &str, &str)]) {
        let category = self.sandbox().add_category(self.workspace, name, slug);
        for (slug, title, text) in articles {
            let new = NewSeed::new(category, title, slug, text);
            self.sandbox().add_article(new);
        }
    }

    /// Returns the article of the service whose file is at a path.
    fn article(&self, path: &str) -> Option<Article> {
        let mut articles = self.sandbox().articles().into_iter();
        articles.find(|article| {
            let category = self.sandbox().category(article.category_id);
            category
                .is_some_and(|category| format!("{}/{}.html", category.slug, article.slug) == path)
        })
    }

    /// Returns whether the article of a path has these words on the service.
    fn service_has(&self, path: &str, words: &str) -> bool {
        let article = self.article(path);
        article.is_some_and(|article| article.text.contains(words))
    }

    /// Returns whether a file has these words.
    fn file_has(&self, path: &str, words: &str) -> bool {
        let file = fs::read_to_string(self.mirror.join(path));
        file.is_ok_and(|file| file.contains(words))
    }

    /// Prints the words before a scene.
    fn scene(&self, title: &str, words: &str) -> Result<(), Failure> {
        self.print(format!("\n{HELP}{title}{HELP:#}\n{words}"))
    }

    /// Prints a kbsync command and runs it. Returns its exit code.
    async fn kbsync(&self, words: &[&str]) -> Result<ExitCode, Failure> {
        self.print(format!("{DIM}${DIM:#} kbsync {}", words.join(" ")))?;
        let line = std::iter::once("kbsync").chain(words.iter().copied());
        let cli = Cli::try_parse_from(line)?;
        let (token, user) = (self.running.token(), self.folder.path().join("user"));
        let inner = Context {
            global: cli.global,
            out: self.context.out,
            current: self.mirror.clone(),
            // The caller's environment may name another mirror, so it is not used.
            env: Box::new(move |name| match name {
                "KBSYNC_TOKEN" => Some(token.clone()),
                "KBSYNC_USER_STATE_DIR" => Some(user.to_string_lossy().into_owned()),
                _ => None,
            }),
        };
        // The box makes the type of the recursive future finite.
        let running: std::pin::Pin<Box<dyn Future<Output = Outcome> + '_>> =
            Box::pin(cli.command.run(&inner));
        match running.await {
            Ok(code) => Ok(code),
            Err(failure) if failure.is_broken_pipe() => Err(failure),
            Err(failure) => {
                self.context.out.failure(&failure);
                Ok(failure.code)
            }
        }
    }

    /// Replaces words in a file, as a writer.
    fn edit(&self, path: &str, from: &str, to: &str) -> Result<(), Failure> {
        self.print(format!("{DIM}${DIM:#} sed -i 's/{from}/{to}/' {path}"))?;
        let file = self.mirror.join(path);
        let edited = fs::read_to_string(&file).map(|before| before.replacen(from, to, 1));
        edited
            .and_then(|after| fs::write(file, after))
            .map_err(broken)
    }

    /// Removes a file, as a writer.
    fn remove(&self, path: &str) -> Result<(), Failure> {
        self.print(format!("{DIM}${DIM:#} rm {path}"))?;
        fs::remove_file(self.mirror.join(path)).map_err(broken)
    }

    /// Changes an article in the dashboard, as a colleague.
    fn colleague(
        &self,
        path: &str,
        words: &str,
        change: impl FnOnce(&mut Article),
    ) -> Result<(), Failure> {
        if let Some(article) = self.article(path) {
            self.sandbox().edit(article.id, change);
        }
        self.print(format!("{DIM}  ({words}){DIM:#}"))
    }

    /// Checks a promise. A broken promise ends the demo.
    fn check(&self, promise: &str, kept: bool) -> Result<(), Failure> {
        if kept {
            return self.print(format!("{GOOD}✓{GOOD:#} {promise}"));
        }
        self.print(format!("{ERROR}✗ {promise}{ERROR:#}"))?;
        let message = format!("a step of the demo did not check out: {promise}");
        let help = "this is a fault of kbsync: please report it with the output above";
        Err(Failure::failed(message, help))
    }

    fn print(&self, text: String) -> Result<(), Failure> {
        Ok(self.context.out.line(text)?)
    }
}

fn broken(error: io::Error) -> Failure {
    let what = "the demo cannot use its service or its folder";
    anyhow::Error::new(error).context(what).into()
}
