//! Asks before a version goes live, and shows the changes for readers of the service.

use super::Group;
use crate::{
    cli::{ask, context::Context, counts::several, failure::Failure, print::escape},
    config::Config,
};

/// Returns whether the user agrees to the changes; `true` if readers would see no change.
pub(super) fn agreed(
    context: &Context,
    config: &Config,
    groups: &[Group],
) -> Result<bool, Failure> {
    let (mut lines, mut fresh) = (Vec::new(), 0);
    for group in groups {
        let found = group.found.iter();
        for file in found.filter(|file| file.goes_live(config.options.new_articles)) {
            let what = if file.is_new_article() {
                fresh += 1;
                "is a new article"
            } else {
                "changes"
            };
            let path = group.part.path(&file.target.place);
            let path = escape(&path);
            lines.push(format!("  {path} {what}: {}", file.described()));
        }
    }
    if lines.is_empty() {
        return Ok(true);
    }
    let what = match (lines.len() - fresh, fresh) {
        (0, fresh) => format!("publish {}", several(fresh, "new article")),
        (_, _) => format!("change {}", several(lines.len(), "live article")),
    };
    if context.out.json || context.out.quiet || !ask::possible() {
        return Err(Failure::usage(
            format!("this would {what}, which needs your agreement"),
            format!(
                "--dry-run shows the changes; agree with:\n  {}",
                ask::again()
            ),
        ));
    }
    context
        .out
        .note(format!("This would {what}, compared with the last sync:"));
    for line in &lines {
        context.out.note(line);
    }
    ask::agrees("Publish?")
}
