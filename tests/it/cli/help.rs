//! `kbsync help`: topics and commands; and the documents name only commands and flags that exist.

use crate::support::kb::Kb;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn guide() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("docs/guide")).expect("the guide");
    let mut pages: Vec<PathBuf> = folder.map(|entry| entry.expect("a page").path()).collect();
    pages.sort();
    pages
}

/// The commands that `kbsync help` lists.
fn commands(kb: &Kb) -> Vec<String> {
    let help = kb.run(&["help"]).exits(0).stdout;
    let (listed, _) = help.split_once("\nTopics").expect("topics");
    let (explained, named) = listed.split_once("More:").expect("more");
    let lines = explained.lines().filter(|line| line.starts_with("  "));
    lines
        .filter_map(|line| line.split_whitespace().next())
        .chain(named.split(',').map(str::trim))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_first_page_of_help_fits_a_small_terminal() {
    let help = Kb::new().run(&["help"]).exits(0).stdout;
    assert!(help.lines().count() <= 30, "{help}");
}

#[test]
fn the_help_of_every_command_is_read_as_a_whole() {
    let kb = Kb::new();
    let help_of = |arguments: &[&str]| {
        let shown = kb.run(arguments).exits(0).stdout;
        format!("=== kbsync {}\n{shown}", arguments.join(" "))
    };
    let mut all = vec![help_of(&["--help"]), help_of(&["help", "options"])];
    let commands = commands(&kb);
    all.extend(commands.iter().map(|command| help_of(&[command, "--help"])));
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn help_names_every_topic() {
    let kb = Kb::new();
    let help = kb.run(&["help"]).exits(0).stdout;
    let (_, topics) = help.split_once("Topics").expect("topics");
    for page in guide() {
        let name = page.file_stem().expect("a name").to_string_lossy();
        assert!(topics.contains(&*name), "{name}: {help}");
    }
}

#[test]
fn another_program_s_word_leads_to_the_command() {
    for (typed, meant) in [
        ("undo", "restore"),
        ("ls", "status"),
        ("publish", "push"),
        ("version", "--version"),
    ] {
        let refused = Kb::new().run(&[typed]).exits(2).stderr;
        assert!(refused.contains(&format!("'{meant}'")), "{refused}");
    }
}

#[test]
fn the_manual_has_exit_codes_variables_files_and_examples() {
    let manual = Kb::new().run(&["man"]).exits(0).stdout;
    for part in [
        ".SH \"EXIT STATUS\"",
        ".SH ENVIRONMENT",
        ".SH FILES",
        ".SH EXAMPLES",
        "130",
        "KBSYNC_STATE_DIR",
        "_category.yaml",
        "kbsync restore",
        "\\-\\-trust\\-service",
    ] {
        assert!(manual.contains(part), "{part}:\n{manual}");
    }
    let page = Kb::new().run(&["man", "sync"]).exits(0).stdout;
    assert!(!page.contains("insecure"), "{page}");
}

#[test]
fn every_topic_is_shown() {
    let kb = Kb::new();
    for page in guide() {
        let name = page.file_stem().expect("a name").to_string_lossy();
        let text = std::fs::read_to_string(&page).expect("text");
        let shown = kb.run(&["help", &name]).exits(0).stdout;
        let title = text.lines().next().expect("a heading").replace("# ", "");
        assert_eq!(shown.lines().next(), Some(title.as_str()));
        let code = text.lines().find(|line| line.starts_with("$ kbsync"));
        if let Some(code) = code {
            assert!(shown.contains(&format!("\n    {code}\n")), "{shown}");
        }
    }
}

#[test]
fn help_of_a_command_is_that_of_its_flag() {
    let kb = Kb::new();
    let shown = kb.run(&["help", "resolve"]).exits(0).stdout;
    assert!(shown.contains("--keep"), "{shown}");
    assert_eq!(shown.trim(), kb.run(&["resolve", "--help"]).stdout.trim());
}

#[test]
fn an_unknown_topic_names_those_that_are_near() {
    let kb = Kb::new();
    for (typed, near) in [
        ("conflict", "'conflicts'"),
        ("Setings", "'settings'"),
        ("syn", "'sync'"),
        ("xyzzy", "[possible values: files, conflicts, "),
    ] {
        let said = kb.run(&["help", typed]).exits(2).stderr;
        let wrong = format!("error: invalid value '{typed}' for '[TOPIC]'");
        assert!(said.starts_with(&wrong) && said.contains(near), "{said}");
    }
}

#[test]
fn every_command_is_explained_and_every_explained_command_exists() {
    let kb = Kb::new();
    let commands = commands(&kb);
    let page = std::fs::read_to_string(root().join("docs/guide/commands.md")).expect("text");
    for command in commands.iter().filter(|name| *name != "help") {
        let item = format!("- `kbsync {command}");
        assert!(page.contains(&item), "commands.md explains no {command}");
    }
    let mut pages = guide();
    for name in ["README.md", "SECURITY.md"] {
        pages.push(root().join(name));
    }
    let mut seen = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("text");
        let typed = text.lines().filter(|line| line.starts_with("$ "));
        let named = text
            .lines()
            .flat_map(|line| line.split('`').skip(1).step_by(2));
        for command in typed
            .map(|line| &line[2..])
            .chain(named)
            .filter_map(|code| code.strip_prefix("kbsync "))
            .filter_map(|rest| rest.split_whitespace().next())
            .filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
        {
            seen += 1;
            let known = commands.iter().any(|known| known == command);
            assert!(known, "{}: kbsync {command}", page.display());
        }
    }
    assert!(seen > 50, "{seen} commands were found");
}

#[test]
fn every_setting_is_explained() {
    let kb = Kb::new();
    kb.run(&[
        "init",
        "--service",
        "https://kb.example.com",
        "--workspace",
        crate::support::kb::WORKSPACE,
    ])
    .exits(0);
    let page = std::fs::read_to_string(root().join("docs/guide/settings.md")).expect("text");
    let written = kb.read("kbsync.yaml");
    let keys: Vec<&str> = written
        .lines()
        .filter_map(|line| line.trim_start_matches("# ").split_once(':'))
        .map(|(key, _)| key)
        .filter(|key| {
            key.bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_lowercase())
        })
        .collect();
    assert!(keys.len() > 15, "{keys:?}");
    for key in keys {
        assert!(page.contains(&format!("- `{key}`")), "settings.md: {key}");
    }
}

#[test]
fn the_readme_is_short() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("text");
    let words = text.split_whitespace().count();
    assert!(words <= 1500, "README.md has {words} words");
}

#[test]
fn a_flag_that_a_command_does_not_need_gets_a_tip() {
    let kb = Kb::new();
    for (arguments, tip) in [
        (
            ["check", "--exit-code"],
            "tip: `check` needs no flag: it exits with 4",
        ),
        (
            ["doctor", "--listen"],
            "tip: `doctor --health` finds the daemon",
        ),
    ] {
        let told = kb.run(&arguments).exits(2).stderr;
        assert!(told.contains(tip), "{told}");
    }
}
