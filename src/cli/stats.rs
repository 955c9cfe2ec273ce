//! `kbsync stats`: prints views and ratings as of the last sync, with bars.

use super::{
    ExitCode, Outcome,
    context::Context,
    failure::Failure,
    layout::Column,
    pager,
    scope::{self, Part},
};
use crate::{
    config::{Config, Need},
    model::{ArticleId, Figures},
};
use serde::Serialize;
use serde_json::json;
use std::collections::HashMap;

/// The width of a bar, in characters.
const BAR: i64 = 20;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// What comes first
    #[arg(long, value_enum, default_value_t = Sort::Views, value_name = "BY")]
    sort: Sort,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    /// Most views first
    Views,
    /// Most happy ratings first
    Happy,
    /// Most neutral ratings first
    Neutral,
    /// Most sad ratings first
    Sad,
    /// By title
    Title,
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
    for part in scope::all(&config) {
        lines.extend(read(&config, &part)?);
    }
    sort(&mut lines, args.sort);
    if context.out.json {
        context.out.json(&json!({ "articles": lines }))?;
    } else {
        let (columns, rows) = shown(&lines, args.sort);
        pager::table(context, &columns, rows)?;
    }
    Ok(ExitCode::Done)
}

fn read(config: &Config, part: &Part) -> Result<Vec<Line>, Failure> {
    let Some(store) = part.state(config)? else {
        let message = format!("nothing is known about {} yet", part.root.path.display());
        let help = "run `kbsync sync` first: it fetches views and ratings";
        return Err(Failure::failed(message, help));
    };
    let mut figures: HashMap<ArticleId, Figures> = store.figures()?.into_iter().collect();
    let lines = store.articles()?.into_iter().map(|article| {
        let figures = figures.remove(&article.id).unwrap_or_default();
        Line {
            path: part.path(article.place),
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

/// Returns the figure to sort by; a sorting by title shows the bars of the views.
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

/// Returns the table. A narrow terminal has no room for the bars, the titles, and the figures that nobody asked for.
fn shown(lines: &[Line], by: Sort) -> ([Column; 7], impl Iterator<Item = Vec<String>>) {
    let most = lines.iter().map(|line| figure(line, by)).max().unwrap_or(0);
    let of = |name, sort| Column::numbers(name).rank(u8::from(by != sort));
    let columns = [
        Column::shortened("article"),
        Column::shortened("title").rank(2),
        Column::numbers("views"),
        of("happy", Sort::Happy),
        of("neutral", Sort::Neutral),
        of("sad", Sort::Sad),
        Column::whole(match by {
            Sort::Views | Sort::Title => "by views",
            Sort::Happy => "by happy",
            Sort::Neutral => "by neutral",
            Sort::Sad => "by sad",
        })
        .rank(3),
    ];
    let rows = lines.iter().map(move |line| {
        let figures = [line.views, line.happy, line.neutral, line.sad];
        let mut row = vec![line.path.clone(), line.title.clone()];
        row.extend(figures.map(|figure| figure.to_string()));
        row.push(bar(figure(line, by), most));
        row
    });
    (columns, rows)
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
}
