//! The six scenes, each with its promises.

use super::Stage;
use crate::cli::{ExitCode, failure::Failure};

const INSTALL: &str = "getting-started/install.html";
const INVOICES: &str = "billing/invoices.html";
const REFUNDS: &str = "billing/refunds.html";
const COPY: &str = "billing/refunds.conflict.html";
/// Plays all scenes. The first broken promise ends the demo.
pub(super) async fn play(stage: &Stage<'_>) -> Result<(), Failure> {
    write_articles(stage);
    first_sync(stage).await?;
    edits(stage).await?;
    conflict(stage).await?;
    restore(stage).await?;
    stage.scene("6. And then", "Both sides are equal, and stay so.")?;
    stage.sandbox().clear_requests();
    let code = stage.kbsync(&["sync"]).await?;
    let is_quiet = code == ExitCode::Done && stage.sandbox().counts().total == 1;
    stage.check("a sync without news costs one request", is_quiet)?;
    let code = stage.kbsync(&["status"]).await?;
    stage.check("every step checked out", code == ExitCode::Done)
}

fn write_articles(stage: &Stage<'_>) {
    let install = "<h1>Install</h1>\n<p>It takes five minutes.</p>\n<p>You need no root.</p>\n<p>Ask us anything.</p>";
    stage.category(
        "Getting started",
        "getting-started",
        &[
            ("install", "Install the agent", install),
            ("first-steps", "First steps", "<p>Open the door.</p>"),
        ],
    );
    let refunds = "<p>You have 14 days to ask for your money.</p>";
    stage.category(
        "Billing",
        "billing",
        &[
            ("refunds", "Refunds", refunds),
            ("invoices", "Invoices", "<p>They come by e-mail.</p>"),
        ],
    );
}

async fn first_sync(stage: &Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "1. First sync",
        "The folder is empty. Every category becomes a folder, every article a file.",
    )?;
    let (url, workspace) = (&stage.running.url, stage.workspace.to_string());
    let code = stage
        .kbsync(&["init", "--service", url, "--workspace", &workspace])
        .await?;
    stage.check("the folder is a mirror", code == ExitCode::Done)?;
    let code = stage.kbsync(&["sync"]).await?;
    let mut paths = [
        INSTALL,
        "getting-started/first-steps.html",
        REFUNDS,
        INVOICES,
    ]
    .into_iter();
    let are_equal = paths.all(|path| {
        let article = stage.article(path);
        article.is_some_and(|article| stage.file_has(path, &format!("---\n{}\n", article.text)))
    });
    stage.check(
        "four articles, four files, word for word",
        code == ExitCode::Done && are_equal,
    )
}

async fn edits(stage: &Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "2. You edit a file",
        "In any editor; only what changed is sent.",
    )?;
    stage.edit(INSTALL, "five minutes", "three minutes")?;
    stage.kbsync(&["diff"]).await?;
    let code = stage.kbsync(&["sync"]).await?;
    let arrived = stage.service_has(INSTALL, "three minutes");
    stage.check("the service has it", code == ExitCode::Done && arrived)?;
    stage.scene(
        "3. A colleague edits in the dashboard",
        "The next sync fetches the change.",
    )?;
    let words = "the colleague gives Invoices a new title";
    stage.colleague(INVOICES, words, |article| {
        "Invoices and receipts".clone_into(&mut article.title);
    })?;
    let code = stage.kbsync(&["sync"]).await?;
    let arrived = stage.file_has(INVOICES, "title: Invoices and receipts");
    stage.check("the file has it", code == ExitCode::Done && arrived)
}

async fn conflict(stage: &Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "4. Both edit the same sentence",
        "Now you decide. Nothing is overwritten: the service's version is put beside your file.",
    )?;
    stage.edit(REFUNDS, "14 days", "30 days")?;
    stage.colleague(REFUNDS, "the colleague writes 60 days", |article| {
        article.text = article.text.replace("14 days", "60 days");
    })?;
    let code = stage.kbsync(&["sync"]).await?;
    stage.check(
        "your file has 30 days, the service 60, the copy shows it, and the exit code is 3",
        code == ExitCode::Attention
            && stage.file_has(REFUNDS, "30 days")
            && stage.file_has(COPY, "60 days")
            && stage.service_has(REFUNDS, "60 days"),
    )?;
    stage.edit(REFUNDS, "30 days", "45 days")?;
    stage.remove(COPY)?;
    let code = stage.kbsync(&["sync"]).await?;
    stage.check(
        "removing the copy settled it: both sides have your last word",
        code == ExitCode::Done && stage.service_has(REFUNDS, "45 days"),
    )
}

async fn restore(stage: &Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "5. You want something back",
        "Every version that kbsync saw is in its history: even of an article that was permanently deleted on the service.",
    )?;
    stage.kbsync(&["log", INSTALL]).await?;
    let first = format!("{INSTALL}@1");
    let code = stage.kbsync(&["restore", "--yes", &first]).await?;
    let words = "five minutes";
    stage.check(
        "file and service have the first version again",
        code == ExitCode::Done
            && stage.file_has(INSTALL, words)
            && stage.service_has(INSTALL, words),
    )?;
    stage.remove(INVOICES)?;
    let code = stage.kbsync(&["sync"]).await?;
    let is_gone = stage.article(INVOICES).is_none();
    stage.check(
        "a removed file is removed on the service",
        code == ExitCode::Done && is_gone,
    )?;
    let code = stage.kbsync(&["restore", "--yes", INVOICES]).await?;
    stage.check(
        "the deleted article is back as a new one, and its file names the old article",
        code == ExitCode::Done
            && stage.article(INVOICES).is_some()
            && stage.file_has(INVOICES, "# restored from "),
    )
}
