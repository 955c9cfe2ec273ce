//! Reasons as people read them: with paths below the mirror's root, and once for all files that share a reason.
//!
//! Only the proposed commands, in backticks, are rewritten; the rest of a reason stays.

use crate::model::{ArticleId, path::quoted};
use std::{borrow::Cow, collections::HashMap, hash::Hash};

/// Puts a workspace's prefix before a path, and before the paths of the commands that a reason proposes.
pub fn put_below(prefix: &str, path: &mut String, reason: Option<&mut String>) {
    if prefix.is_empty() {
        return;
    }
    if let Some(reason) = reason {
        let pieces: Vec<_> = reason
            .split('`')
            .map(|piece| command_below(prefix, piece))
            .collect();
        *reason = pieces.join("`");
    }
    let below = format!("{prefix}{path}");
    below.trim_end_matches('/').clone_into(path);
}

/// Puts a prefix before the paths of a command. Options come after the paths.
fn command_below(prefix: &str, command: &str) -> String {
    let Some(name) = WITH_PATHS.iter().find(|name| command.starts_with(**name)) else {
        return command.to_owned();
    };
    let (mut in_quotes, mut is_option) = (false, false);
    let words = command[name.len()..].split(' ').map(|word| {
        let is_inside = in_quotes;
        in_quotes ^= word.replace("\\'", "").matches('\'').count() % 2 == 1;
        is_option |= !is_inside && word.starts_with("--");
        let is_literal =
            ["", "PATH", "PATH@N", "FOLDER"].contains(&word) || word.parse::<ArticleId>().is_ok();
        if is_inside || is_option || is_literal {
            return word.to_owned();
        }
        match word.split_once('\'') {
            Some((start, rest)) => format!("{start}'{}{rest}", prefix.replace('\'', "'\\''")),
            None => quoted(&format!("{prefix}{word}")).into_owned(),
        }
    });
    let words: Vec<String> = words.collect();
    format!("{name}{}", words.join(" "))
}

/// The commands that reasons propose with paths.
const WITH_PATHS: [&str; 4] = [
    "kbsync resolve",
    "kbsync restore",
    "kbsync show",
    "kbsync sync",
];

/// Returns the reason of a group of files: the own reason of a single file; for several, the common part of `first`,
/// the reason at `path`.
pub fn reason_of_group<'r>(size: usize, first: &'r str, path: &str) -> Cow<'r, str> {
    if size > 1 {
        common_reason(first, path).into()
    } else {
        first.into()
    }
}

/// Returns the reason of a held action, with the folder of `path` for `FOLDER`: guards hold several files for one
/// reason.
pub(super) fn own_reason(reason: &str, path: &str) -> String {
    reason.replace(RESTORE_FOLDER, &restore_folder_of(path))
}

/// Returns a reason with `PATH` for the path of its own file, and `FOLDER` for its folder, so that several files can
/// share it.
pub fn common_reason(reason: &str, path: &str) -> String {
    let reason = reason.replace(&restore_folder_of(path), RESTORE_FOLDER);
    let path = quoted(path);
    let reason = reason.replace(&format!(" {path}`"), " PATH`");
    reason.replace(&format!(" {path} --"), " PATH --")
}

/// The end of a proposed command that names no folder yet.
const RESTORE_FOLDER: &str = "restore FOLDER`";

/// Returns the end of the proposed command that restores the folder of a path.
fn restore_folder_of(path: &str) -> String {
    let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
    format!("restore {}`", quoted(folder))
}

/// Groups items by key, in the order of each group's first item. Calls `key` once for each item, in order.
pub fn in_groups<T, K: Eq + Hash>(items: &[T], key: impl FnMut(&T) -> K) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    let mut known = HashMap::new();
    for (item, key) in items.iter().zip(items.iter().map(key)) {
        let at = *known.entry(key).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(item);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposed_command_names_the_path_in_the_mirror() {
        for (path, command) in [
            ("start/one.html", "`kbsync restore {start/one.html}`"),
            ("start/one.html", "`kbsync show {start/one.html@7}`"),
            ("start/one.html", "`kbsync show PATH@N`"),
            (
                "start/one.html",
                "`kbsync resolve {start/one.html} --keep remote`",
            ),
            ("start/one.html", "`kbsync resolve {start/one.html}`"),
            (
                "start/one.html",
                "`kbsync resolve {start/one.html} {start/two.html} --keep local`",
            ),
            (
                "start/one.html",
                "`kbsync resolve '{start/it is two.html}' '{start/it'\\''s.html}'`",
            ),
            (
                "start/one.html",
                "`kbsync restore {start/old.html}` or `kbsync restore PATH`; `kbsync sync`",
            ),
            (
                "start/one.html",
                "`kbsync restore 0190c8a2-0000-7000-8000-000000000001` or `kbsync restore FOLDER`",
            ),
            (
                "start/one.html",
                "`kbsync resolve '{start/a b}' $'{start/a\\'b\\n.html}' {start/c.html} --keep local`",
            ),
            ("start/one.html", "`kbsync restore {start}`"),
            ("start", "`kbsync restore {start/_category.yaml}`"),
            (
                "start",
                "`kbsync sync {start/_category.yaml} --prefer local`",
            ),
        ] {
            let below = command.replace('{', "help/").replace('}', "");
            let (mut path, mut reason) = (path.to_owned(), command.replace(['{', '}'], ""));
            put_below("help/", &mut path, Some(&mut reason));
            assert_eq!(reason, below);
        }
    }
}
