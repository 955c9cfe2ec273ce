//! Bad input: mistakes are reported with file, line and remedy, and nothing changes on either side.

use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::kb::{Kb, Ran, Service, TOKEN, WORKSPACE};
use crate::support::schema;
use kbsync::sandbox::{Access, Article, Rights};
use std::path::PathBuf;

/// A synced mirror with one article, and a copy of both sides.
struct Quiet {
    service: Service,
    kb: Kb,
}

impl Quiet {
    fn new() -> Self {
        let service = Service::empty();
        let start = service.category("start");
        service.article(start, "one", "<p>One.</p>");
        let kb = service.mirror();
        kb.run(&["sync"]).exits(0);
        Self { service, kb }
    }

    /// Returns both sides.
    fn sides(&self) -> (Vec<Article>, Vec<(PathBuf, Vec<u8>)>) {
        let mirror = self.kb.mirror();
        let private = mirror.join(".kbsync");
        let files = self
            .kb
            .files()
            .into_iter()
            .filter(|(path, _)| path.starts_with(&mirror) && !path.starts_with(&private))
            .collect();
        (self.service.sandbox.articles(), files)
    }

    /// Runs a command that must not change anything.
    #[track_caller]
    fn unchanged(&self, arguments: &[&str]) -> Ran {
        let before = self.sides();
        let ran = self.kb.run(arguments);
        assert!(before == self.sides(), "something changed: {ran:#?}");
        ran
    }
}

#[test]
fn rules_that_are_too_long_are_reported_and_nothing_is_published() {
    let quiet = Quiet::new();
    let filler = "# a line of the rules\n".repeat(4000);
    quiet
        .kb
        .write("secret/plan.html", "---\ntitle: Plan\n---\n<p>x</p>\n");
    for rules in [format!("{filler}secret/\n"), format!("secret/\n{filler}")] {
        quiet.kb.write(".kbsyncignore", &rules);
        for command in [&["sync"][..], &["push"], &["pull"], &["check"]] {
            let said = quiet.unchanged(command).exits(2).stderr;
            for words in [
                "read .kbsyncignore: it is larger than 64 KiB\n",
                "\nhelp: shorten .kbsyncignore",
            ] {
                assert!(said.contains(words), "{said}");
            }
        }
    }
    quiet.kb.write(".kbsyncignore", "secret/\n");
    quiet.unchanged(&["sync"]).exits(0);
}

#[test]
fn rules_that_cannot_be_read_are_reported_and_nothing_is_published() {
    let quiet = Quiet::new();
    let hidden = "---\ntitle: Plan\n---\n<p>x</p>\n";
    quiet.kb.write("caf\u{e9}/plan.html", hidden);
    let utf16: Vec<u8> = "caf\u{e9}/\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let cases: [(&[u8], &str, &str); 3] = [
        (
            b"# rules\ncaf\xe9/\n",
            "line 2 is not UTF-8 text\n",
            "save .kbsyncignore as UTF-8",
        ),
        (
            &utf16,
            "line 1 is not UTF-8 text\n",
            "save .kbsyncignore as UTF-8",
        ),
        (b"a/\n{caf*\n", "line 2: ", "correct the pattern"),
    ];
    for (rules, why, help) in cases {
        std::fs::write(quiet.kb.mirror().join(".kbsyncignore"), rules).expect("written");
        for command in [&["sync"][..], &["push"], &["check"]] {
            let said = quiet.unchanged(command).exits(2).stderr;
            for words in [
                format!("read .kbsyncignore: {why}"),
                format!("\nhelp: {help}; nothing is synced meanwhile\n"),
            ] {
                assert!(said.contains(&words), "{said}");
            }
        }
    }
    // Each form of Unicode names the same folder.
    quiet.kb.write(".kbsyncignore", "\u{feff}cafe\u{301}/\n");
    quiet.unchanged(&["sync"]).exits(0);
}

#[test]
fn f122_f125_a_file_that_cannot_be_an_article_is_reported_and_left_alone() {
    let long = format!("---\ntitle: {}\n---\n", "x".repeat(256));
    let cases: [(&str, &[u8], &str); 10] = [
        (
            "broken YAML",
            b"---\ntitle: \"open\n---\n<p>x</p>\n",
            "line 2",
        ),
        (
            "no title",
            b"---\nintrotext: x\n---\n<p>x</p>\n",
            "there is no title",
        ),
        (
            "an empty title",
            b"---\ntitle:\n---\n",
            "the title is empty",
        ),
        ("a long title", long.as_bytes(), "256 characters"),
        ("no front matter", b"<p>x</p>\n", "front matter"),
        ("a front matter without end", b"---\ntitle: x\n", "---"),
        ("not UTF-8", b"---\ntitle: x\n---\n\xff\xfe\n", "UTF-8"),
        ("an anchor", b"---\ntitle: &a x\n---\n", "line 2"),
        ("a double key", b"---\ntitle: x\ntitle: y\n---\n", "title"),
        (
            "conflict markers",
            b"---\ntitle: x\n---\n<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n",
            "conflict markers",
        ),
    ];
    let quiet = Quiet::new();
    for (what, bytes, words) in cases {
        let path = quiet.kb.mirror().join("start/bad.html");
        std::fs::write(&path, bytes).expect("written");
        let ran = quiet.unchanged(&["sync", "--json"]).exits(4);
        let json = ran.json();
        schema::check("report", &json);
        assert_eq!(json["problems"][0]["path"], "start/bad.html", "{what}");
        let message = json["problems"][0]["message"].as_str().unwrap_or_default();
        assert!(message.contains(words), "{what}: {message}");
        let shown = quiet.unchanged(&["sync"]).exits(4);
        assert!(
            shown.stdout.contains("! start/bad.html: "),
            "{what}: {shown:#?}"
        );
        assert!(shown.stdout.contains("1 problem\n"), "{what}: {shown:#?}");
        // The article whose place the bad file takes is not deleted either.
        let one = quiet.kb.mirror().join("start/one.html");
        let good = std::fs::read(&one).expect("readable");
        std::fs::write(&one, bytes).expect("written");
        quiet.unchanged(&["sync"]).exits(4);
        std::fs::write(&one, good).expect("written");
    }
}

#[test]
fn f097_f130_what_is_no_file_to_read_is_present_and_not_followed() {
    let quiet = Quiet::new();
    let mirror = quiet.kb.mirror();
    quiet.kb.remove("start/one.html");
    let place = mirror.join("start/one.html");
    std::os::unix::fs::symlink("/etc/passwd", &place).expect("a link");
    quiet.unchanged(&["sync"]);
    std::fs::remove_file(&place).expect("removed");
    std::os::unix::fs::symlink("nowhere", &place).expect("a link");
    quiet.unchanged(&["sync"]);
    std::fs::remove_file(&place).expect("removed");
    std::fs::create_dir(&place).expect("a folder");
    let json = quiet.unchanged(&["sync", "--json"]).exits(4).json();
    assert_eq!(json["problems"][0]["path"], "start/one.html");
    assert_eq!(quiet.service.sandbox.articles().len(), 1);
}

#[test]
fn f040_a_category_s_folder_that_is_none_any_more_is_reported() {
    let quiet = Quiet::new();
    let mirror = quiet.kb.mirror();
    let (folder, away) = (mirror.join("start"), mirror.join(".away"));
    std::fs::rename(&folder, &away).expect("renamed");
    for (what, words) in [("link", "a symbolic link"), ("file", "no folder")] {
        match what {
            "link" => std::os::unix::fs::symlink(&away, &folder).expect("a link"),
            _ => std::fs::write(&folder, "words").expect("written"),
        }
        let json = quiet.unchanged(&["sync", "--json"]).exits(4).json();
        assert_eq!(json["problems"][0]["path"], "start");
        let message = json["problems"][0]["message"].as_str().expect("words");
        assert!(message.contains(words), "{message}");
        std::fs::remove_file(&folder).expect("removed");
    }
    std::fs::rename(&away, &folder).expect("renamed");
    quiet.unchanged(&["sync"]).exits(0);
}

/// A file that was copied from another mirror has the id of an article that does not exist here: the file that lay
/// there before counts as overwritten, not as removed by a person.
#[test]
fn f054_a_file_with_an_id_that_nobody_knows_does_not_give_its_article_up() {
    let quiet = Quiet::new();
    let good = quiet.kb.read("start/one.html");
    let id = good
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .expect("an id");
    let other = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";
    quiet.kb.write("start/one.html", &good.replace(id, other));
    let json = quiet.kb.run(&["sync", "--json"]).exits(4).json();
    assert_eq!(quiet.service.sandbox.articles().len(), 1, "{json:#}");
    let message = json["problems"][0]["message"].as_str().expect("words");
    assert!(
        message.contains(&format!("put `id: {id}` back")),
        "{message}"
    );
    assert!(message.contains(other), "{message}");
    quiet.kb.write("start/one.html", &good);
    quiet.kb.run(&["sync"]).exits(0);
    assert_eq!(quiet.service.sandbox.articles().len(), 1);
}

#[test]
fn f054_doubles_are_reported_and_neither_is_sent() {
    let quiet = Quiet::new();
    let id = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";
    for name in ["a", "b"] {
        quiet.kb.write(
            &format!("start/{name}.html"),
            &format!("---\nid: {id}\ntitle: {name}\n---\n"),
        );
    }
    let json = quiet.unchanged(&["sync", "--json"]).exits(4).json();
    let paths: Vec<_> = json["problems"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|problem| problem["path"].as_str())
        .collect();
    assert!(
        paths.contains(&"start/a.html") && paths.contains(&"start/b.html"),
        "{json:#}"
    );
    for name in ["a", "b"] {
        quiet.kb.write(
            &format!("start/{name}.html"),
            &format!("---\ntitle: {name}\nslug: same\n---\n"),
        );
    }
    let json = quiet.unchanged(&["sync", "--json"]).exits(3).json();
    let actions = json["actions"].as_array().expect("a list");
    assert_eq!(actions.len(), 2, "{json:#}");
    for action in actions {
        assert_eq!(action["status"], "held", "{json:#}");
        assert!(action["reason"].to_string().contains("same"), "{json:#}");
    }
}

#[test]
fn a_token_that_is_wrong_or_missing_is_reported_with_the_remedy() {
    let mut quiet = Quiet::new();
    quiet.kb.edit("start/one.html", "One.", "Mine.");
    for command in ["sync", "pull", "push", "approve"] {
        quiet.kb.set("KBSYNC_TOKEN", "CANARY-wrong");
        quiet
            .unchanged(&[command])
            .exits(1)
            .complains("refused the token", "make a new token");
        quiet.kb.set("KBSYNC_TOKEN", "");
        quiet
            .unchanged(&[command])
            .exits(2)
            .complains("there is no token", "KBSYNC_TOKEN");
    }
    quiet.kb.set("KBSYNC_TOKEN", "CANARY-wrong");
    let ran = quiet.unchanged(&["sync", "--json"]).exits(1);
    let json = ran.json();
    schema::check("report", &json);
    assert_eq!(json["outcome"], "failed");
    assert_eq!(json["actions"], serde_json::json!([]));
    assert!(ran.stderr.contains("help: make a new token"), "{ran:#?}");
    assert!(!format!("{ran:#?}").contains("CANARY"));
}

#[test]
fn f018_a_login_page_is_no_answer() {
    let quiet = Quiet::new();
    quiet
        .service
        .sandbox
        .inject(Fault::always(Matcher::any(), FaultKind::Html));
    quiet
        .unchanged(&["sync"])
        .exits(1)
        .complains("refused the token", "make a new token");
}

#[test]
fn a_workspace_that_is_unknown_or_not_ours_is_reported() {
    let quiet = Quiet::new();
    let fresh = quiet.service.mirror();
    let settings = fresh.read("kbsync.yaml");
    fresh.write(
        "kbsync.yaml",
        &settings.replace(&quiet.service.workspace, WORKSPACE),
    );
    let ran = fresh.run(&["sync"]).exits(1);
    ran.complains("status 404", "the workspace's id");
    quiet
        .service
        .sandbox
        .add_token(TOKEN, Rights::everywhere(Access::None));
    quiet
        .unchanged(&["sync"])
        .exits(1)
        .complains("status 403", "use another token");
    // A state of another workspace is not mixed up with this workspace (failures row 49).
    let settings = quiet.kb.read("kbsync.yaml");
    quiet.kb.write(
        "kbsync.yaml",
        &settings.replace(&quiet.service.workspace, WORKSPACE),
    );
    let ran = quiet.unchanged(&["sync"]).exits(2);
    assert!(ran.stderr.contains(&quiet.service.workspace), "{ran:#?}");
}

#[test]
fn a_folder_that_is_no_mirror_gets_a_remedy() {
    let kb = Kb::new();
    for command in [
        &["sync"][..],
        &["pull"],
        &["push"],
        &["status"],
        &["diff"],
        &["approve"],
        &["resolve", "a/b.html", "--keep", "local"],
    ] {
        kb.run(command)
            .exits(2)
            .complains("is not a mirror", "kbsync init");
    }
    assert_eq!(kb.files(), []);
    kb.write("kbsync.yaml", "service: [\n");
    kb.run(&["sync"]).exits(2);
    // With -C, the folders above are not searched.
    std::fs::create_dir(kb.mirror().join("billing")).expect("a folder");
    let meant = format!("did you mean `-C {}`?", kb.mirror().display());
    let ran = kb.run(&["-C", "billing", "status"]).exits(2);
    assert!(!ran.stderr.contains("above it"), "{ran:#?}");
    ran.complains("billing is not a mirror", &meant);
}

#[test]
fn f096_a_folder_that_cannot_be_written_to_is_reported() {
    let service = Service::start();
    let mut kb = service.mirror();
    kb.set("KBSYNC_SERVICE", &service.url);
    kb.set("KBSYNC_WORKSPACE", &service.workspace);
    // Not even root can make a folder there.
    kb.run(&["-C", "/proc", "sync"])
        .exits(1)
        .complains("/proc/.kbsync", "read and write the mirror's folder");
    assert_eq!(service.sandbox.counts().total, 0);
}

#[test]
fn a_day_that_is_spent_is_a_matter_of_time() {
    let quiet = Quiet::new();
    quiet.kb.edit("start/one.html", "One.", "Mine.");
    let settings = quiet.kb.read("kbsync.yaml");
    quiet.kb.write(
        "kbsync.yaml",
        &format!("{settings}budget: {{per_day: 2}}\n"),
    );
    quiet
        .unchanged(&["sync"])
        .exits(5)
        .complains("budget", "the requests of this day are spent");
    let json = quiet.unchanged(&["sync", "--json"]).exits(5).json();
    schema::check("report", &json);
    assert_eq!(json["outcome"], "retry");
}

#[test]
fn a_script_that_asks_for_json_gets_one_object_whatever_fails() {
    let quiet = Quiet::new();
    for arguments in [
        vec!["show", "start/none.html"],
        vec!["log", "start/none.html"],
        vec!["log", "-p", "start"],
        vec!["diff", "start/none.html"],
        vec!["check", "start/none.html"],
        vec!["init", "--service", "https://kb.example.com"],
        vec!["new", "start", " "],
        vec!["restore", "start/none.html", "--dry-run"],
        vec!["status", "--remote", "-C", "none"],
        vec!["stats", "-C", "none"],
        vec!["workspaces", "-C", "none"],
        vec!["sync", "--prefer", "x"],
        vec!["bogus"],
    ] {
        let all: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let ran = quiet.unchanged(&all);
        assert_ne!(ran.code, 0, "{arguments:?}: {ran:#?}");
        let json = ran.json();
        schema::check("error", &json);
        assert_eq!(json["exit_code"], ran.code, "{arguments:?}: {ran:#?}");
        let error = json["error"].as_str().expect("text");
        let said = ran.stderr.contains(error.lines().next().expect("a line"));
        assert!(said, "{arguments:?}: {ran:#?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:#?}");
    }
    // Commands that print a report also report a failure as a report.
    for arguments in [["sync", "start/none.html"], ["restore", "start/none.html"]] {
        let all: Vec<&str> = arguments.into_iter().chain(["--json"]).collect();
        let ran = quiet.unchanged(&all).exits(2);
        schema::check("report", &ran.json());
        schema::check("error", &ran.json());
    }
}

#[test]
fn failures_before_a_report_have_one_shape() {
    let kb = Kb::with_settings(&format!(
        "service: https://kb.example.com\nworkspace: {WORKSPACE}\n"
    ));
    let keys = |arguments: &[&str], code: i32| {
        let json = kb.run(arguments).exits(code).json();
        schema::check("error", &json);
        assert_eq!(json["problems"][0]["message"], json["error"], "{json}");
        let keys = json.as_object().expect("an object").keys();
        keys.cloned().collect::<Vec<String>>()
    };
    let usage = keys(&["sync", "--prefer", "x", "--json"], 2);
    let no_token = keys(&["sync", "--json"], 2);
    let no_file = keys(&["show", "start/none.html", "--json"], 2);
    assert_eq!(usage, no_token);
    assert_eq!(usage, no_file);
}

/// Runs in this process, so that the pauses before retries take no time.
#[tokio::test(start_paused = true)]
async fn a_service_that_cannot_be_reached_is_a_matter_of_time() {
    use clap::Parser as _;
    // A port that was free a moment ago, so nothing listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port")
        .port();
    let kb = Kb::with_settings(&format!(
        "service: http://127.0.0.1:{port}\nworkspace: {WORKSPACE}\n"
    ));
    kb.write("start/one.html", "---\ntitle: One\n---\n");
    let before = kb.articles();
    let user = kb.mirror().join("../state");
    let cli = kbsync::cli::Cli::parse_from(["kbsync", "-q", "sync"]);
    let env = move |name: &str| match name {
        "KBSYNC_SERVICE" => Some(format!("http://127.0.0.1:{port}")),
        "KBSYNC_TOKEN" => Some(TOKEN.to_owned()),
        "KBSYNC_USER_STATE_DIR" => Some(user.to_string_lossy().into_owned()),
        _ => None,
    };
    let outcome = cli.run(kb.mirror(), env).await;
    assert_eq!(outcome.expect("told").number(), 5);
    assert_eq!(kb.articles(), before);
}

#[test]
fn an_address_to_listen_on_that_is_none_is_reported() {
    let said = Quiet::new().unchanged(&["run", "--listen", "nonsense"]);
    let said = said.exits(2).stderr;
    assert!(
        said.contains("--listen: `nonsense` is not an address to listen on"),
        "{said}"
    );
}

#[test]
fn a_variable_that_cannot_be_read_is_no_missing_one() {
    use std::os::unix::ffi::OsStrExt as _;
    let quiet = Quiet::new();
    let odd = std::ffi::OsStr::from_bytes(b"/caf\xe9");
    let output = quiet
        .kb
        .process(&["status"])
        .env("KBSYNC_DIR", odd)
        .output();
    let output = output.expect("run");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("KBSYNC_DIR is not valid UTF-8"), "{told}");
}
