//! Documents, and the comments that cite them: each cited fact, page and link is in the repository.
//!
//! Reads sources and documents as text. No test here can say whether a page is true.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Folders without text of ours.
const SKIPPED: [&str; 3] = [".git", "target", "corpus"];

/// Phrases that cite a page which does not exist.
const NOWHERE: [&str; 4] = [
    "API specification",
    "(design",
    "design, section",
    "specification, section",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                if !SKIPPED.contains(&name.as_ref()) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the comments of all sources except this file, each with its place.
fn comments() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for file in files("rs") {
        if file.ends_with("tidy/documents.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("text");
        let path = file.strip_prefix(root()).expect("below the root").display();
        for (number, line) in text.lines().enumerate() {
            if let Some((_, comment)) = line.split_once("//") {
                found.push((format!("{path}:{}", number + 1), comment.to_owned()));
            }
        }
    }
    assert!(found.len() > 1000, "the comments were found");
    found
}

/// Returns the words of the form A4 or A4.6.
fn facts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| {
            let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            word.strip_prefix('A').is_some_and(|number| {
                number.split('.').count() <= 2 && number.split('.').all(digits)
            })
        })
}

/// Returns the words that name a Markdown file.
fn pages(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !"./_-".contains(c))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| {
            Path::new(word)
                .extension()
                .is_some_and(|ending| ending == "md")
        })
}

#[test]
fn every_cited_fact_of_the_service_is_in_its_document() {
    let text = std::fs::read_to_string(root().join("docs/api.md")).expect("the facts");
    let known: BTreeSet<&str> = text
        .lines()
        .filter(|line| line.starts_with("## A") || line.starts_with("- **A"))
        .filter_map(|line| facts(line).next())
        .collect();
    assert!(known.len() > 40, "the facts were found: {known:?}");
    let mut cited: Vec<_> = comments();
    for page in files("md")
        .iter()
        .filter(|page| page.starts_with(root().join("docs")))
    {
        let text = std::fs::read_to_string(page).expect("text");
        cited.push((page.display().to_string(), text));
    }
    let unknown: Vec<_> = cited
        .iter()
        .flat_map(|(at, text)| facts(text).map(move |fact| (at, fact)))
        .filter(|(_, fact)| !known.contains(fact))
        .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn no_comment_cites_a_page_that_is_not_here() {
    let mut wrong = Vec::new();
    for (at, comment) in comments() {
        let missing = pages(&comment).filter(|page| !root().join(page).is_file());
        wrong.extend(missing.map(|page| format!("{at}: there is no {page}")));
        let nowhere = NOWHERE.iter().filter(|words| comment.contains(*words));
        wrong.extend(nowhere.map(|words| format!("{at}: `{words}` is no page of this repository")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in files("md") {
        let text = std::fs::read_to_string(&page).expect("text");
        let folder = page.parent().expect("a folder");
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            count += 1;
            if !folder.join(target).exists() {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(count > 0, "links were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the pieces of code that name a path of this repository.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    const FOLDERS: [&str; 7] = [
        "src/",
        "tests/",
        "docs/",
        "examples/",
        "benches/",
        "fuzz/",
        ".ci/",
    ];
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|code| FOLDERS.iter().any(|folder| code.starts_with(folder)))
        .filter(|code| !code.contains([' ', '*', '<']))
}

#[test]
fn every_path_that_a_document_names_is_here() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in files("md") {
        let text = std::fs::read_to_string(&page).expect("text");
        for path in paths(&text) {
            count += 1;
            if !root().join(path).exists() {
                wrong.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(count > 40, "{count} paths were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_map_of_the_code_has_every_module() {
    let map = std::fs::read_to_string(root().join("docs/architecture.md")).expect("the map");
    for entry in std::fs::read_dir(root().join("src")).expect("the sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            assert!(map.contains(&format!("### `{name}`\n")), "{name}");
        }
    }
}

#[test]
fn the_readers_of_this_test_can_read() {
    let text = "as A4.6 says (A1), not AB2, A1.2.3, `A`, a1; nor docs/api.md.";
    assert_eq!(facts(text).collect::<Vec<_>>(), ["A4.6", "A1"]);
    assert_eq!(pages(text).collect::<Vec<_>>(), ["docs/api.md"]);
    let text = "see `src/lib.rs`, src/main.rs, `tests/it/f*` and\n`docs/x`";
    assert_eq!(paths(text).collect::<Vec<_>>(), ["src/lib.rs", "docs/x"]);
}
