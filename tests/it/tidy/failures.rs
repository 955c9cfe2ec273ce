//! The truth of `tests/failures.md`: the table has every row of the catalogue, and every test that it names exists.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The number of rows in the catalogue.
const ROWS: u32 = 141;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the rows of the table: number, trigger, and the way in which the row is met.
fn rows() -> Vec<(u32, String, String)> {
    let path = root().join("tests/failures.md");
    let text = std::fs::read_to_string(path).expect("the table");
    text.lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
            let number = cells.first()?.parse().ok()?;
            let [_, trigger, met, ..] = cells.as_slice() else {
                panic!("row {number} has too few cells");
            };
            Some((number, (*trigger).to_owned(), (*met).to_owned()))
        })
        .collect()
}

/// Returns the tests in the sources, by name, and the simulator's traces, by file name. An ignored test proves nothing,
/// so it is left out.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in ["src", "tests"] {
        collect(&root().join(folder), &mut found);
    }
    found
}

fn collect(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).expect("text");
            found.extend(tests_of(&text));
        } else if path.extension().is_some_and(|ending| ending == "trace") {
            let name = path.file_stem().expect("a name");
            found.insert(name.to_string_lossy().into_owned());
        }
    }
}

/// Returns the functions after `#[test]` and similar attributes.
fn tests_of(text: &str) -> Vec<String> {
    let (mut is_test, mut found) = (false, Vec::new());
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if line.starts_with("#[ignore") {
            is_test = false;
        } else if let Some(name) = name_of(line) {
            found.extend(is_test.then_some(name));
            is_test = false;
        }
    }
    found
}

fn name_of(line: &str) -> Option<String> {
    let (before, rest) = line.split_once("fn ")?;
    let plain = before
        .split_whitespace()
        .all(|word| word == "async" || word.starts_with("pub"));
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    plain.then(|| rest[..end].to_owned())
}

/// Returns the row numbers in the name of a test: `f074_f121_…` has two.
fn numbers(name: &str) -> Vec<u32> {
    name.split('_')
        .map_while(|part| part.strip_prefix('f'))
        .map_while(|digits| digits.parse().ok().filter(|_| digits.len() == 3))
        .collect()
}

fn named(met: &str) -> Vec<String> {
    met.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_row_is_there_once_and_in_order() {
    let found: Vec<u32> = rows().iter().map(|(number, ..)| *number).collect();
    let wanted: Vec<u32> = (1..=ROWS).collect();
    assert_eq!(found, wanted);
}

#[test]
fn every_row_names_tests_that_are_there_or_says_why_there_is_none() {
    let tests = tests();
    let mut faults = Vec::new();
    for (number, trigger, met) in rows() {
        let names = named(&met);
        for name in names.iter().filter(|name| !tests.contains(*name)) {
            faults.push(format!(
                "row {number} names `{name}`, and there is no such test"
            ));
        }
        let by_number = names.iter().any(|name| numbers(name).contains(&number));
        if !by_number && !met.starts_with("none: ") {
            faults.push(format!(
                "row {number} has no test by its number and no `none: why`"
            ));
        }
        if trigger.is_empty() || met.len() < 20 {
            faults.push(format!("row {number} says too little"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Returns the tests that meet a row: those with its number, and the other tests that the row names.
fn met_by(number: u32, met: &str, tests: &BTreeSet<String>) -> String {
    let besides = named(met).into_iter().filter(|name| tests.contains(name));
    let by_number = tests.iter().filter(|name| numbers(name).contains(&number));
    let all: BTreeSet<String> = by_number.cloned().chain(besides).collect();
    if all.is_empty() {
        return met.to_owned();
    }
    let all: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
    all.join(", ")
}

#[test]
fn every_test_with_the_number_of_a_row_is_in_it() {
    let tests = tests();
    let behind: Vec<u32> = rows()
        .iter()
        .filter(|(number, _, met)| met_by(*number, met, &tests) != *met)
        .map(|(number, ..)| *number)
        .collect();
    assert!(
        behind.is_empty(),
        "rows {behind:?} are behind: `cargo test --test it -- --ignored write_the_table_of_failures` writes them anew"
    );
}

#[test]
#[ignore = "writes tests/failures.md"]
fn write_the_table_of_failures() {
    let path = root().join("tests/failures.md");
    let text = std::fs::read_to_string(&path).expect("the table");
    let tests = tests();
    let (above, _) = text.split_once("| 1 |").expect("the first row");
    let mut written = above.to_owned();
    for (number, trigger, met) in rows() {
        let met = met_by(number, &met, &tests);
        writeln!(written, "| {number} | {trigger} | {met} |").expect("a text takes it");
    }
    std::fs::write(path, written).expect("written");
}

#[test]
fn tests_are_known_by_what_is_above_them() {
    let found = tests_of(
        "#[test]\nfn f001_a() {\n}\nfn f002_no_test() {\n}\n#[tokio::test(start_paused = true)]\n\
         async fn f003_b() {\n}\n#[test]\n#[ignore = \"long\"]\nfn f004_c() {\n}\n",
    );
    assert_eq!(found, ["f001_a", "f003_b"]);
}

#[test]
fn numbers_are_read_from_names() {
    assert_eq!(numbers("f074_f121_leftovers_of_editors"), [74, 121]);
    assert_eq!(numbers("f031_server_reformats"), [31]);
    assert_eq!(numbers("file_is_read"), [0; 0]);
    assert_eq!(numbers("f12_too_short"), [0; 0]);
    assert_eq!(
        name_of("    async fn f001_x() {"),
        Some("f001_x".to_owned())
    );
    assert_eq!(name_of("// a fn in prose"), None);
}
