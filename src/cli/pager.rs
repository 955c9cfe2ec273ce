//! Shows a long text in the person's pager, as git does: `KBSYNC_PAGER`, else `PAGER`, else `less`.
//!
//! Printed without a pager: a text that fits the terminal, every text in a pipe, and a text whose pager does not start.

use super::{
    context::Context,
    layout::{self, Column},
    print::Output,
};
use dialoguer::console::Term;
use std::{
    io::{self, IsTerminal as _, Write as _},
    process::{Command, Stdio},
};

/// Shows a text without wrapping it.
pub(super) fn show(context: &Context, text: &str) -> io::Result<()> {
    let out = context.out;
    let text = text.trim_end_matches('\n');
    let (rows, _) = Term::stdout().size();
    if out.quiet || !io::stdout().is_terminal() || text.lines().count() < usize::from(rows) {
        return out.verbatim(text);
    }
    let set = |name: &str| (context.env)(name);
    let pager = set("KBSYNC_PAGER").or_else(|| set("PAGER"));
    let pager = pager.unwrap_or_else(|| "less".to_owned());
    if ["", "cat"].contains(&pager.trim()) || !paged(out, &pager, text)? {
        return out.verbatim(text);
    }
    Ok(())
}

/// Shows a table, whose first rows matter most.
pub(super) fn table(
    context: &Context,
    columns: &[Column],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> io::Result<()> {
    show(context, &layout::table(columns, rows, context.out.width()))
}

/// Shows a text in the pager, and returns whether the pager started.
fn paged(out: Output, pager: &str, text: &str) -> io::Result<bool> {
    let mut command = Command::new("sh");
    // `less` ends at once if the text is short, shows colours, and leaves the text on the terminal.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.args(["-c", pager]).stdin(Stdio::piped()).spawn() else {
        return Ok(false);
    };
    // Ctrl-C belongs to the pager.
    let _taken = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    if let Some(mut pipe) = child.stdin.take() {
        // A pager that has ended does not read the rest.
        writeln!(pipe, "{}", out.styled(text)).ok();
    }
    // 127 is the shell's code for a program that cannot be run.
    Ok(child.wait()?.code() != Some(127))
}
