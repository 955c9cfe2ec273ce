//! Every sentence of the program, in one list: the author of a change reads the others along with it, as a user would.
//!
//! The list is a snapshot, updated with `INSTA_UPDATE=always`. It has the string literals of `src` with several words,
//! without SQL, attributes other than `error`, and `expect`. The sandbox speaks for the service, and is left out.

use super::code::product_code;
use std::fmt::Write as _;

/// The places whose words are the service's, are SQL, or are in no release.
const SILENT: [&str; 4] = ["sandbox/", "drill/", "state/schema.rs", "state/store/"];

/// The first words of SQL statements.
const SQL: [&str; 10] = [
    "SELECT ", "INSERT ", "UPDATE ", "DELETE ", "CREATE ", "DROP ", "ALTER ", "PRAGMA ", "WITH ",
    "WHERE ",
];

/// Returns the string literals of code without comment lines, in order, each with the code before it on the same line.
fn literals(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut before = String::new();
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => before.clear(),
            '/' if chars.peek() == Some(&'/') => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            // A quote as a character literal.
            '\'' => {
                let rest: String = chars.clone().take(2).collect();
                if rest.starts_with('\\') || rest.ends_with('\'') {
                    let escaped = chars.next() == Some('\\');
                    if escaped {
                        chars.next();
                    }
                }
                before.push(c);
            }
            '"' => {
                let mut text = String::new();
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => match chars.next() {
                            // A literal that continues on the next line.
                            Some('\n') => {
                                while chars.peek().is_some_and(|c| c.is_whitespace()) {
                                    chars.next();
                                }
                            }
                            Some('n') => text.push('\n'),
                            Some(other) => text.push(other),
                            None => break,
                        },
                        c => text.push(c),
                    }
                }
                found.push((before.clone(), text));
            }
            c => before.push(c),
        }
    }
    found
}

/// Returns whether a literal is text for a person.
fn is_sentence(before: &str, text: &str) -> bool {
    let words = text.split_whitespace();
    let words = words.filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1);
    let code = before.trim_start();
    words.count() > 1
        && !SQL.iter().any(|start| text.trim_start().starts_with(start))
        && (!code.starts_with("#[") || code.starts_with("#[error("))
        && !code.starts_with("reason = ")
        && !code.ends_with("expect(")
        && !code.ends_with("assert!(")
        && !code.ends_with("unreachable!(")
        && !code.contains("failpoint::")
        && !code.contains("drill::")
}

#[test]
fn every_sentence_is_read_as_a_whole() {
    let mut all = String::new();
    for (path, source) in product_code() {
        if SILENT.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        let sentences: Vec<String> = literals(&source)
            .into_iter()
            .filter(|(before, text)| is_sentence(before, text))
            .map(|(_, text)| text.trim_end().replace('\n', "\n    "))
            .collect();
        if !sentences.is_empty() {
            writeln!(all, "{path}").expect("text");
            for sentence in sentences {
                writeln!(all, "  {sentence}").expect("text");
            }
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn literals_are_found_as_they_are_printed() {
    let source = "let a = \"one \\\"two\\\" \\\n    three\"; let c = '\"';\nx(\"four five\"); // \"not this\"\n";
    let texts: Vec<String> = literals(source).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["one \"two\" three", "four five"]);
}
