//! `kbsync stats`: prints views and ratings as of the last sync, with bars.

use super::{
    Outcome,
    context::Context,
    exit::ExitCode,
    failure::Failure,
    print::{Column, table},
};
use crate::{
    config::{Config, Need, Root},
    model::ArticleId,
    state::{Binding, FigureRow, Store},
};
use serde::Serialize;
use std::collections::HashMap;

/// The width of a bar, in characters.
const BAR: i64 = 20;

/// Shows views and ratings.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// What comes first
    #[arg(long, value_enum, default_value_t = Sort::Views, value_name = "BY")]
    sort: Sort,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    /// The most read
    Views,
    /// The most happy readers
    Happy,
    /// The most readers who are neither
    Neutral,
    /// The most readers who are not happy
    Sad,
    /// By title
    Title,
}

#[derive(Serialize)]
struct Report {
    version: u32,
    articles: Vec<Line>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Line {
    path: String,
    id: ArticleId,
    title: String,
    views: i64,
    happy: i64,
    neutral: i64,
    sad: i64,
    full_url: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let mut lines = Vec::new();
    for root in config.roots() {
        lines.extend(read(&config, &root)?);
    }
    sort(&mut lines, args.sort);
    if context.out.json {
        context.out.json(&Report {
            version: 1,
            articles: lines,
        })?;
    } else {
        context.out.line(shown(&lines, args.sort))?;
    }
    Ok(ExitCode::Done)
}

fn read(config: &Config, root: &Root) -> Result<Vec<Line>, Failure> {
    let binding = Binding {
        service: config.service.clone(),
        workspace: root.workspace,
    };
    let Some(store) = Store::open_read_only(&root.state, Some(&binding))? else {
        let message = format!("nothing is known about {} yet", root.path.display());
        return Err(Failure::failed(anyhow::Error::msg(message))
            .help("run `kbsync sync` first: it brings views and ratings along"));
    };
    let prefix = match root.path.strip_prefix(&config.mirror) {
        Ok(below) if !below.as_os_str().is_empty() => format!("{}/", below.display()),
        Ok(_) | Err(_) => String::new(),
    };
    let mut figures: HashMap<ArticleId, FigureRow> = store.figures()?.into_iter().collect();
    let lines = store.articles()?.into_iter().map(|article| {
        let figures = figures.remove(&article.id).unwrap_or_default();
        Line {
            path: format!("{prefix}{}", article.place),
            id: article.id,
            title: article.local.title,
            views: figures.views.max(0),
            happy: figures.happy.max(0),
            neutral: figures.neutral.max(0),
            sad: figures.sad.max(0),
            full_url: figures.full_url,
        }
    });
    Ok(lines.collect())
}

/// Returns the figure of a sorting; titles show the bars of their views.
fn figure(line: &Line, by: Sort) -> i64 {
    match by {
        Sort::Views | Sort::Title => line.views,
        Sort::Happy => line.happy,
        Sort::Neutral => line.neutral,
        Sort::Sad => line.sad,
    }
}

/// Sorts by a figure, the greatest first, or by title. Equal lines are sorted by path.
fn sort(lines: &mut [Line], by: Sort) {
    lines.sort_by(|one, other| {
        let first = if by == Sort::Title {
            one.title.to_lowercase().cmp(&other.title.to_lowercase())
        } else {
            figure(other, by).cmp(&figure(one, by))
        };
        first.then_with(|| one.path.cmp(&other.path))
    });
}

fn shown(lines: &[Line], by: Sort) -> String {
    let most = lines.iter().map(|line| figure(line, by)).max().unwrap_or(0);
    let columns = [
        Column::words("article"),
        Column::words("title"),
        Column::numbers("views"),
        Column::numbers("happy"),
        Column::numbers("neutral"),
        Column::numbers("sad"),
        Column::words(match by {
            Sort::Views | Sort::Title => "by views",
            Sort::Happy => "by happy",
            Sort::Neutral => "by neutral",
            Sort::Sad => "by sad",
        }),
    ];
    let rows = lines.iter().map(|line| {
        vec![
            line.path.clone(),
            line.title.clone(),
            line.views.to_string(),
            line.happy.to_string(),
            line.neutral.to_string(),
            line.sad.to_string(),
            bar(figure(line, by), most),
        ]
    });
    table(&columns, rows)
}

/// Draws a bar in eighths of a character. A value above zero is always visible.
fn bar(value: i64, most: i64) -> String {
    if value <= 0 || most <= 0 {
        return String::new();
    }
    let eighths = (i128::from(value) * i128::from(BAR) * 8 / i128::from(most)).max(1);
    let eighths = usize::try_from(eighths).unwrap_or(0);
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &str, title: &str, views: i64, sad: i64) -> Line {
        Line {
            path: path.into(),
            id: "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c"
                .parse()
                .expect("an id"),
            title: title.into(),
            views,
            happy: 0,
            neutral: 0,
            sad,
            full_url: None,
        }
    }

    #[test]
    fn the_greatest_come_first_and_equals_by_path() {
        let mut lines = [
            line("a/2.html", "b", 1, 9),
            line("a/1.html", "A", 1, 0),
            line("a/3.html", "c", 7, 1),
        ];
        for (by, order) in [
            (Sort::Views, ["a/3.html", "a/1.html", "a/2.html"]),
            (Sort::Sad, ["a/2.html", "a/3.html", "a/1.html"]),
            (Sort::Title, ["a/1.html", "a/2.html", "a/3.html"]),
        ] {
            sort(&mut lines, by);
            assert_eq!(lines.clone().map(|line| line.path), order, "{by:?}");
        }
    }

    #[test]
    fn bars_are_in_proportion_and_never_lost() {
        assert_eq!(bar(10, 10), "█".repeat(20));
        assert_eq!(bar(5, 10), "█".repeat(10));
        assert_eq!(bar(1, 1_000_000), "▏");
        assert_eq!(bar(0, 10), "");
        assert_eq!(bar(i64::MAX, i64::MAX), "█".repeat(20));
    }

    #[test]
    fn the_table_shows_every_article() {
        let shown = shown(
            &[line("a/1.html", "One", 4, 1), line("a/2.html", "Two", 2, 0)],
            Sort::Views,
        );
        assert!(shown.contains(&"█".repeat(20)), "{shown}");
        assert_eq!(shown.lines().count(), 3);
        let head = shown.lines().next().expect("a head");
        let mut names: Vec<&str> = head.split("  ").map(str::trim).collect();
        names.retain(|name| !name.is_empty());
        assert_eq!(names.len(), 7, "{names:?}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 7, "no name twice: {names:?}");
    }
}
