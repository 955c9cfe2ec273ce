//! Asks before a version goes live, and shows the changes for readers of the service.

use super::Planned;
use crate::{
    cli::{ask, context::Context, counts::several, failure::Failure, print::escape},
    config::Config,
    engine::restore::GoesLive,
};

/// Returns whether the user agrees to the changes; `true` if readers would see no change.
pub(super) fn agreed(
    context: &Context,
    config: &Config,
    planned: &[Planned],
) -> Result<bool, Failure> {
    let (mut lines, mut fresh) = (Vec::new(), 0);
    for one in planned {
        for file in &one.found {
            let what = match file.goes_live(config.options.new_articles) {
                None => continue,
                Some(GoesLive::Changed) => "changes",
                Some(GoesLive::Created) => {
                    fresh += 1;
                    "is a new article"
                }
            };
            let path = one.group.part.path(&file.target.place);
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
