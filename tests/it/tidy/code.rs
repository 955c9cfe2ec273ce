//! The rules of the code as a test: the imports between modules, and the modules that may use files, SQL, HTTP and the
//! clock.
//!
//! Reads the sources as text. Tests inside them are left out, because no rule applies to tests.

use std::path::{Path, PathBuf};

/// The modules below `src/`, each with the modules of ours that it may import.
const LAYERS: [(&str, &[&str]); 14] = [
    // Contains no code in a release.
    ("drill", &[]),
    ("model", &[]),
    ("files", &[]),
    ("programs", &[]),
    ("config", &["model", "files", "programs"]),
    ("mirror", &["model", "files"]),
    ("service", &["model", "files"]),
    ("state", &["model", "files"]),
    ("reconcile", &["model"]),
    (
        "engine",
        &["model", "config", "mirror", "service", "state", "reconcile"],
    ),
    ("sandbox", &[]),
    ("web", &["model", "state", "engine"]),
    (
        "daemon",
        &[
            "model",
            "programs",
            "config",
            "mirror",
            "service",
            "state",
            "reconcile",
            "engine",
            "web",
        ],
    ),
    (
        "cli",
        &[
            "model",
            "config",
            "mirror",
            "service",
            "state",
            "reconcile",
            "engine",
            "daemon",
            "web",
            "sandbox",
        ],
    ),
];

/// Words that only the named places may use. A place is a path below `src/`, without `.rs`.
const RESERVED: [(&str, &[&str]); 10] = [
    (
        "std::fs",
        &[
            "files",
            "mirror",
            "state",
            "config",
            "service/budget",
            "service/token",
            "service/origin",
            // Reads /proc, writes nothing.
            "cli/doctor",
            "cli/interrupt",
            // Writes a trace, in a build for the tests.
            "drill/failpoint",
        ],
    ),
    ("rusqlite", &["state"]),
    ("reqwest", &["service"]),
    ("axum", &["sandbox", "web"]),
    ("clap::", &["cli", "main"]),
    ("indicatif", &["cli/counts", "cli/progress"]),
    ("notify::", &["daemon"]),
    // JSON names of the service.
    ("rating_happy", &["service/wire", "sandbox", "state"]),
    ("\"base_id\"", &["service/wire", "sandbox"]),
    // The second Ctrl-C: no caller is left to return a code to.
    ("process::exit", &["cli/interrupt"]),
];

/// Words that a pure module must not contain.
const IMPURE: [&str; 13] = [
    "tokio",
    "std::fs",
    "fs::",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant",
    "Utc::now",
    "Local::now",
    "tracing",
    "log::",
];

/// The folders that refuse some phrases which other folders still have.
const PLAIN: &[&str] = &[
    "src/cli/",
    "src/config/",
    "src/daemon/",
    "src/model/",
    "src/sandbox/",
    "src/service/",
    "src/web/",
];

/// The folders whose doc comments begin with a noun or a verb.
const CORE: &[&str] = &[
    "src/engine/",
    "src/mirror/",
    "src/reconcile/",
    "src/state/store/",
];

/// Each phrase with its plainer form, and the folders in which the phrase is refused; none: everywhere.
const GLOSSARY: [(&str, &str, &[&str]); 12] = [
    ("Tells whether", "Returns whether", &[]),
    ("/// Gives ", "/// Returns ", PLAIN),
    ("/// Tells ", "/// Returns ", PLAIN),
    ("/// Says ", "/// Returns ", PLAIN),
    ("hoever", "a noun", PLAIN),
    ("/// What ", "a noun as the subject", CORE),
    ("/// Who ", "a noun as the subject", CORE),
    ("harvest", "entry reader", PLAIN),
    ("familiar", "known", PLAIN),
    ("stranger", "signed out, or unknown", PLAIN),
    ("valve", "cancel", PLAIN),
    ("desk", "work queue", &["src/daemon/", "src/web/"]),
];

struct Source {
    /// The path below `src/`.
    path: String,
    /// The first line.
    head: String,
    /// The code, without comments and tests.
    code: String,
}

impl Source {
    fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    fn is_in(&self, place: &str) -> bool {
        self.path
            .strip_prefix(place)
            .is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
    }
}

fn sources() -> Vec<Source> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    assert!(files.len() > 20, "the sources were found");
    files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).expect("text");
            let path = file.strip_prefix(&root).expect("below src");
            let path = path.to_string_lossy().replace('\\', "/");
            Source {
                head: text.lines().next().unwrap_or_default().to_owned(),
                code: code_of(&path, &text),
                path,
            }
        })
        .collect()
}

/// Returns the paths below `src/`, each with its code without comments and tests.
pub(super) fn product_code() -> Vec<(String, String)> {
    let sources = sources().into_iter();
    sources.map(|source| (source.path, source.code)).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// Returns the code without comments, and without everything after the first `#[cfg(test)] mod tests {`.
fn code_of(path: &str, text: &str) -> String {
    if path.ends_with("tests.rs") || path.contains("/tests/") {
        return String::new();
    }
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end]
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .fold(String::new(), |code, line| code + line + "\n")
}

/// Returns the modules that follow `crate::`, in braces or not.
fn imports(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, word) in code.match_indices("crate::") {
        let rest = &code[at + word.len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let (mut depth, mut fresh) = (0, true);
            for (i, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => fresh = true,
                    c if c.is_alphabetic() && depth == 0 && fresh => {
                        found.push(name_at(&group[i..]));
                        fresh = false;
                    }
                    _ => {}
                }
            }
        } else {
            found.push(name_at(rest));
        }
    }
    found
}

fn name_at(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    &text[..end]
}

#[test]
fn imports_point_down() {
    let mut wrong = Vec::new();
    for source in sources() {
        let module = source.module();
        if module == "main" || module == "lib" {
            continue;
        }
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!("{}: a module that has no layer", source.path));
            continue;
        };
        for import in imports(&source.code) {
            let is_module = LAYERS.iter().any(|(name, _)| *name == import);
            if import == "drill" {
                continue;
            }
            if is_module && import != module && !allowed.contains(&import) {
                wrong.push(format!("{} imports {import}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_tool_has_its_place() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (word, places) in RESERVED {
            if source.code.contains(word) && !places.iter().any(|place| source.is_in(place)) {
                wrong.push(format!("{} uses {word}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn model_and_reconcile_are_pure() {
    let mut wrong = Vec::new();
    for source in sources() {
        if source.is_in("model") || source.is_in("reconcile") {
            for word in IMPURE {
                if source.code.contains(word) {
                    wrong.push(format!("{} knows {word}", source.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_file_says_its_job_and_has_a_telling_name() {
    let mut wrong = Vec::new();
    for source in sources() {
        // A file of tests is described by the module under test.
        if !source.head.starts_with("//! ") && !source.path.ends_with("/tests.rs") {
            wrong.push(format!("{} does not begin with `//!`", source.path));
        }
        for word in ["manager", "helper", "util"] {
            if source.path.contains(word) {
                wrong.push(format!("{} is named after nothing", source.path));
            }
        }
        if source.code.contains("#[allow(") {
            wrong.push(format!("{} allows where it should expect", source.path));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn phrases_that_were_replaced_stay_away() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut files, mut wrong) = (Vec::new(), Vec::new());
    for folder in ["src", "examples", "benches", "fuzz/fuzz_targets", "tests"] {
        collect(&root.join(folder), &mut files);
    }
    for file in files.iter().filter(|file| !file.ends_with("tidy/code.rs")) {
        let text = std::fs::read_to_string(file).expect("text");
        let path = file.strip_prefix(root).expect("below the root");
        let path = path.to_string_lossy().replace('\\', "/");
        for (phrase, better, folders) in GLOSSARY {
            if !folders.is_empty() && !folders.iter().any(|folder| path.starts_with(folder)) {
                continue;
            }
            for (line, _) in (1..)
                .zip(text.lines())
                .filter(|(_, text)| text.contains(phrase))
            {
                wrong.push(format!("{path}:{line}: `{phrase}`; write `{better}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_readers_of_this_test_can_read() {
    let code =
        "use crate::{\n    model::{Field, id::X},\n    state,\n};\nuse crate::mirror::scan;\n";
    assert_eq!(imports(code), ["model", "state", "mirror"]);
    let text = "use a;\n// std::fs\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
    assert_eq!(code_of("x.rs", text), "use a;\n");
}

#[test]
fn the_reference_model_is_short_and_knows_nothing_of_the_planner() {
    // The words of a question and of its answer, and none of the planner's reasoning.
    const SHARED: [&str; 3] = [
        "plan::Kind",
        "snapshot::OnConflict",
        "snapshot::{Direction, OnConflict}",
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/simulator/planner");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("the model");
    let lines = text("reference.rs").lines().count();
    assert!(lines <= 300, "the reference model has {lines} lines");
    for name in ["reference.rs", "words.rs", "answers.rs"] {
        let text = text(name);
        for (_, rest) in text
            .match_indices("kbsync::")
            .map(|(at, _)| text.split_at(at + 8))
        {
            let shared = SHARED.iter().any(|word| {
                rest.strip_prefix("reconcile::")
                    .and_then(|rest| rest.strip_prefix(word))
                    .is_some_and(|rest| rest.starts_with([';', ':']))
            });
            let import = rest.lines().next().unwrap_or_default();
            assert!(shared, "{name} knows kbsync::{import}");
        }
    }
}
