//! The demo's sandbox and mirror, with the actions of a writer and of a colleague, and the checks.

use crate::{
    cli::{
        Cli, Command, Outcome,
        context::Context,
        exit::ExitCode,
        failure::Failure,
        print::{DIM, ERROR, GOOD, HELP},
    },
    mirror::disk::{Area, At, Disk as _, Durability, Expect, RealDisk, Slot},
    model::Place,
    sandbox::{Article, NewSeed, Options, Running, Sandbox},
};
use clap::Parser as _;
use std::{
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
};
use tempfile::TempDir;
use uuid::Uuid;

/// The largest file of the demo.
const MAX_FILE: usize = 1 << 20;

/// The slot of what a person writes or removes: the journal's own have other numbers.
const SLOT: Slot = -1;

/// A sandbox and a mirror.
pub(super) struct Stage<'c> {
    context: &'c Context,
    running: Running,
    folder: TempDir,
    mirror: PathBuf,
    workspace: Uuid,
    scene: String,
    scenes: u32,
}

impl<'c> Stage<'c> {
    /// Starts the sandbox with a few articles, and creates an empty folder.
    pub(super) async fn build(context: &'c Context) -> Result<Self, Failure> {
        let running = Sandbox::start(Options::default())
            .await
            .map_err(|error| broken("start the stand-in service", error))?;
        let folder = tempfile::Builder::new()
            .prefix("kbsync-demo-")
            .tempdir()
            .map_err(|error| broken("make a temporary folder", error))?;
        let top = RealDisk::open(folder.path())?;
        for name in ["help", "user"] {
            top.create_folder(name)?;
        }
        let workspace = running.sandbox.add_workspace("Help centre");
        let stage = Self {
            mirror: folder.path().join("help"),
            context,
            running,
            folder,
            workspace,
            scene: String::new(),
            scenes: 0,
        };
        stage.print(format!(
            "{DIM}A stand-in service at {}, a mirror in {}.\n\
             Every command below is real, and after each step both sides are checked.{DIM:#}",
            stage.url(),
            stage.mirror.display()
        ))?;
        Ok(stage)
    }

    pub(super) fn mirror(&self) -> &Path {
        &self.mirror
    }

    pub(super) fn url(&self) -> &str {
        &self.running.url
    }

    pub(super) fn token(&self) -> String {
        self.running.token()
    }

    pub(super) fn workspace(&self) -> Uuid {
        self.workspace
    }

    pub(super) fn sandbox(&self) -> &Sandbox {
        &self.running.sandbox
    }

    /// Adds a category with articles (slug, title, body). Returns their ids.
    pub(super) fn category(
        &self,
        name: &str,
        slug: &str,
        articles: &[(&str, &str, &str)],
    ) -> Vec<Uuid> {
        let category = self.sandbox().add_category(self.workspace, name, slug);
        let add = |(slug, title, text): &(&str, &str, &str)| {
            self.sandbox()
                .add_article(NewSeed::new(category, title, slug, text))
        };
        articles.iter().map(add).collect()
    }

    /// Stops the sandbox. Removes the folder, or returns it if it is to be kept.
    pub(super) fn close(self, keep: bool) -> Result<Option<PathBuf>, Failure> {
        if keep {
            return Ok(Some(self.folder.keep()));
        }
        self.folder
            .close()
            .map_err(|error| broken("remove the temporary folder", error))?;
        Ok(None)
    }

    /// Begins a scene.
    pub(super) fn scene(&mut self, title: &str, words: &str) -> Result<(), Failure> {
        self.scenes += 1;
        title.clone_into(&mut self.scene);
        let number = self.scenes;
        self.print(format!("\n{HELP}{number}. {title}{HELP:#}\n{words}"))
    }

    /// Prints an action without kbsync.
    pub(super) fn narrate(&self, words: &str) -> Result<(), Failure> {
        self.print(format!("{DIM}  ({words}){DIM:#}"))
    }

    /// Prints a kbsync command and runs it. Returns its exit code.
    pub(super) async fn kbsync(&self, words: &[&str]) -> Result<ExitCode, Failure> {
        self.print(format!("{DIM}${DIM:#} kbsync {}", words.join(" ")))?;
        let line = std::iter::once("kbsync").chain(words.iter().copied());
        let cli = Cli::try_parse_from(line).map_err(Failure::failed)?;
        let (token, user) = (self.token(), self.folder.path().join("user"));
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
        match perform(cli.command, &inner).await {
            Ok(code) => Ok(code),
            Err(failure) if failure.is_broken_pipe() => Err(failure),
            Err(failure) => {
                self.context.out.failure(&failure);
                Ok(failure.code)
            }
        }
    }

    /// Reads a file; `None`: it does not exist.
    pub(super) fn read(&self, path: &str) -> Result<Option<String>, Failure> {
        let place = place(path);
        let disk = RealDisk::open(&self.mirror)?;
        let at = At::Folder(&place.folder);
        if disk.look(at, &place.file)?.is_none() {
            return Ok(None);
        }
        let content = disk.read(at, &place.file, MAX_FILE)?;
        Ok(Some(String::from_utf8_lossy(&content.bytes).into_owned()))
    }

    /// Replaces words in a file, as a writer.
    pub(super) fn edit(&self, path: &str, from: &str, to: &str) -> Result<(), Failure> {
        let before = self.read(path)?.unwrap_or_default();
        self.judge(
            &format!("{path} has something to edit"),
            before.contains(from),
            Say::OnlyIfNot,
        )?;
        self.print(format!("{DIM}${DIM:#} sed -i 's/{from}/{to}/' {path}"))?;
        let place = place(path);
        let disk = RealDisk::open(&self.mirror)?;
        let at = At::Folder(&place.folder);
        let expect = match disk.look(at, &place.file)? {
            Some(entry) => Expect::Stamp(entry.stamp),
            None => Expect::Absent,
        };
        let after = before.replacen(from, to, 1);
        disk.stage(SLOT, at, after.as_bytes(), Durability::Now)?;
        disk.publish(SLOT, at, &place.file, expect)?;
        Ok(disk.discard(Area::Stage, SLOT, at)?)
    }

    /// Removes files, as a writer.
    pub(super) fn remove(&self, paths: &[&str]) -> Result<(), Failure> {
        self.print(format!("{DIM}${DIM:#} rm {}", paths.join(" ")))?;
        let disk = RealDisk::open(&self.mirror)?;
        for path in paths {
            let place = place(path);
            let at = At::Folder(&place.folder);
            if let Some(entry) = disk.look(at, &place.file)? {
                disk.take(SLOT, at, &place.file, Expect::Stamp(entry.stamp))?;
                disk.discard(Area::Stage, SLOT, at)?;
            }
        }
        Ok(())
    }

    /// Changes an article in the dashboard, as a colleague.
    pub(super) fn colleague(
        &self,
        id: Uuid,
        words: &str,
        change: impl FnOnce(&mut Article),
    ) -> Result<(), Failure> {
        self.sandbox().edit(id, change);
        self.narrate(words)
    }

    /// Returns the body of an article on the service.
    pub(super) fn text(&self, id: Uuid) -> Option<String> {
        self.sandbox().article(id).map(|article| article.text)
    }

    /// Checks a promise. A broken promise ends the demo.
    pub(super) fn check(&self, promise: &str, kept: bool) -> Result<(), Failure> {
        self.judge(promise, kept, Say::Always)
    }

    fn judge(&self, promise: &str, kept: bool, say: Say) -> Result<(), Failure> {
        if !kept {
            self.print(format!("{ERROR}✗ {promise}{ERROR:#}"))?;
            let message = format!(
                "step {} ({}) did not check out: {promise}",
                self.scenes, self.scene
            );
            return Err(Failure::failed(anyhow::Error::msg(message))
                .help("this is a fault of kbsync: please report it with the output above"));
        }
        match say {
            Say::Always => self.print(format!("{GOOD}✓{GOOD:#} {promise}")),
            Say::OnlyIfNot => Ok(()),
        }
    }

    fn print(&self, text: String) -> Result<(), Failure> {
        Ok(self.context.out.line(text)?)
    }
}

/// Whether a kept promise is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Say {
    Always,
    OnlyIfNot,
}

/// Runs a command within a command. The box ends the recursion of the types.
fn perform<'a>(
    command: Command,
    context: &'a Context,
) -> Pin<Box<dyn Future<Output = Outcome> + 'a>> {
    Box::pin(command.run(context))
}

fn place(path: &str) -> Place {
    let (folder, file) = path.split_once('/').unwrap_or(("", path));
    Place::new(folder, file)
}

fn broken(doing: &str, error: std::io::Error) -> Failure {
    Failure::failed(anyhow::Error::new(error).context(format!("failed to {doing}")))
}
