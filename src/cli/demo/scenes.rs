//! The seven scenes, each with its promises.

use super::Stage;
use crate::cli::{exit::ExitCode, failure::Failure};

const INSTALL: &str = "getting-started/install.html";
const INVOICES: &str = "billing/invoices.html";
const REFUNDS: &str = "billing/refunds.html";
const COPY: &str = "billing/refunds.conflict.html";
const FAQ: [&str; 5] = [
    "faq/colours.html",
    "faq/export.html",
    "faq/languages.html",
    "faq/limits.html",
    "faq/support.html",
];

/// Plays all scenes. The first broken promise ends the demo.
pub(super) async fn play(stage: &Stage<'_>) -> Result<(), Failure> {
    write_articles(stage);
    first_sync(stage).await?;
    edits(stage).await?;
    conflict(stage).await?;
    mass_deletion(stage).await?;
    restore(stage).await?;
    stage.scene("7. And then", "Both sides are equal, and stay so.")?;
    stage.sandbox().clear_requests();
    let code = stage.kbsync(&["sync"]).await?;
    let is_quiet = code == ExitCode::Done && stage.sandbox().counts().total == 1;
    stage.check("one request, nothing to do", is_quiet)?;
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
    stage.category(
        "Questions",
        "faq",
        &[
            ("colours", "Colours", "<p>All of them.</p>"),
            ("export", "Export", "<p>As HTML.</p>"),
            ("languages", "Languages", "<p>Nineteen.</p>"),
            ("limits", "Limits", "<p>None that you would meet.</p>"),
            ("support", "Support", "<p>Day and night.</p>"),
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
    let paths = [
        INSTALL,
        "getting-started/first-steps.html",
        REFUNDS,
        INVOICES,
    ];
    let mut paths = paths.iter().chain(&FAQ);
    let are_equal = paths.all(|path| {
        let article = stage.article(path);
        article.is_some_and(|article| stage.file_has(path, &format!("---\n{}\n", article.text)))
    });
    stage.check(
        "nine articles, nine files, word for word",
        code == ExitCode::Done && are_equal,
    )?;
    stage.sandbox().clear_requests();
    let code = stage.kbsync(&["sync"]).await?;
    stage.check(
        "a sync without news costs one request",
        code == ExitCode::Done && stage.sandbox().counts().total == 1,
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
        "The next sync brings it along.",
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
    stage.remove(&[COPY])?;
    let code = stage.kbsync(&["sync"]).await?;
    stage.check(
        "removing the copy settled it: both sides have your last word",
        code == ExitCode::Done && stage.service_has(REFUNDS, "45 days"),
    )
}

async fn mass_deletion(stage: &Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "5. You remove many files at once",
        "A DELETE on the service is permanent, so many of them wait for your approval.",
    )?;
    stage.remove(&FAQ)?;
    let code = stage.kbsync(&["sync"]).await?;
    stage.check(
        "nothing was deleted, and the exit code is 3",
        code == ExitCode::Attention && stage.sandbox().articles().len() == 9,
    )?;
    let code = stage.kbsync(&["approve", "--yes"]).await?;
    let is_gone = FAQ.iter().all(|path| stage.article(path).is_none());
    stage.check(
        "your yes approved exactly these",
        code == ExitCode::Done && is_gone && stage.sandbox().articles().len() == 4,
    )
}

async fn restore(stage: &Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "6. You want something back",
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
    let code = stage.kbsync(&["restore", "--yes", FAQ[0]]).await?;
    stage.check(
        "a deleted article is back as a new one, and its file says which one it was",
        code == ExitCode::Done
            && stage.article(FAQ[0]).is_some()
            && stage.file_has(FAQ[0], "# restored from "),
    )
}
