//! Accepted settings, refused settings, and the precedence of the sources.

use super::*;
use std::path::Path;

const ID: &str = "3f2a0c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";

fn minimal(more: &str) -> String {
    format!("service: https://kb.example.com/\nworkspace: {ID}\n{more}")
}

/// Loads settings with this file (if any), these variables and this flag.
fn load(
    file: Option<&str>,
    variables: &[(&str, &str)],
    insecure_http: bool,
) -> Result<Config, ConfigError> {
    let dir = tempfile::tempdir().expect("a folder");
    if let Some(text) = file {
        std::fs::write(dir.path().join(SETTINGS_FILE), text).expect("written");
    }
    let env = |name: &str| {
        let mut all = variables.iter().chain(&[("HOME", "/home/somebody")]);
        all.find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    };
    let request = Request {
        env: &env,
        current: dir.path(),
        dir: None,
        file: None,
        insecure_http,
    };
    Config::load(&request, Need::Workspace)
}

fn loaded(more: &str) -> Config {
    load(Some(&minimal(more)), &[], false).expect("good settings")
}

#[test]
fn the_defaults_are_those_of_the_design() {
    let config = loaded("");
    assert_eq!(config.service, "https://kb.example.com");
    assert_eq!(config.options, Options::standard());
    assert_eq!(config.token, None);
    assert_eq!(
        config.user_state_dir,
        Path::new("/home/somebody/.local/state/kbsync")
    );
    let root = &config.roots()[0];
    assert_eq!(root.path, config.mirror);
    assert_eq!(root.state, config.mirror.join(".kbsync"));
}

#[test]
fn every_key_is_read() {
    let config = loaded(
        "categories: [5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c]\n\
         token: {file: secret/kb}\n\
         poll: '*/10 8-18 * * 1-5'\n\
         timezone: Europe/Berlin\n\
         quiet_period: 1s\n\
         push_interval: 2s\n\
         delete_grace: 0s\n\
         rescan: 4s\n\
         guard_window: 5s\n\
         max_deletes: {count: 3, percent: 5}\n\
         on_conflict: remote\n\
         probe: false\n\
         new_articles: {enabled: false, draft: true}\n\
         git: {branch: main}\n\
         budget: {per_minute: 30, per_day: 100, reserve_for_pushes: 10}\n\
         history: {keep_days: 7, keep_versions: 2}\n",
    );
    assert_eq!(config.categories.len(), 1);
    let file = config.mirror.join("secret/kb");
    assert_eq!(config.token, Some(TokenSource::File(file)));
    assert_eq!(
        config.options,
        Options {
            poll: parse_poll("*/10 8-18 * * 1-5").expect("a cron line"),
            timezone: chrono_tz::Europe::Berlin,
            quiet_period: Duration::from_secs(1),
            push_interval: Duration::from_secs(2),
            delete_grace: Duration::ZERO,
            rescan: Duration::from_secs(4),
            guard_window: Duration::from_secs(5),
            max_deletes: MaxDeletes {
                count: 3,
                percent: 5
            },
            on_conflict: OnConflict::Remote,
            probe: false,
            new_articles: Flags {
                enabled: Some(false),
                draft: Some(true)
            },
            git_branch: PublishedBranch::Named("main".into()),
            budget: BudgetLimits {
                per_minute: 30,
                per_day: 100,
                reserve_for_pushes: 10
            },
            history: HistoryLimits {
                keep_days: 7,
                keep_versions: 2
            },
        }
    );
}

#[test]
fn several_workspaces_have_a_folder_and_a_state_each() {
    let two = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";
    let text = format!(
        "service: https://kb.example.com\nworkspaces:\n  - {{id: {ID}, folder: en}}\n  - id: {two}\n    folder: de\n"
    );
    let config = load(Some(&text), &[("KBSYNC_STATE_DIR", "/var/kb")], false).expect("good");
    let roots = config.roots();
    assert_eq!(roots[1].workspace.to_string(), two);
    assert_eq!(roots[1].path, config.mirror.join("de"));
    assert_eq!(roots[1].state, Path::new("/var/kb/de"));
}

#[test]
fn a_fault_names_its_line_and_the_remedy() {
    let id = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";
    let cases = [
        ("pol: 5m", 3, "unknown key `pol`", "`poll`"),
        ("Poll: 5m", 3, "unknown key `Poll`", "`poll`"),
        ("xyzzy: 5m", 3, "unknown key `xyzzy`", "known keys"),
        (
            "max_deletes:\n  count: 3\n  percnt: 5",
            5,
            "`percnt` in `max_deletes`",
            "`percent`",
        ),
        ("git: {brnch: main}", 3, "`brnch` in `git`", "`branch`"),
        ("history: {keep: 3}", 3, "`keep` in `history`", "keep_days"),
        (
            "budget: {per_min: 3}",
            3,
            "`per_min` in `budget`",
            "`per_minute`",
        ),
        ("poll: soon", 3, "neither a duration nor a cron line", "5m"),
        ("poll: 0s", 3, "shorter than a second", "1m"),
        ("poll: 300000y", 3, "longer than a year", "shorter"),
        ("rescan: 5", 3, "`rescan: 5` is not a duration", "15s"),
        ("probe: yes", 3, "neither true nor false", "probe: true"),
        ("max_deletes: {percent: 101}", 3, "percent: 101", "0 to 100"),
        ("max_deletes: 3", 3, "must be written as", "{count: 10"),
        ("git: main", 3, "must be written as", "{branch: main}"),
        ("poll: 99 * * * *", 3, "not a cron line", "*/10 8-18"),
        (
            "poll: '*/70 * * * *'",
            3,
            "has a step longer than the field, whose last value is 59",
            "70m",
        ),
        ("budget: {per_day: 0}", 3, "per_day: 0", "from 1"),
        ("on_conflict: panic", 3, "on_conflict: panic", "hold"),
        ("probe:", 3, "`probe` is empty", "remove the line"),
        ("probe: [true]", 3, "single value", "one line"),
        (
            "categories: [abc]",
            3,
            "`abc` is not the id of a category",
            "UUID",
        ),
        ("categories: abc", 3, "must be a list", "brackets"),
        ("timezone: Middle Earth", 3, "Middle Earth", "Europe/Berlin"),
        ("timezone: Mars/Base", 3, "Mars/Base", "Europe/Berlin"),
        ("probe: true\nprobe: false", 4, "a second time", "keep one"),
        ("probe: &a true", 3, "an anchor", "quotes"),
        ("probe: !!str true", 3, "a tag", "quotes"),
        ("git: {branch: *a}", 3, "", ""),
        ("poll: \"5m", 3, "not YAML", "quote"),
        ("\tpoll: 5m", 2, "not YAML", "indentation"),
        ("---\npoll: 5m", 3, "second document", ""),
        ("workspaces: []", 3, "`workspaces` is empty", "folder"),
        (
            &format!("workspaces: [{{id: {id}, folder: a}}]"),
            2,
            "exclude each other",
            "keep",
        ),
    ];
    for (more, line, message, remedy) in cases {
        let error = load(Some(&minimal(more)), &[], false).expect_err(more);
        let shown = error.to_string();
        assert!(
            shown.contains(&format!("kbsync.yaml:{line}: ")),
            "{more}: {shown}"
        );
        assert!(shown.contains(message), "{more}: {shown}");
        assert!(error.remedy.contains(remedy), "{more}");
    }
}

#[test]
fn f131_a_literal_token_is_refused_and_not_repeated() {
    for more in [
        "token: CANARY",
        "token: [CANARY]",
        "token: {value: CANARY}",
        "token: {fiel: CANARY}",
        "token: {env: 'CANARY-1 x'}",
        "token: {file: /a, env: CANARY}",
    ] {
        let error = load(Some(&minimal(more)), &[], false).expect_err(more);
        assert_eq!(error.line, Some(3));
        assert!(
            !format!("{error} {error:?}").contains("CANARY"),
            "{error:?}"
        );
    }
}

#[test]
fn f134_http_is_for_loopback() {
    let allowed = [
        ("http://localhost:8080", false),
        ("http://127.0.0.1:8080/", false),
        ("http://[::1]:1", false),
        ("http://kb.example.com", true),
        ("https://kb.example.com/api-root", false),
        ("HTTPS://KB.example.com:443", false),
    ];
    for (address, insecure) in allowed {
        assert!(parse_service(address, insecure).is_ok(), "{address}");
    }
    for address in [
        "http://kb.example.com",
        "http://kb.localhost",
        "http://127.0.0.1.example.com",
        "http://localhost@example.com",
        "http://localhost\\@example.com",
        "http://0x7f.1",
        "https://",
        "https://me:secret@kb.example.com",
        "https://kb.example.com?x=1",
        "https://kb.example.com/#x",
        "https://kb.example.com:0",
        "https://kb.example.com:99999",
        "https://kb example.com",
        "https://[::1",
        "ftp://kb.example.com",
        "kb.example.com",
    ] {
        let wrong = parse_service(address, false).expect_err(address);
        assert!(!wrong.message.contains("secret"));
    }
    let error = load(Some("service: http://kb.example.com\n"), &[], false).expect_err("http");
    assert!(error.remedy.contains("--insecure-http"));
}

#[test]
fn the_environment_goes_over_the_file() {
    let other = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";
    let variables = [
        ("KBSYNC_SERVICE", "https://other.example.com"),
        ("KBSYNC_WORKSPACE", other),
        ("KBSYNC_POLL", "1h"),
        ("KBSYNC_LISTEN", "127.0.0.1:7575"),
        ("KBSYNC_TOKEN", "t"),
        ("KBSYNC_TOKEN_FILE", "/ignored"),
        ("KBSYNC_USER_STATE_DIR", "/state"),
    ];
    let text = minimal("poll: 5m\ntoken: {file: a}\n");
    let config = load(Some(&text), &variables, false).expect("good");
    assert_eq!(config.service, "https://other.example.com");
    assert_eq!(config.workspaces[0].id.to_string(), other);
    assert_eq!(config.options.poll, Poll::Every(Duration::from_hours(1)));
    assert_eq!(config.token, Some(TokenSource::Env("KBSYNC_TOKEN".into())));
    assert_eq!(config.listen.map(|address| address.port()), Some(7575));
    let alone = parse_listen("7577").expect("a port of this machine");
    assert_eq!(alone.to_string(), "127.0.0.1:7577");
    assert!(parse_listen("77777").is_err());
    assert_eq!(config.user_state_dir, Path::new("/state"));

    let without_file = load(None, &variables, false).expect("a container needs no file");
    assert_eq!(without_file.file, None);
    let empty = load(Some(&text), &[("KBSYNC_SERVICE", "")], false).expect("empty is unset");
    assert_eq!(empty.service, "https://kb.example.com");
}

#[test]
fn a_workspace_of_the_environment_keeps_its_folder() {
    let (one, two) = (
        "0a1b2c3d-8a37-4c8e-9b1c-6a8f0a1f2b3c",
        "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c",
    );
    let text = format!(
        "service: https://kb.example.com\nworkspaces:\n  - {{id: {one}, folder: en}}\n  \
         - {{id: {two}, folder: de/.//}}\n"
    );
    let config = load(Some(&text), &[("KBSYNC_WORKSPACE", two)], false).expect("listed");
    let folders: Vec<_> = config.workspaces.iter().map(|one| &one.folder).collect();
    assert_eq!(folders, [&Some("de".to_owned())]);
    let third = "6e0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";
    let error = load(Some(&text), &[("KBSYNC_WORKSPACE", third)], false).expect_err("not listed");
    assert!(
        error.message.contains("not among the `workspaces:`"),
        "{error}"
    );
}

#[test]
fn a_relative_folder_for_the_users_state_is_refused() {
    let relative = [("KBSYNC_USER_STATE_DIR", "state")];
    let error = load(Some(&minimal("")), &relative, false).expect_err("relative");
    assert!(error.message.contains("relative"), "{error}");
}

#[test]
fn faults_in_variables_name_the_variable() {
    for (name, value) in [
        ("KBSYNC_SERVICE", "nonsense"),
        ("KBSYNC_WORKSPACE", "nonsense"),
        ("KBSYNC_POLL", "nonsense"),
        ("KBSYNC_LISTEN", "nonsense"),
    ] {
        let error = load(Some(&minimal("")), &[(name, value)], false).expect_err(name);
        assert!(error.to_string().starts_with(name), "{error}");
        assert!(!error.remedy.is_empty());
    }
}

#[test]
fn missing_settings_say_what_to_do() {
    let error = load(None, &[], false).expect_err("no mirror");
    assert!(error.message.contains("is not a mirror"));
    assert!(error.remedy.contains("kbsync init"));
    let half = [("KBSYNC_SERVICE", "https://kb.example.com")];
    let error = load(None, &half, false).expect_err("no workspace");
    assert!(error.message.contains("KBSYNC_WORKSPACE is not set"));
    for (text, key) in [("probe: true\n", "`service`"), ("", "`service`")] {
        let error = load(Some(text), &[], false).expect_err("no service");
        assert!(error.message.contains(key), "{error}");
    }
    let error = load(Some("service: https://kb.example.com"), &[], false).expect_err("none");
    assert!(error.message.contains("`workspace`"));
}

#[test]
fn folders_of_workspaces_stay_inside_and_apart() {
    let two = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";
    for (one, other) in [
        ("../x", "y"),
        ("/x", "y"),
        (".git", "y"),
        ("_x", "y"),
        ("a\\b", "y"),
        ("x", "x"),
        ("x", "x/y"),
    ] {
        let text = format!(
            "service: https://kb.example.com\nworkspaces:\n- {{id: {ID}, folder: {one}}}\n- {{id: {two}, folder: {other}}}\n"
        );
        let error = load(Some(&text), &[], false).expect_err(one);
        assert!(error.line == Some(3) || error.line == Some(4), "{error}");
    }
}

#[test]
fn the_mirror_is_found_upwards_and_named_folders_must_exist() {
    let dir = tempfile::tempdir().expect("a folder");
    let inner = dir.path().join("a/b");
    std::fs::create_dir_all(&inner).expect("folders");
    std::fs::write(dir.path().join(SETTINGS_FILE), minimal("")).expect("written");
    let nothing = |_: &str| None;
    let mut request = Request {
        env: &nothing,
        current: &inner,
        dir: None,
        file: None,
        insecure_http: false,
    };
    assert_eq!(find_mirror(&request).expect("found"), dir.path());
    request.dir = Some(Path::new("."));
    assert_eq!(find_mirror(&request).expect("named"), inner.join("."));
    request.dir = Some(Path::new("missing"));
    assert!(find_mirror(&request).is_err());
}

#[test]
fn a_new_settings_file_is_read_back_and_never_overwritten() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = NewSettings {
        service: "https://kb.example.com".into(),
        workspace: ID.parse().expect("an id"),
        name: Some("Help\npoll: never".into()),
        poll: Some("*/10 * * * *".into()),
        branch: Some("feature/new words's".to_owned()),
    };
    let path = create(dir.path(), &settings).expect("written");
    let text = std::fs::read_to_string(&path).expect("text");
    let config = load(Some(&text), &[], false).expect("good settings");
    let poll = parse_poll("*/10 * * * *").expect("a cron line");
    assert_eq!(config.options.poll, poll);
    let branch = PublishedBranch::Named("feature/new words's".into());
    assert_eq!(config.options.git_branch, branch);
    let error = create(dir.path(), &settings).expect_err("it is there");
    assert!(error.message.contains("not overwritten"));

    // Every commented default is a key with its default.
    let uncommented: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| {
            line.split_once(':')
                .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        })
        .filter(|line| !line.starts_with("token") && !line.starts_with("git"))
        .fold(String::new(), |all, line| all + line + "\n");
    assert!(uncommented.lines().count() >= 13, "{uncommented}");
    let with_defaults = load(Some(&minimal(&uncommented)), &[], false).expect("good");
    assert_eq!(with_defaults.options, Options::standard());
}

#[test]
fn f120_overlapping_mirrors_are_found() {
    let dir = tempfile::tempdir().expect("a folder");
    let inner = dir.path().join("a/b");
    std::fs::create_dir_all(&inner).expect("folders");
    assert_eq!(overlapping_mirror(&inner), None);
    let parent = dir.path().join(SETTINGS_FILE);
    std::fs::write(&parent, "").expect("written");
    assert_eq!(overlapping_mirror(&inner), Some(parent.clone()));
    // Another folder beside a mirror.
    let beside = tempfile::tempdir().expect("a folder");
    let name = beside.path().file_name().expect("a name");
    let beside_it = dir.path().join("..").join(name);
    assert_eq!(overlapping_mirror(&beside_it), None);
    std::fs::remove_file(parent).expect("removed");
    let child = inner.join(SETTINGS_FILE);
    std::fs::write(&child, "").expect("written");
    assert_eq!(overlapping_mirror(dir.path()), Some(child));
}
