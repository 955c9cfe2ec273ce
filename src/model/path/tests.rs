//! Names from slugs and back: safe, injective, portable.

use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn free(_: &str) -> bool {
    false
}

#[test]
fn f103_names_that_some_system_cannot_hold_are_unsafe() {
    for slug in [
        "con",
        "CON",
        "nul",
        "aux.x",
        "Prn.html",
        "com1",
        "COM9.txt",
        "lpt0",
        "com¹",
        "a.",
        ".a",
        "_a",
        "a:b",
        "a b",
        "a/b",
        "a\\b",
        "",
        "..",
        ".",
        "a~1",
        "install.conflict",
        "x.Conflict",
        "4913",
        "x.tmp",
        "x.swp",
        "kbsync.yaml",
        "KBSYNC.yaml",
        "x.sync-conflict-1",
        "a\u{3164}b",
        "x___jb_tmp___",
    ] {
        assert!(!safe_stem(slug), "{slug:?}");
        let stem = stem_for(slug, id(0x5d0c_3c1e_u128 << 96), &free);
        assert!(stem.ends_with("~5d0c3c1e"), "{slug:?} became {stem:?}");
        assert!(portable(&stem), "{stem:?}");
    }
    for slug in [
        "install",
        "v1.2",
        "über-uns",
        "日本語",
        "concert",
        "com10",
        "a_b",
        "-x",
        "4914",
        "Conflict",
    ] {
        assert!(safe_stem(slug), "{slug:?}");
        assert_eq!(stem_for(slug, id(1), &free), slug);
    }
}

#[test]
fn f101_long_slugs_leave_room_for_endings_and_temporary_names() {
    assert!(safe_stem(&"a".repeat(200)));
    assert!(!safe_stem(&"a".repeat(201)));
    let stem = stem_for(&"ü".repeat(255), id(7), &free);
    assert!(stem.len() <= MAX_STEM && stem.starts_with("üü"), "{stem}");
}

#[test]
fn f102_one_name_in_two_compositions_is_one_slug() {
    assert!(!safe_stem("u\u{308}ber"));
    assert_eq!(slug_of_stem("u\u{308}ber").expect("a slug"), "über");
    assert_eq!(fold("U\u{308}BER"), fold("über"));
}

#[test]
fn f059_names_that_clash_when_case_is_folded_get_the_id() {
    let taken = |name: &str| name == "install";
    assert_eq!(
        stem_for("Install", id(0xabcd_ef01_u128 << 96), &taken),
        "Install~abcdef01"
    );
    assert_eq!(fold("STRASSE"), fold("straße"));
    assert_eq!(fold("ΣΑΣ"), fold("σας"));
}

#[test]
fn f059_digits_are_added_until_the_name_is_free() {
    let taken = |name: &str| name == "con~00000000" || name == "con~000000000000";
    assert_eq!(stem_for("con", id(5), &taken), "con~0000000000000000");
    assert_eq!(
        stem_for("con", id(5), &|_| true),
        "con~00000000000000000000000000000005"
    );
}

#[test]
fn f129_hostile_slugs_become_single_names() {
    for slug in [
        "../../.ssh/authorized_keys",
        "/etc/passwd",
        "C:\\x",
        ".git/hooks/x",
        "..",
        "a\0b",
        "\u{202e}lmth.x",
        "~root",
        "x\n",
        "con/../..",
        "%2e%2e%2f",
        "-",
    ] {
        assert!(portable(&stem_for(slug, id(9), &free)), "{slug:?}");
    }
}

#[test]
fn names_that_cannot_be_slugs_propose_one() {
    for (stem, proposal) in [
        ("Über uns", "uber-uns"),
        ("install~5d0c3c1e", "install-5d0c3c1e"),
        ("What's new?", "whats-new"),
        ("???", "page"),
        ("con ", "con-page"),
        ("end.", "end"),
    ] {
        assert_eq!(
            slug_of_stem(stem).expect_err("no slug").proposal,
            proposal,
            "{stem}"
        );
    }
    assert!(slug_of_stem(&"a".repeat(256)).is_err());
    assert_eq!(slug_of_stem("con").as_deref(), Ok("con"));
}

#[test]
fn folders_become_readable() {
    assert_eq!(readable("getting-started"), "Getting started");
    assert_eq!(readable("über_uns"), "Über uns");
    assert_eq!(readable("--"), "--");
}

#[test]
fn f074_f121_leftovers_of_editors_and_other_tools_are_known() {
    for name in [
        ".x.html",
        "_draft.html",
        "a.html~",
        "a.swp",
        ".#a.html",
        "#a.html#",
        "4913",
        "a.tmp",
        "a.html___jb_tmp___",
        "a.html___jb_old___",
        "a.conflict.html",
        "a (Ann's conflicted copy 2026-01-01).html",
        "a.sync-conflict-20260101-120000-ABCDEFG.html",
        "a_conflict-20261128-120000.html",
    ] {
        assert!(is_ignored(name), "{name}");
    }
    for name in [
        "a.html",
        "conflicted-copy.html",
        "4913.html",
        "tmp.html",
        "conflict.html",
        "merge_conflict-resolution.html",
        "a_conflict-20261128a120000.html",
    ] {
        assert!(!is_ignored(name), "{name}");
    }
}

/// The oracle: whether every file system and every git checkout can hold a stem as a single name.
fn portable(stem: &str) -> bool {
    let file = format!("{stem}.html");
    [stem, file.as_str()].into_iter().all(|name| {
        !name.is_empty()
            && name.len() <= 210
            && !name.starts_with(['.', '_', ' ', '#'])
            && !name.ends_with(['.', ' '])
            && name.nfc().eq(name.chars())
            && !name
                .chars()
                .any(|c| c.is_control() || "/\\:*?\"<>|".contains(c))
            && !["con", "prn", "aux", "nul"]
                .contains(&name.split('.').next().unwrap_or("").to_lowercase().as_str())
            && !is_ignored(name)
    })
}

fn slugs() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9._~-]{0,12}",
        any::<String>(),
        proptest::sample::select(vec![
            "con", "aux.x", "..", "a/../b", "x.tmp", "ſ", "ŉ", "İ", "K"
        ])
        .prop_map(str::to_owned),
        "[a-cA-C\u{e9}\u{301}.]{1,4}",
        "[a-z]{190,230}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_slug_becomes_a_portable_name(slug in slugs(), number in any::<u128>()) {
        let stem = stem_for(&slug, id(number), &free);
        prop_assert!(portable(&stem), "{:?} became {:?}", slug, stem);
    }

    #[test]
    fn a_safe_slug_comes_back(slug in slugs()) {
        if safe_stem(&slug) {
            prop_assert_eq!(slug_of_stem(&stem_for(&slug, id(3), &free)), Ok(slug));
        } else if let Ok(other) = slug_of_stem(&stem_for(&slug, id(3), &free)) {
            prop_assert!(false, "{:?} would be read as {:?}", slug, other);
        }
    }

    #[test]
    fn no_two_articles_share_a_name(slugs in proptest::collection::vec(slugs(), 1..24), numbers in any::<u64>()) {
        let mut folded = HashSet::new();
        for (number, slug) in slugs.iter().enumerate() {
            let id = id((u128::from(numbers) << 64) + number as u128);
            let stem = stem_for(slug, id, &|name| folded.contains(name));
            prop_assert!(folded.insert(fold(&stem)), "{:?} clashes as {:?}", slug, stem);
        }
    }

    #[test]
    fn folding_twice_changes_nothing(name in any::<String>()) {
        let once = fold(&name);
        prop_assert_eq!(fold(&once), once);
    }

    #[test]
    fn new_slugs_are_safe(title in any::<String>()) {
        let slug = slugify(&title);
        prop_assert!(safe_stem(&slug) && slug.len() <= 90, "{:?} became {:?}", title, slug);
    }
}

#[test]
fn a_path_is_quoted_where_a_shell_would_take_it_apart() {
    for (path, typed) in [
        ("start/a-b_c.html", "start/a-b_c.html"),
        ("Über/ä.html", "Über/ä.html"),
        ("a & b/c.html", "'a & b/c.html'"),
        ("it's/x.html", r"'it'\''s/x.html'"),
        ("a\n::error::b's.html", r"$'a\n::error::b\'s.html'"),
    ] {
        assert_eq!(quoted(path), typed);
    }
}

#[test]
fn a_path_in_a_diff_is_one_line_and_is_quoted_as_git_does() {
    for (path, written) in [
        ("a/start/a b.html", "a/start/a b.html"),
        ("a/Über/ä.html", "a/Über/ä.html"),
        ("a/x\n::error::y.html", r#""a/x\n::error::y.html""#),
        ("a/\"q\"\\.html", r#""a/\"q\"\\.html""#),
        (
            "a/\r\t\u{1b}[2J\u{9b}.html",
            r#""a/\r\t\033[2J\302\233.html""#,
        ),
    ] {
        assert_eq!(quoted_as_git(path), written);
    }
}
