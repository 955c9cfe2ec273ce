//! `kbsync show`: prints one version as a file.
//!
//! Only the state is read: no request, no lock.

use super::{
    ExitCode, Outcome,
    context::Context,
    failure::Failure,
    print::escape_line,
    version_spec::{VersionSpec, lookup},
};
use crate::{
    config::Need,
    engine::history::as_file,
    model::{ArticleId, Figures, Side},
    state::StoredVersion,
};
use serde::Serialize;
use std::path::PathBuf;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file or an article's id; `@N` after it is a version's number in `kbsync log` (@1 is the
    /// oldest) [default: the newest version]
    #[arg(value_name = "PATH[@N]")]
    path: PathBuf,
}

#[derive(Serialize)]
struct Report<'a> {
    path: String,
    id: Option<ArticleId>,
    now_at: Option<String>,
    number: u64,
    at: String,
    side: Side,
    cause: &'a str,
    title: &'a str,
    slug: &'a str,
    category: String,
    introtext: &'a str,
    keywords: &'a str,
    text: Option<String>,
    file: Option<String>,
    enabled: Option<bool>,
    draft: Option<bool>,
    updated_at: Option<String>,
    views: Option<i64>,
    happy: Option<i64>,
    neutral: Option<i64>,
    sad: Option<i64>,
    full_url: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let named = lookup(context, &config, &args.path)?;
    named.note_others(context);
    let kept = named.version()?;
    let file = as_file(&named.store, kept)?;
    if context.out.json {
        as_json(context, &named, kept, file)?;
        return Ok(ExitCode::Done);
    }
    let file = file.ok_or_else(|| {
        let (name, number) = (&named.name, kept.number);
        Failure::failed(
            format!("the text of {name}@{number} is not in the state any more"),
            format!("`kbsync log {name}` lists the other versions"),
        )
    })?;
    if context.out.is_for_person() {
        for line in file.lines() {
            context.out.verbatim(escape_line(line))?;
        }
    } else {
        context.out.bytes(file.as_bytes())?;
    }
    Ok(ExitCode::Done)
}

fn as_json(
    context: &Context,
    named: &VersionSpec,
    kept: &StoredVersion,
    file: Option<String>,
) -> Result<(), Failure> {
    let id = named.history.article();
    let row = id.map(|id| named.store.article(id)).transpose()?.flatten();
    let figures = id.map(|id| named.store.figures_of(id));
    let figures = figures.transpose()?.flatten();
    let of = |value: fn(&Figures) -> i64| figures.as_ref().map(value);
    let version = &kept.seen.version;
    Ok(context.out.json(&Report {
        path: named.part.path(&kept.seen.place),
        id,
        now_at: named.now_at(),
        number: kept.number,
        at: kept.at.to_rfc3339(),
        side: kept.seen.side,
        cause: &kept.seen.cause,
        title: &version.title,
        slug: &version.slug,
        category: version.category.to_string(),
        introtext: &version.introtext,
        keywords: &version.keywords,
        text: named.store.body(version.text)?,
        file,
        enabled: row.as_ref().and_then(|row| row.remote_flags.enabled),
        draft: row.as_ref().and_then(|row| row.remote_flags.draft),
        updated_at: row.as_ref().map(|row| row.revision.0.clone()),
        views: of(|row| row.views),
        happy: of(|row| row.happy),
        neutral: of(|row| row.neutral),
        sad: of(|row| row.sad),
        full_url: figures.and_then(|row| row.full_url),
    })?)
}
