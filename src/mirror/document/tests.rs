//! The codec: round trips, edits that touch only their lines, and refusals.

use super::*;
use proptest::prelude::*;

const ID: &str = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";
const OTHER: &str = "11111111-1111-4111-8111-111111111111";

fn id() -> ArticleId {
    ID.parse().expect("a UUID")
}

fn parse(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap_or_else(|problem| panic!("{problem}\n{text}"))
}

fn refused(text: impl AsRef<[u8]>) -> NotReady {
    Document::parse(text.as_ref()).expect_err("not ready")
}

fn all(title: &str, text: &str) -> Changes {
    Changes {
        id: Some(id().uuid()),
        title: Some(title.to_owned()),
        slug: Some(Some("install".to_owned())),
        enabled: Some(Some(false)),
        draft: Some(Some(true)),
        introtext: Some("From zero".to_owned()),
        keywords: Some("install, agent".to_owned()),
        text: Some(text.to_owned()),
        ..Changes::default()
    }
}

fn title(title: &str) -> Changes {
    Changes {
        title: Some(title.to_owned()),
        ..Changes::default()
    }
}

#[test]
fn the_file_of_the_design_is_written_and_read() {
    let file = Document::compose(&all("Install the agent", "<h1>Install</h1>"));
    assert_eq!(
        file,
        "---\nid: 5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c\ntitle: Install the agent\nslug: install\nenabled: false\n\
         draft: true\nintrotext: From zero\nkeywords: install, agent\n---\n<h1>Install</h1>\n"
    );
    let document = parse(&file);
    assert_eq!(document.id(), Some(id()));
    assert_eq!(document.title(), "Install the agent");
    assert_eq!(document.slug(), Some("install"));
    assert_eq!(
        document.flags(),
        Flags {
            enabled: Some(false),
            draft: Some(true)
        }
    );
    assert_eq!(document.introtext(), "From zero");
    assert_eq!(document.keywords(), "install, agent");
    assert_eq!(document.text(), "<h1>Install</h1>");
    assert!(!document.is_crlf());
}

#[test]
fn f126_body_starts_with_dashes() {
    for text in [
        "---\ntitle: other\n---\nx",
        "---",
        "",
        "\n",
        "a\n---\nb\n",
        "\u{feff}x",
        "...\n",
        "x\n\n\n",
    ] {
        assert_eq!(
            parse(&Document::compose(&all("T", text))).text(),
            text,
            "{text:?}"
        );
    }
}

#[test]
fn one_newline_at_the_end_is_not_part_of_the_body() {
    for (body, text) in [
        ("x\n", "x"),
        ("x", "x"),
        ("x\n\n", "x\n"),
        ("\n", ""),
        ("", ""),
    ] {
        assert_eq!(
            parse(&format!("---\ntitle: T\n---\n{body}")).text(),
            text,
            "{body:?}"
        );
    }
    let open = parse("---\ntitle: T\n---");
    assert_eq!(open.text(), "");
    assert_eq!(open.edit(&title("U")), "---\ntitle: U\n---");
    let text = Changes {
        text: Some("x".to_owned()),
        ..Changes::default()
    };
    assert_eq!(open.edit(&text), "---\ntitle: T\n---\nx\n");
}

#[test]
fn f124_plain_scalars_are_taken_as_written() {
    for text in [
        "no",
        "yes",
        "012",
        "1e3",
        "0x1F",
        "1_000",
        "2024-01-01",
        "12:30",
        "true",
        "-1",
        ".5",
        "a: b",
        "y",
    ] {
        let quoted = text.replace(": ", ":");
        assert_eq!(
            parse(&format!("---\ntitle: {quoted}\n---\n")).title(),
            quoted
        );
        let file = Document::compose(&title(text));
        assert!(file.contains('"'), "{file}");
        assert_eq!(parse(&file).title(), text);
    }
}

#[test]
fn null_empty_and_absent_are_the_same_for_optional_texts() {
    for value in ["", " null", " ~", " \"\"", " ''", "   # nothing"] {
        let document = parse(&format!(
            "---\ntitle: T\nintrotext:{value}\nslug:{value}\nenabled:{}\n---\n",
            value.replace(['"', '\''], "")
        ));
        assert_eq!(document.introtext(), "");
        assert_eq!(document.slug(), None);
        assert_eq!(document.flags(), Flags::default());
        let same = Changes {
            introtext: Some(String::new()),
            slug: Some(None),
            enabled: Some(None),
            ..Changes::default()
        };
        assert_eq!(document.edit(&same), document.source());
    }
}

#[test]
fn a_likely_mistake_is_shown_the_corrected_line() {
    for (line, corrected) in [
        (r#"title: a: "b""#, r#"title: "a: \"b\"""#),
        ("title Refund", "title: Refund"),
    ] {
        let remedy = refused(format!("---\n{line}\nslug: x\n---\n")).remedy;
        assert!(remedy.ends_with(&format!("`{corrected}`")), "{remedy}");
    }
}

#[test]
fn f122_what_is_not_ready_says_where_and_what_to_do() {
    let cases: &[(&str, Option<usize>, &str)] = &[
        ("", None, "the file is empty"),
        ("<h1>x</h1>\n", Some(1), "no front matter"),
        ("--- \ntitle: x\n---\n", Some(1), "the first line is"),
        ("---", Some(1), "the first line is"),
        ("---\ntitle: x\n", Some(1), "does not end"),
        ("---\n---\nx\n", None, "no title"),
        ("---\nslug: x\n---\n", None, "no title"),
        ("---\n# only a comment\n---\n", None, "no title"),
        ("---\nid:\ntitle:\n---\n", Some(3), "title is empty"),
        ("---\ntitle: null\n---\n", Some(2), "title is empty"),
        ("---\ntitle: \"  \"\n---\n", Some(2), "title is blank"),
        (
            "---\ntitle: T\nenabled: yes\n---\n",
            Some(3),
            "neither true nor false",
        ),
        (
            "---\ntitle: T\ndraft: \"true\"\n---\n",
            Some(3),
            "neither true nor false",
        ),
        (
            "---\ntitle: T\nkeywords: [a, b]\n---\n",
            Some(3),
            "list or a map",
        ),
        ("---\ntitle: T\nid: 12\n---\n", Some(3), "is not an id"),
        ("---\ntitle: T\ntitle: U\n---\n", Some(3), "second time"),
        ("---\ntitle: T\n\"title\": U\n---\n", Some(3), "second time"),
        (
            "---\ntitle: T\na: {b: 1, b: 2}\n---\n",
            Some(3),
            "second time",
        ),
        ("---\ntitle: &a T\n---\n", Some(2), "anchors"),
        ("---\ntitle: T\nx: *a\n---\n", Some(3), ""),
        ("---\ntitle: !!str T\n---\n", Some(2), "tags"),
        ("---\n{title: T}\n---\n", Some(2), "braces"),
        ("---\n? title\n: T\n---\n", Some(2), "line of its own"),
        ("---\n- title\n---\n", Some(2), "not a list of keys"),
        ("---\njust text\n---\n", Some(2), "not a list of keys"),
        ("---\ntitle: T\n...\n---\n", Some(3), "ends the YAML"),
        ("---\ntitle: T\n--- x\na: b\n---\n", Some(3), ""),
        ("---\ntitle: \"T\n---\n", None, "cannot be read"),
        ("---\ntitle: a: b\n---\n", Some(2), "a colon in it"),
        (
            "---\ntitle Refund\nslug: x\n---\n",
            Some(2),
            "no colon after `title`",
        ),
        ("---\ntitel: Refund\n---\n", Some(2), "`titel` is not a key"),
        (
            "---\ntitle: T\nenabeld: False\n---\n",
            Some(3),
            "`enabeld` is not a key",
        ),
        (
            "---\ntitle: T\ndrafft: true\n---\n",
            Some(3),
            "`drafft` is not a key",
        ),
        ("---\ntitle: T\n\tx: 1\n---\n", None, "cannot be read"),
        ("---\ntitle: T\rx: 1\n---\n", Some(2), "carriage return"),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
            None,
            "git LFS",
        ),
        ("---\ntitle: T\n---\na\0b\n", Some(4), "NUL"),
    ];
    for (file, line, message) in cases {
        let problem = refused(file);
        assert!(problem.message.contains(message), "{file:?}: {problem}");
        assert!(
            line.is_none() || problem.line == *line,
            "{file:?}: {problem}"
        );
        assert!(!problem.remedy.is_empty());
    }
    assert_eq!(
        refused("---\ntitle: T\nenabled: no\n---\n").to_string(),
        "line 3: enabled is neither true nor false; write `enabled: true` or `enabled: false`, without quotes"
    );
    for key in ["tags", "layout", "date", "drafts_of", "disabled", "author"] {
        let file = format!("---\ntitle: T\n{key}: x\n---\n");
        assert!(Document::parse(file.as_bytes()).is_ok(), "{key}");
    }
    // Whether or not the right key is present: kbsync may remove the key.
    for file in [
        "drafts: 2",
        "draft: true\ndrafts: 2",
        "enabled: false\nenable: later",
    ] {
        let file = format!("---\ntitle: T\n{file}\n---\n");
        assert!(Document::parse(file.as_bytes()).is_ok(), "{file}");
    }
    refused("---\ntitle: T\nenabled:\nenabeld: false\n---\n");
}

#[test]
fn f125_bytes_that_are_no_text_are_refused_and_a_mark_is_kept() {
    let problem = refused(b"---\ntitle: T\n---\n\xff\n");
    assert_eq!(
        (problem.line, problem.message.as_str()),
        (Some(4), "the file is not UTF-8")
    );
    let marked = parse("\u{feff}---\ntitle: T\n---\nx\n");
    assert_eq!(marked.text(), "x");
    let text = Changes {
        text: Some("y".to_owned()),
        ..title("U")
    };
    assert_eq!(marked.edit(&text), "\u{feff}---\ntitle: U\n---\ny\n");
    assert_eq!(refused("\u{feff}---\ntitle: T\nid: x\n---\n").line, Some(3));
}

#[test]
fn the_id_of_a_broken_file_is_found() {
    for file in [
        format!("---\nid: {ID}\ntitle: \"open\n---\n"),
        format!("---\ntitle: [\nid: \"{ID}\"  # mine\n---\n"),
        format!("id: {ID}\ntitle: no dashes\n"),
        format!("\u{feff}---\n'id' : {ID}\nslug: x\n"),
        format!("<<<<<<< HEAD\n---\nid: {ID}\n"),
        format!("a line too many\n---\nid: {ID}\ntitle: T\n---\n<p>x</p>\n"),
        format!("---\n---\nid: {ID}\ntitle: T\n---\n<p>x</p>\n"),
        format!("\u{feff}id: {ID}\ntitle: T\n---\n<p>x</p>\n"),
        format!("\u{feff}---\n  id: {ID}\ntitle: a: b\n---\nid: {OTHER}\n"),
        format!("---\rid: {ID}\rtitle: T\r---\r<p>x</p>\r"),
        format!("---\nauthor:\n  id: {OTHER}\nid: {ID}\ntitle: a: b\n---\n"),
    ] {
        assert_eq!(refused(&file).id, Some(id()), "{file}");
    }
    let text = format!("---\nid: {ID}\ntitle: T\n---\n");
    let mut bytes = text.clone().into_bytes();
    bytes.push(0xff);
    assert_eq!(refused(&bytes).id, Some(id()));
    let utf_16 = format!("\u{feff}{text}");
    let utf_16 = utf_16.encode_utf16().flat_map(u16::to_le_bytes);
    assert_eq!(refused(utf_16.collect::<Vec<u8>>()).id, Some(id()));
    for mark in ["", "\u{feff}"] {
        let file = format!("{mark}---\nslug: x\n---\nid: {ID}\n");
        assert_eq!(refused(file).id, None);
    }
}

#[test]
fn s8_limits_are_refused_with_their_line() {
    for key in ["title", "slug", "introtext", "keywords"] {
        let long = "ü".repeat(256);
        let rest = if key == "title" { "" } else { "title: T\n" };
        let problem = refused(format!("---\n{rest}{key}: {long}\n---\n"));
        assert_eq!(problem.message, format!("{key} has 256 characters"));
        assert!(problem.line.is_some());
        let fits = "ü".repeat(255);
        parse(&format!("---\n{rest}{key}: {fits}\n---\n"));
    }
}

#[test]
fn a_byte_order_mark_within_the_front_matter_is_told_with_its_line() {
    for file in [
        "---\ntitle: T\n\u{feff}\n---\nx\n",
        "---\ntitle: T\n\u{feff}slug: s\n---\nx\n",
    ] {
        let problem = refused(file);
        assert_eq!(problem.line, Some(3), "{problem:?}");
        assert!(problem.message.contains("byte order mark"), "{problem:?}");
    }
}

#[test]
fn f066_conflict_markers_of_git_are_not_ready_but_may_be_waived() {
    let file = "---\ntitle: T\n---\na\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> topic\n";
    // Git makes longer markers with the attribute `conflict-marker-size`.
    let long = file
        .replace("<<<<<<<", "<<<<<<<<<")
        .replace("=======", "=========");
    for file in [file, &long.replace(">>>>>>>", ">>>>>>>>>")] {
        let problem = refused(file);
        assert_eq!(problem.line, Some(5));
        assert!(problem.message.contains("conflict markers"));
    }
    let document = Document::parse_leniently(file.as_bytes()).expect("readable");
    assert!(has_conflict_markers(document.text()));
    assert!(
        refused("---\n<<<<<<< a\ntitle: T\n=======\ntitle: U\n>>>>>>> b\n---\n")
            .message
            .contains("conflict")
    );
    for harmless in [
        "<<<<<<< a\n>>>>>>> b",
        "x\n=======\n",
        " <<<<<<<\n=======\n>>>>>>>",
        "<<<<<<<<\n=======\n>>>>>>>>",
    ] {
        assert!(!has_conflict_markers(harmless), "{harmless:?}");
    }
}

#[test]
fn f090_crlf_files_are_read_as_lf_and_written_back() {
    let file = "---\r\ntitle: T\r\nnote: mine\r\n---\r\n<p>a</p>\r\n<p>b</p>\r\n";
    let document = parse(file);
    assert!(document.is_crlf());
    assert_eq!(document.text(), "<p>a</p>\n<p>b</p>");
    let same = Changes {
        text: Some("<p>a</p>\n<p>b</p>".to_owned()),
        ..title("T")
    };
    assert_eq!(document.edit(&same), file);
    let other = Changes {
        keywords: Some("k".to_owned()),
        text: Some("x\ny".to_owned()),
        ..title("U")
    };
    let edited = document.edit(&other);
    assert_eq!(
        edited,
        "---\r\ntitle: U\r\nkeywords: k\r\nnote: mine\r\n---\r\nx\r\ny\r\n"
    );
    let cr = Changes {
        text: Some("x\r\ny\rz".to_owned()),
        ..Changes::default()
    };
    let edited = document.edit(&cr);
    assert_eq!(edited, "---\ntitle: T\nnote: mine\n---\nx\r\ny\rz\n");
    assert_eq!(parse(&edited).text(), "x\r\ny\rz");
}

#[test]
fn an_lf_file_keeps_carriage_returns_in_its_body() {
    let document = parse("---\ntitle: T\n---\na\r\nb\r\n");
    assert!(!document.is_crlf());
    assert_eq!(document.text(), "a\r\nb\r");
}

#[test]
fn f137_bombs_are_refused_quickly() {
    let deep = format!("---\ntitle: T\nx: {}\n---\n", "[".repeat(60_000));
    assert_eq!(refused(&deep).line, Some(3));
    let level = format!(
        "---\ntitle: T\nx: {}x{}\n---\n",
        "[".repeat(30),
        "]".repeat(30)
    );
    assert!(refused(level).message.contains("nested too deeply"));
    let maps = format!("---\ntitle: T\nx: {}\n---\n", "{a: ".repeat(15_000));
    refused(&maps);
    refused(format!(
        "---\ntitle: T\nx: {}\n---\n",
        "a".repeat(65 * 1024)
    ));
    refused("---\na: &a [x]\nb: &b [*a, *a]\ntitle: T\n---\n");
    refused(vec![b'a'; MAX_FILE + 1]);
}

#[test]
fn f138_nothing_but_dashes_stands_on_the_first_line() {
    assert!(refused("---js\ntitle: T\n---\n").message.contains("---js"));
    for text in [
        "---js\nmodule.exports = {}",
        "=x",
        "!!python/object:x",
        "%TAG",
    ] {
        let file = Document::compose(&title(text));
        assert!(file.starts_with("---\ntitle: \""), "{file}");
    }
}

const OWN: &str = "---\n# who reads this\ntitle: 'It''s old'   # shown on top\nowner:\n  - docs-team  # all of us\n  - {a: [1, 2]}\n\
                   keywords: >-\n  install,\n  agent\n\n# about the rest\nnote: |\n  # not a comment\n  x\nintrotext:  # to do\nlist:\n- a\n- b\n---\nx\n";

#[test]
fn an_edit_touches_only_the_lines_of_what_changed() {
    let document = parse(OWN);
    let check = |changes: Changes, from: &str, to: &str| {
        assert!(OWN.contains(from), "{from}");
        assert_eq!(document.edit(&changes), OWN.replacen(from, to, 1));
    };
    check(
        title("It's new"),
        "'It''s old'   # shown",
        "'It''s new'   # shown",
    );
    check(
        title("a\nb"),
        "'It''s old'   # shown",
        "\"a\\nb\"   # shown",
    );
    check(
        Changes {
            keywords: Some("k".to_owned()),
            ..Changes::default()
        },
        "keywords: >-\n  install,\n  agent\n",
        "keywords: k\n",
    );
    check(
        Changes {
            keywords: Some(String::new()),
            ..Changes::default()
        },
        "keywords: >-\n  install,\n  agent\n",
        "",
    );
    check(
        Changes {
            introtext: Some("i: j".to_owned()),
            ..Changes::default()
        },
        "introtext:  # to do\n",
        "introtext: \"i: j\"  # to do\n",
    );
    check(
        Changes {
            id: Some(id().uuid()),
            ..Changes::default()
        },
        "# who reads this\n",
        "id: 5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c\n# who reads this\n",
    );
    check(
        Changes {
            slug: Some(Some("s".to_owned())),
            draft: Some(Some(true)),
            enabled: Some(Some(false)),
            ..Changes::default()
        },
        "owner:\n",
        "slug: s\nenabled: false\ndraft: true\nowner:\n",
    );
    check(
        Changes {
            text: Some("y".to_owned()),
            ..Changes::default()
        },
        "---\nx\n",
        "---\ny\n",
    );
}

#[test]
fn published_again_the_flags_lose_their_lines() {
    let document =
        parse("---\ntitle: T\nenabled: false # not yet\ndraft: true\nowner: a\n---\nx\n");
    let changes = Changes {
        enabled: Some(None),
        draft: Some(None),
        ..Changes::default()
    };
    assert_eq!(document.edit(&changes), "---\ntitle: T\nowner: a\n---\nx\n");
}

#[test]
fn odd_but_valid_yaml_can_be_edited() {
    for (file, expected) in [
        ("---\ntitle : T\n---\n", "---\ntitle : U\n---\n"),
        ("---\n\"title\": T\n---\n", "---\n\"title\": U\n---\n"),
        (
            "---\n  title: T\n  a: b\n---\n",
            "---\n  title: U\n  a: b\n---\n",
        ),
        (
            "---\ntitle:\n  T\na: b\n---\n",
            "---\ntitle: U\na: b\n---\n",
        ),
        (
            "---\ntitle: T\n  goes on\na: b\n---\n",
            "---\ntitle: U\na: b\n---\n",
        ),
        (
            "---\ntitle: \"T\n\n  on\"\na: b\n---\n",
            "---\ntitle: \"U\"\na: b\n---\n",
        ),
        (
            "---\ntitle: |  # block\n  T\n\n\na: b\n---\n",
            "---\ntitle: U\n\n\na: b\n---\n",
        ),
        (
            "---\ntitle: T\n  # below\na: b\n---\n",
            "---\ntitle: U\n  # below\na: b\n---\n",
        ),
        (
            "---\ntitle: Über T\u{1f600}  # c\n---\n",
            "---\ntitle: U  # c\n---\n",
        ),
    ] {
        assert_eq!(parse(file).edit(&title("U")), expected, "{file:?}");
    }
}

#[test]
fn a_category_is_written_read_and_edited() {
    let changes = Changes {
        id: Some(ID.parse().expect("a UUID")),
        name: Some("Getting started".to_owned()),
        slug: Some(None),
        description: Some("first\nsecond: \"x\"\r".to_owned()),
        meta_description: Some(String::new()),
        ..Changes::default()
    };
    let file = CategoryDocument::compose(&changes);
    assert_eq!(
        file,
        format!("id: {ID}\nname: Getting started\ndescription: \"first\\nsecond: \\\"x\\\"\\r\"\n")
    );
    let document = CategoryDocument::parse(file.as_bytes()).expect("readable");
    assert_eq!(document.edit(&changes), file);
    assert_eq!(document.name(), Some("Getting started"));
    assert_eq!(document.description(), "first\nsecond: \"x\"\r");
    assert_eq!(document.slug(), None);

    for (file, expected) in [
        (
            "name: A # c\nown: [1]\n",
            "name: B # c\nslug: s\nown: [1]\n",
        ),
        ("---\nname: A\nown: 1", "---\nname: B\nslug: s\nown: 1"),
        ("own: 1\nname: A", "own: 1\nname: B\nslug: s\n"),
        (
            "\u{feff}name: A\r\n# end\r\n",
            "\u{feff}name: B\r\nslug: s\r\n# end\r\n",
        ),
    ] {
        let document = CategoryDocument::parse(file.as_bytes()).expect("readable");
        let changes = Changes {
            name: Some("B".to_owned()),
            slug: Some(Some("s".to_owned())),
            ..Changes::default()
        };
        assert_eq!(document.edit(&changes), expected);
    }
}

#[test]
fn a_broken_category_is_not_ready() {
    for (file, line, message) in [
        ("", None, "no keys"),
        ("# nothing\n", None, "no keys"),
        ("id: x\nname: A\n", Some(1), "is not an id"),
        ("---\nname:\n", Some(2), "name is empty"),
        ("name: A\nname: B\n", Some(2), "second time"),
        ("name: A\n---\nname: B\n", Some(2), ""),
        (
            "<<<<<<< a\nname: A\n=======\nname: B\n>>>>>>> b\n",
            None,
            "conflict markers",
        ),
    ] {
        let problem = CategoryDocument::parse(file.as_bytes()).expect_err("not ready");
        assert!(problem.message.contains(message), "{file:?}: {problem}");
        assert!(
            line.is_none() || problem.line == line,
            "{file:?}: {problem}"
        );
    }
    let problem =
        CategoryDocument::parse(format!("id: {ID}\nname: [\n").as_bytes()).expect_err("not ready");
    assert_eq!(problem.category, ID.parse().ok());
}

/// Texts with everything that YAML trips over.
fn texts() -> impl Strategy<Value = String> {
    let words = vec![
        "no",
        "Yes",
        "null",
        "~",
        "1_000",
        "0o14",
        "1e3",
        "2024-01-01",
        "12:30:45",
        "<<",
        "=",
        "a: b",
        "a #b",
        "#a",
        "- a",
        "? a",
        ": a",
        "'a'",
        "\"a\"",
        "it's",
        "a\"b",
        "\\",
        "[a]",
        "{a}",
        "a,",
        "%a",
        "@a",
        "`a`",
        "!a",
        "&a",
        "*a",
        "|",
        ">",
        "---",
        "...",
        " a",
        "a ",
        "\ta",
        "a\tb",
        "a\nb",
        "a\r\nb",
        "\u{85}",
        "\u{2028}",
        "\u{feff}a",
        "\u{7f}",
        "\u{1}",
        "Über",
        "日本",
        "😀",
        "\u{202e}x",
        "(a)",
        "C#",
        "3 steps",
        "true",
        ".inf",
        ".5",
        "+1",
        "0x1f",
        "a:",
        "…",
    ];
    prop_oneof![
        3 => proptest::sample::select(words.clone()).prop_map(str::to_owned),
        2 => proptest::collection::vec(proptest::sample::select(words), 1..4).prop_map(|words| words.join(" ")),
        2 => "[ -~\t\n]{1,20}",
        2 => any::<String>().prop_map(|text| text.chars().take(60).collect()),
    ]
}

fn bodies() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        proptest::collection::vec(
            proptest::sample::select(vec![
                "---", "", "<p>x</p>", "\r", "title: x", "...", "\u{feff}", "id: 1"
            ]),
            0..6
        )
        .prop_map(|lines| lines.join("\n")),
        "[a\r\n-]{0,12}",
    ]
    .prop_map(|text| text.replace('\0', ""))
}

/// Front matter as writers write it: kbsync's keys in any order and style, mixed with the writer's own.
fn files() -> impl Strategy<Value = String> {
    let ours = vec![
        "slug: s",
        "slug: 's' # c",
        "enabled: true",
        "draft: false # c",
        "introtext: |\n  a\n  b",
        "introtext: >+\n  a\n\n",
        "introtext:",
        "introtext: a\n  b",
        "keywords: \"a, b\"  # c",
        "keywords:\n  'a\n  b'",
        "keywords: null",
        "id: 00000000-0000-4000-8000-000000000000 # c",
    ];
    let own = vec![
        "# c",
        "",
        "a: 1",
        "b: [x, y]",
        "c:\n- x\n- y # c",
        "d:\n  e: f\n  # c\n  g: h",
        "h: |-\n  # x\n   y",
        "i: 'x: y'",
        "  # c",
        "\"j\": >\n  x\n\n  y\n",
        "k: x\n  y",
        "l: {m: n,\n  o: p}",
        "q: # c",
        "r:\n\n  s: t",
    ];
    (
        proptest::sample::subsequence(ours, 0..5).prop_shuffle(),
        proptest::sample::subsequence(own, 0..8).prop_shuffle(),
        any::<[u8; 12]>(),
        any::<bool>(),
        bodies(),
    )
        .prop_map(|(ours, own, places, crlf, body)| {
            let mut keys = HashSetByKey::default();
            let mut lines: Vec<&str> = own;
            for (line, place) in ours.into_iter().chain(["title: 'T'  # c"]).zip(places) {
                if keys.insert(line) {
                    lines.insert(usize::from(place) % (lines.len() + 1), line);
                }
            }
            let front = format!(
                "---\n{}\n---\n{}\n",
                lines.join("\n"),
                body.replace('\r', "")
            );
            if crlf {
                front.replace('\n', "\r\n")
            } else {
                front
            }
        })
}

#[derive(Default)]
struct HashSetByKey(std::collections::HashSet<String>);

impl HashSetByKey {
    fn insert(&mut self, line: &str) -> bool {
        self.0
            .insert(line.split(':').next().unwrap_or(line).to_owned())
    }
}

fn changes() -> impl Strategy<Value = Changes> {
    (
        proptest::option::of(Just(id())),
        proptest::option::of(texts().prop_filter("a title", |text| !text.trim().is_empty())),
        proptest::option::of(proptest::option::of(texts())),
        proptest::option::of(any::<Option<bool>>()),
        proptest::option::of(any::<Option<bool>>()),
        proptest::option::of(prop_oneof![Just(String::new()), texts()]),
        proptest::option::of(prop_oneof![Just(String::new()), texts()]),
        proptest::option::of(bodies()),
    )
        .prop_map(
            |(id, title, slug, enabled, draft, introtext, keywords, text)| Changes {
                id: id.map(ArticleId::uuid),
                title,
                slug: slug.map(|slug| slug.filter(|slug| !slug.is_empty())),
                enabled,
                draft,
                introtext,
                keywords,
                text: text.filter(|text| !has_conflict_markers(text)),
                ..Changes::default()
            },
        )
}

/// Asserts that a file has the wanted values, and its old values otherwise.
fn check_edit(before: &Document, wanted: &Changes) {
    let edited = before.edit(wanted);
    let after = parse(&edited);
    assert_eq!(
        after.id(),
        wanted.id.map(ArticleId::new).or(before.id()),
        "{edited}"
    );
    assert_eq!(
        after.title(),
        wanted.title.as_deref().unwrap_or(before.title()),
        "{edited}"
    );
    let slug = wanted
        .slug
        .clone()
        .unwrap_or(before.slug().map(str::to_owned));
    assert_eq!(after.slug(), slug.as_deref(), "{edited}");
    assert_eq!(
        after.flags().enabled,
        wanted.enabled.unwrap_or(before.flags().enabled),
        "{edited}"
    );
    assert_eq!(
        after.flags().draft,
        wanted.draft.unwrap_or(before.flags().draft),
        "{edited}"
    );
    assert_eq!(
        after.introtext(),
        wanted.introtext.as_deref().unwrap_or(before.introtext()),
        "{edited}"
    );
    assert_eq!(
        after.keywords(),
        wanted.keywords.as_deref().unwrap_or(before.keywords()),
        "{edited}"
    );
    assert_eq!(
        after.text(),
        wanted.text.as_deref().unwrap_or(before.text()),
        "{edited}"
    );
    assert_eq!(after.edit(wanted), edited, "a second edit changes nothing");
    for own in [
        "# c\n",
        "c:\n- x\n- y # c\n",
        "h: |-\n  # x\n   y\n",
        "l: {m: n,\n  o: p}\n",
    ] {
        let lf = before.source().replace("\r\n", "\n");
        let front = lf.split("\n---\n").next().unwrap_or_default();
        if front.contains(own) {
            assert!(
                edited.replace("\r\n", "\n").contains(own),
                "{own:?} is gone:\n{edited}"
            );
        }
    }
}

#[test]
fn a_comment_below_a_value_of_several_lines_stays() {
    for (value, stays, written) in [
        ("a,\n  b\n", "  # ask Ann first\n", "k\n"),
        ("a,\n  b\n", "  # one\n\n  # two\n", "k\n"),
        ("\n  a, b\n", "    # ask Ann first\n", "k\n"),
        ("'a,\n  # b'\n", "  # it's it\n", "'k'\n"),
        ("\"a,\n  # b\"\n", "  # \"c\"\n", "\"k\"\n"),
        (">-\n    a\n    # b\n", "  # ask Ann first\n", "k\n"),
        ("|\n  a\n  # b\n", "", "k\n"),
    ] {
        for end in ["\n", "\r\n"] {
            let of = |value: &str| {
                let file = format!("---\ntitle: T\nkeywords: {value}{stays}slug: x\n---\nx\n");
                file.replace('\n', end)
            };
            let changes = Changes {
                keywords: Some("k".to_owned()),
                ..Changes::default()
            };
            let edited = parse(&of(value)).edit(&changes);
            assert_eq!(edited, of(written));
            assert_eq!(parse(&edited).keywords(), "k");
        }
    }
}

#[test]
fn a_comment_behind_a_value_stays_when_the_block_is_written_anew() {
    // Without the line between them, the second blank line would belong to `introtext`.
    let file = "---\ntitle: 'T'  # c\nintrotext: >+\n  a\n\nenabled: true\n\na: 1\n---\nx\n";
    let edited = parse(file).edit(&Changes {
        title: Some("U".to_owned()),
        enabled: Some(None),
        ..Changes::default()
    });
    assert_eq!(
        edited,
        "---\n# c\ntitle: U\nintrotext: >+\n  a\n\na: 1\n---\nx\n"
    );
}

/// The writer's own keys, as another parser reads them.
fn own_values(file: &str) -> serde_yaml::Mapping {
    let lf = file.replace("\r\n", "\n");
    let front = lf
        .trim_start_matches("---\n")
        .split("\n---\n")
        .next()
        .unwrap_or_default()
        .to_owned();
    // Without this line break, the last line of a block scalar would have none either.
    let front = front + "\n";
    let mut map: serde_yaml::Mapping =
        serde_yaml::from_str(&front).unwrap_or_else(|error| panic!("{error}\n{front}"));
    map.retain(|key, _| !key.as_str().is_some_and(|key| KEYS.contains(&key)));
    map
}

#[test]
fn a_block_that_becomes_the_last_key_keeps_its_last_line_break() {
    let file = "---\ntitle: T\nj: >\n  x\n\n  # c\nintrotext: |\n  a\n---\n";
    let edited = parse(file).edit(&Changes {
        introtext: Some(String::new()),
        ..Changes::default()
    });
    assert_eq!(edited, "---\ntitle: T\nj: >\n  x\n\n  # c\n---\n");
    assert_eq!(own_values(&edited), own_values(file));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_composed_is_read_back(title in texts(), slug in texts(), introtext in texts(), text in bodies()) {
        prop_assume!(!title.trim().is_empty() && !has_conflict_markers(&text));
        let wanted = Changes { slug: Some(Some(slug.clone())), introtext: Some(introtext.clone()), ..all(&title, &text) };
        let file = Document::compose(&wanted);
        let document = parse(&file);
        prop_assert_eq!(document.title(), title);
        prop_assert_eq!(document.slug(), Some(slug.as_str()).filter(|slug| !slug.is_empty()));
        prop_assert_eq!(document.introtext(), introtext);
        prop_assert_eq!(document.text(), text);
        prop_assert_eq!(document.edit(&wanted), file);
    }

    #[test]
    fn another_parser_reads_the_same_text(text in texts()) {
        let written = quoting::write_text(&text, None);
        prop_assert!(!written.contains('\n'));
        let read: std::collections::BTreeMap<String, serde_yaml::Value> =
            serde_yaml::from_str(&format!("k: {written}\n")).expect("YAML");
        prop_assert_eq!(read.get("k").and_then(|value| value.as_str()), Some(text.as_str()), "{}", written);
    }

    #[test]
    fn edits_hold_what_is_wanted_and_keep_the_rest(file in files(), wanted in changes()) {
        prop_assume!(!has_conflict_markers(&file));
        let document = parse(&file);
        check_edit(&document, &wanted);
        prop_assert_eq!(own_values(&document.edit(&Changes { text: None, ..wanted })), own_values(&file));
    }

    #[test]
    fn a_block_written_anew_holds_what_is_wanted(file in files(), wanted in changes()) {
        prop_assume!(!has_conflict_markers(&file));
        let document = parse(&file);
        let edits = wanted.edits();
        let raw = document.source.frame.block(document.source());
        let (anew, holds) = splice::tests::apply_anew(raw, &document.source.block, &KEYS, &edits);
        prop_assert!(holds, "{}", anew);
    }

    #[test]
    fn equal_values_give_the_identical_file(file in files()) {
        prop_assume!(!has_conflict_markers(&file));
        let document = parse(&file);
        let same = Changes {
            id: document.id().map(ArticleId::uuid),
            title: Some(document.title().to_owned()),
            slug: Some(document.slug().map(str::to_owned)),
            enabled: Some(document.flags().enabled),
            draft: Some(document.flags().draft),
            introtext: Some(document.introtext().to_owned()),
            keywords: Some(document.keywords().to_owned()),
            text: Some(document.text().to_owned()),
            ..Changes::default()
        };
        prop_assert_eq!(document.edit(&same), file);
    }

    #[test]
    fn whatever_is_read_can_be_edited(front in "([a-c#:'\"|>~ \t\r-]{0,6}\n){0,6}", title in texts()) {
        prop_assume!(!title.trim().is_empty());
        let file = format!("---\n{front}title: T\n---\nx\n");
        if let Ok(document) = Document::parse(file.as_bytes()) {
            let edited = document.edit(&Changes { title: Some(title.clone()), slug: Some(Some("s".to_owned())), ..Changes::default() });
            let after = parse(&edited);
            prop_assert_eq!(after.title(), title);
            prop_assert_eq!(after.slug(), Some("s"));
        }
    }

    #[test]
    fn categories_are_read_back(name in texts(), description in texts(), own in "[a-z]{0,5}") {
        prop_assume!(!name.trim().is_empty());
        let wanted = Changes {
            name: Some(name.clone()),
            description: Some(description.clone()),
            ..Changes::default()
        };
        let file = CategoryDocument::compose(&wanted);
        let document = CategoryDocument::parse(file.as_bytes()).expect("readable");
        prop_assert_eq!(document.name(), Some(name.as_str()));
        prop_assert_eq!(document.description(), description.as_str());
        let other = format!("own: {own} # c\nname: x\n");
        let edited = CategoryDocument::parse(other.as_bytes()).expect("readable").edit(&wanted);
        let after = CategoryDocument::parse(edited.as_bytes()).expect("readable");
        prop_assert_eq!(after.description(), description.as_str());
        let kept = edited.starts_with(&format!("own: {own} # c\n"));
        prop_assert!(kept, "{}", edited);
    }
}
