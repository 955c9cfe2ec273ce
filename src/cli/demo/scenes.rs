//! The seven scenes, each with its promises.

use super::stage::Stage;
use crate::cli::{exit::ExitCode, failure::Failure};
use uuid::Uuid;

const INSTALL: &str = "getting-started/install.html";
const REFUNDS: &str = "billing/refunds.html";
const COPY: &str = "billing/refunds.conflict.html";
const FAQ: [&str; 5] = [
    "faq/colours.html",
    "faq/export.html",
    "faq/languages.html",
    "faq/limits.html",
    "faq/support.html",
];

/// The articles that the scenes are about.
struct Cast {
    install: Uuid,
    refunds: Uuid,
    invoices: Uuid,
    faq: Vec<Uuid>,
}

/// Plays all scenes. The first broken promise ends the demo.
pub(super) async fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let cast = cast(stage);
    first_sync(stage).await?;
    local_edit(stage, &cast).await?;
    remote_edit(stage, &cast).await?;
    conflict(stage, &cast).await?;
    mass_deletion(stage, &cast).await?;
    restore(stage, &cast).await?;
    quiet_end(stage).await
}

fn cast(stage: &Stage<'_>) -> Cast {
    let start = stage.category(
        "Getting started",
        "getting-started",
        &[
            (
                "install",
                "Install the agent",
                "<h1>Install</h1>\n<p>It takes five minutes.</p>\n<p>You need no root.</p>\n<p>Ask us anything.</p>",
            ),
            ("first-steps", "First steps", "<p>Open the door.</p>"),
        ],
    );
    let billing = stage.category(
        "Billing",
        "billing",
        &[
            (
                "refunds",
                "Refunds",
                "<p>You have 14 days to ask for your money.</p>",
            ),
            ("invoices", "Invoices", "<p>They come by e-mail.</p>"),
        ],
    );
    let faq = stage.category(
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
    Cast {
        install: start[0],
        refunds: billing[0],
        invoices: billing[1],
        faq,
    }
}

async fn first_sync(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "First sync",
        "The folder is empty. Every category becomes a folder, every article a file.",
    )?;
    let (url, workspace) = (stage.url().to_owned(), stage.workspace().to_string());
    let code = stage
        .kbsync(&["init", "--service", &url, "--workspace", &workspace])
        .await?;
    stage.check("the folder is a mirror", code == ExitCode::Done)?;
    let code = stage.kbsync(&["sync"]).await?;
    let mut equal = code == ExitCode::Done;
    for article in stage.sandbox().articles() {
        let categories = stage.sandbox().categories();
        let slug = categories
            .iter()
            .find(|category| category.id == article.category_id)
            .map(|category| category.slug.clone())
            .unwrap_or_default();
        let file = stage.read(&format!("{slug}/{}.html", article.slug))?;
        equal &= file.is_some_and(|file| file.ends_with(&format!("---\n{}\n", article.text)));
    }
    stage.check("nine articles, nine files, word for word", equal)?;
    stage.sandbox().clear_requests();
    let code = stage.kbsync(&["sync"]).await?;
    stage.check(
        "a sync without news costs one request",
        code == ExitCode::Done && stage.sandbox().counts().total == 1,
    )
}

async fn local_edit(stage: &mut Stage<'_>, cast: &Cast) -> Result<(), Failure> {
    stage.scene(
        "You edit a file",
        "In any editor; only what changed is sent.",
    )?;
    stage.edit(INSTALL, "five minutes", "three minutes")?;
    stage.kbsync(&["diff"]).await?;
    let code = stage.kbsync(&["sync"]).await?;
    let arrived = stage
        .text(cast.install)
        .is_some_and(|text| text.contains("three minutes"));
    stage.check("the service has it", code == ExitCode::Done && arrived)
}

async fn remote_edit(stage: &mut Stage<'_>, cast: &Cast) -> Result<(), Failure> {
    stage.scene(
        "A colleague edits in the dashboard",
        "The next sync brings it along.",
    )?;
    stage.colleague(
        cast.invoices,
        "the colleague gives Invoices a new title",
        |article| {
            "Invoices and receipts".clone_into(&mut article.title);
        },
    )?;
    let code = stage.kbsync(&["sync"]).await?;
    let file = stage.read("billing/invoices.html")?.unwrap_or_default();
    stage.check(
        "the file has it",
        code == ExitCode::Done && file.contains("title: Invoices and receipts"),
    )
}

async fn conflict(stage: &mut Stage<'_>, cast: &Cast) -> Result<(), Failure> {
    stage.scene(
        "Both edit the same sentence",
        "Now you decide. Nothing is overwritten: the service's version is put beside your file.",
    )?;
    stage.edit(REFUNDS, "14 days", "30 days")?;
    stage.colleague(cast.refunds, "the colleague writes 60 days", |article| {
        article.text = article.text.replace("14 days", "60 days");
    })?;
    let code = stage.kbsync(&["sync"]).await?;
    let mine = stage.read(REFUNDS)?.unwrap_or_default();
    let copy = stage.read(COPY)?.unwrap_or_default();
    let theirs = stage.text(cast.refunds).unwrap_or_default();
    stage.check(
        "your file has 30 days, the service 60, the copy shows it, and the exit code is 3",
        code == ExitCode::Attention
            && mine.contains("30 days")
            && copy.contains("60 days")
            && theirs.contains("60 days"),
    )?;
    stage.edit(REFUNDS, "30 days", "45 days")?;
    stage.remove(&[COPY])?;
    let code = stage.kbsync(&["sync"]).await?;
    let settled = stage
        .text(cast.refunds)
        .is_some_and(|text| text.contains("45 days"));
    stage.check(
        "removing the copy settled it: both sides have your last word",
        code == ExitCode::Done && settled,
    )
}

async fn mass_deletion(stage: &mut Stage<'_>, cast: &Cast) -> Result<(), Failure> {
    stage.scene(
        "You remove many files at once",
        "A DELETE on the service is permanent, so many of them wait for your approval.",
    )?;
    stage.remove(&FAQ)?;
    let code = stage.kbsync(&["sync"]).await?;
    let gone = |stage: &Stage<'_>| {
        cast.faq
            .iter()
            .filter(|id| stage.sandbox().article(**id).is_none())
            .count()
    };
    stage.check(
        "nothing was deleted, and the exit code is 3",
        code == ExitCode::Attention && gone(stage) == 0,
    )?;
    let code = stage.kbsync(&["approve", "--yes"]).await?;
    stage.check(
        "your yes approved exactly these",
        code == ExitCode::Done && gone(stage) == FAQ.len() && stage.sandbox().articles().len() == 4,
    )
}

async fn restore(stage: &mut Stage<'_>, cast: &Cast) -> Result<(), Failure> {
    stage.scene(
        "You want something back",
        "Every version that kbsync saw is in its history: even of an article that was permanently deleted on the service.",
    )?;
    stage.kbsync(&["log", INSTALL]).await?;
    let code = stage
        .kbsync(&["restore", "--yes", &format!("{INSTALL}@1")])
        .await?;
    let first = |text: Option<String>| text.is_some_and(|text| text.contains("five minutes"));
    stage.check(
        "file and service have the first version again",
        code == ExitCode::Done && first(stage.read(INSTALL)?) && first(stage.text(cast.install)),
    )?;
    let code = stage.kbsync(&["restore", "--yes", FAQ[0]]).await?;
    let file = stage.read(FAQ[0])?.unwrap_or_default();
    let is_back = stage
        .sandbox()
        .articles()
        .iter()
        .any(|article| article.slug == "colours" && !cast.faq.contains(&article.id));
    stage.check(
        "a deleted article is back as a new one, and its file says which one it was",
        code == ExitCode::Done && is_back && file.contains("# restored from "),
    )
}

async fn quiet_end(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene("And then", "Both sides are equal, and stay so.")?;
    stage.sandbox().clear_requests();
    let code = stage.kbsync(&["sync"]).await?;
    let quiet = stage.sandbox().counts().total == 1;
    stage.check(
        "one request, nothing to do",
        code == ExitCode::Done && quiet,
    )?;
    let code = stage.kbsync(&["status"]).await?;
    stage.check("every step checked out", code == ExitCode::Done)
}
