//! The order of the engine's modules: each uses only modules before it.

use super::code::product_code;
use std::collections::BTreeMap;

/// The modules of `src/engine`, from the one that uses none of the others upwards. `mod.rs` is above all.
const ORDER: [&str; 22] = [
    // Values and rules.
    "form",
    "ports",
    "settings",
    "ending",
    "reasons",
    "report",
    "history",
    "observation",
    "open_actions",
    "backoff",
    "listing",
    // The parts of a cycle.
    "journal",
    "pending",
    "observe",
    "mirror_view",
    "apply",
    "first_sync",
    "by_git",
    "facts",
    "cycle",
    // What commands ask for besides a cycle.
    "compare",
    "status",
];

/// The modules of commands that run cycles.
const ABOVE: [&str; 2] = ["restore", "open"];

fn rank(module: &str) -> Option<usize> {
    let mut all = ORDER.iter().chain(&ABOVE);
    all.position(|name| *name == module)
}

/// Returns the module of a path below `src/engine`.
fn module_of(path: &str) -> Option<&str> {
    let below = path.strip_prefix("engine/")?;
    let first = below.split('/').next()?;
    Some(first.strip_suffix(".rs").unwrap_or(first)).filter(|module| *module != "mod")
}

/// Returns the names that `path` uses from the engine: `crate::engine::a::b`, `super::a`, in braces or not.
fn imported<'c>(path: &str, code: &'c str) -> Vec<&'c str> {
    let depth = path.matches('/').count() - usize::from(path.ends_with("/mod.rs"));
    let up = format!("{}::", vec!["super"; depth].join("::"));
    let mut found = Vec::new();
    for prefix in ["crate::engine::", up.as_str()] {
        for (at, _) in code.match_indices(prefix) {
            let whole =
                code[..at].ends_with("super::") || code[at + prefix.len()..].starts_with("super");
            let rest = &code[at + prefix.len()..];
            if whole {
                continue;
            }
            let group = rest
                .strip_prefix('{')
                .and_then(|group| group.split('}').next());
            match group {
                Some(group) => found.extend(group.split(',').map(|part| word(part.trim()))),
                None => found.push(word(rest)),
            }
        }
    }
    found
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

#[test]
fn each_module_of_the_engine_uses_those_before_it() {
    let code = product_code();
    let mut wrong = Vec::new();
    for (path, code) in &code {
        let Some(module) = module_of(path) else {
            continue;
        };
        let Some(own) = rank(module) else {
            wrong.push(format!("{path}: a module without a place in the order"));
            continue;
        };
        for used in imported(path, code) {
            if rank(used).is_some_and(|rank| rank > own) {
                wrong.push(format!("{path} imports {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Parts of `src/engine` that change the mirror or the state, and never ask the service.
const WITHOUT_SERVICE: [&str; 8] = [
    "journal/",
    "restore/write.rs",
    "apply/category_files.rs",
    "apply/conflict.rs",
    "apply/files.rs",
    "apply/record.rs",
    "apply/render.rs",
    "history/",
];

#[test]
fn what_changes_the_mirror_knows_no_service() {
    let code = product_code();
    for part in WITHOUT_SERVICE {
        let below = format!("engine/{part}");
        let found = code.iter().filter(|(path, _)| path.starts_with(&below));
        let found: Vec<_> = found.collect();
        assert!(!found.is_empty(), "{part}");
        for (path, code) in found {
            let asks = code.contains("crate::service") || code.contains(" Engine<");
            assert!(!asks, "{path}");
        }
    }
}

/// The largest number of methods that a type of the engine or the planner may have.
const MOST_METHODS: usize = 20;

#[test]
fn no_type_of_the_engine_or_the_planner_has_many_methods() {
    let mut counts = BTreeMap::new();
    for (path, code) in &product_code() {
        if !path.starts_with("engine/") && !path.starts_with("reconcile/") {
            continue;
        }
        let mut own = None;
        for line in code.lines() {
            if line.starts_with("impl") {
                own = type_of(line);
            }
            let is_method = line.strip_prefix("    ").is_some_and(|line| {
                let line = line.trim_start_matches("pub ");
                ["fn ", "async fn ", "const fn ", "pub(", "async "]
                    .iter()
                    .any(|start| line.starts_with(start))
                    && line.contains("fn ")
            });
            if let Some(own) = own.filter(|_| is_method) {
                *counts.entry(own.to_owned()).or_insert(0) += 1;
            }
            if line == "}" {
                own = None;
            }
        }
    }
    assert!(counts.contains_key("Engine"), "{counts:?}");
    counts.retain(|_, count: &mut usize| *count > MOST_METHODS);
    assert!(counts.is_empty(), "{counts:?}");
}

/// Returns the name of the type in a line `impl … for Type<…> {`.
fn type_of(line: &str) -> Option<&str> {
    let (_, name) = (line.split_once(" for "))
        .or_else(|| line.strip_prefix("impl<")?.split_once("> "))
        .or_else(|| line.split_once(' '))?;
    Some(word(name))
}
