//! Asks before a version goes live, and shows the changes for readers of the service.

use super::Planned;
use crate::{
    cli::{
        ask, context::Context, failure::Failure, print::escape, report::several,
        version_spec::below_mirror,
    },
    config::Config,
    engine::{
        open,
        restore::{GoesLive, goes_live},
    },
};

/// The changes for readers, to show to the user.
#[derive(Default)]
struct LiveChanges {
    lines: Vec<String>,
    changed: usize,
    created: usize,
}

impl LiveChanges {
    fn of(config: &Config, planned: &[Planned]) -> Result<Self, Failure> {
        let mut live = Self::default();
        for one in planned {
            let part = &one.group.part;
            let store = open::read_state(config, &part.root)?;
            for prospect in &one.found {
                let effect = goes_live(&store, prospect, &config.options.new_articles);
                let what = match effect.map_err(Failure::of)? {
                    None => continue,
                    Some(GoesLive::Changed) => {
                        live.changed += 1;
                        "changes"
                    }
                    Some(GoesLive::Created) => {
                        live.created += 1;
                        "is a new article"
                    }
                };
                live.lines.push(format!(
                    "  {} {what}: {}",
                    escape(&below_mirror(part, prospect.place())),
                    prospect.described()
                ));
            }
        }
        Ok(live)
    }

    /// Returns the number of changes: `change 1 live article and publish 2 new articles`.
    fn consequences(&self) -> String {
        let changed = format!("change {}", several(self.changed, "live article"));
        let created = format!("publish {}", several(self.created, "new article"));
        match (self.changed, self.created) {
            (_, 0) => changed,
            (0, _) => created,
            (_, _) => format!("{changed} and {created}"),
        }
    }
}

/// Returns whether the user agrees to the changes; `true` if readers would see no change.
pub(super) fn agreed(
    context: &Context,
    config: &Config,
    planned: &[Planned],
) -> Result<bool, Failure> {
    let live = LiveChanges::of(config, planned)?;
    if live.lines.is_empty() {
        return Ok(true);
    }
    let consequences = live.consequences();
    if context.out.json || context.out.quiet || !ask::possible() {
        return Err(Failure::usage(
            format!("this would {consequences}, and nobody has agreed to that"),
            format!(
                "--dry-run shows the changes; agree with:\n  {}",
                ask::again()
            ),
        ));
    }
    context.out.note(format!("This would {consequences}:"));
    for line in &live.lines {
        context.out.note(line);
    }
    ask::agrees("Publish?")
}
