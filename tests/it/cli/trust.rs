//! Settings from another person: nothing is run, read or sent before the user has agreed to the folder, the host and
//! the source of the token.

use crate::support::daemon::{Daemon, until};
use crate::support::kb::{Kb, Service, TOKEN, WORKSPACE};
use crate::support::schema;
use kbsync::sandbox::{self, Options, Sandbox};
use rustix::process::Signal;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

/// A host that untrusted settings name. It counts connections.
struct Stranger {
    listener: TcpListener,
}

impl Stranger {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("set");
        Self { listener }
    }

    /// Returns a fresh clone whose settings name this host and a source of the token.
    fn clone_with(&self, token: &str) -> Kb {
        let port = self.listener.local_addr().expect("an address").port();
        let kb = Kb::with_settings(&format!(
            "service: http://127.0.0.1:{port}\nworkspace: {WORKSPACE}\n{token}\n"
        ));
        kb.write("start/one.html", "---\ntitle: One\n---\n<p>One.</p>\n");
        kb
    }

    /// Checks that no connection came.
    #[track_caller]
    fn was_left_alone(&self) {
        let came = self.listener.accept();
        assert!(
            came.as_ref()
                .is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock),
            "a request came: {came:?}"
        );
    }
}

/// The commands that need no token.
const LOOKING: [&[&str]; 9] = [
    &["status"],
    &["status", "--json"],
    &["diff"],
    &["check"],
    &["log"],
    &["show", "start/one.html"],
    &["stats"],
    &["new", "start", "Two"],
    &["completions", "bash"],
];

/// The commands that need the token.
const ASKING: [&[&str]; 13] = [
    &["workspaces"],
    &["sync"],
    &["sync", "--json"],
    &["sync", "--dry-run"],
    &["pull"],
    &["push"],
    &["status", "--remote"],
    &["diff", "--remote"],
    &["approve"],
    &["approve", "--yes"],
    &["doctor"],
    &["doctor", "--json"],
    &["run"],
];

#[test]
fn f133_a_fresh_clone_runs_no_command_and_sends_nothing() {
    let stranger = Stranger::new();
    let kb = stranger.clone_with("token: {command: \"touch RAN; printenv KB\"}");
    for arguments in LOOKING {
        let ran = kb.run(arguments);
        assert!(!ran.stderr.contains("kbsync trust"), "{ran:#?}");
        assert!(!kb.exists("RAN"), "{arguments:?}");
    }
    kb.run(&["status"]).exits(0);
    for arguments in ASKING {
        let ran = kb.run(arguments).exits(2);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            told.contains("the output of the command `touch RAN; printenv KB`"),
            "{ran:#?}"
        );
        let folder = kb.mirror();
        let remedy = format!("`kbsync trust {}`", folder.display());
        assert!(told.contains(&remedy), "{ran:#?}");
        assert!(!kb.exists("RAN"), "{arguments:?}");
        assert!(!kb.exists(".kbsync/state.db"), "{arguments:?} made a state");
    }
    stranger.was_left_alone();
    assert!(!kb.user_state().join("origins").exists());
}

#[test]
fn f133_a_fresh_clone_reads_no_variable_and_no_file() {
    let stranger = Stranger::new();
    for (token, wants) in [
        (
            "token: {env: AWS_SECRET_ACCESS_KEY}",
            "the value of the variable AWS_SECRET_ACCESS_KEY",
        ),
        ("token: {file: secret}", "the text of the file "),
        ("", "your own, from KBSYNC_TOKEN"),
    ] {
        let mut kb = stranger.clone_with(token);
        kb.write("secret", "CANARY-file");
        kb.keeps_token_in("secret");
        kb.set("AWS_SECRET_ACCESS_KEY", "CANARY-aws");
        if token.is_empty() {
            kb.set("KBSYNC_TOKEN", TOKEN);
        }
        for arguments in ASKING {
            let ran = kb.run(arguments).exits(2);
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert!(told.contains(wants), "{ran:#?}");
        }
    }
    // Naming the folder in the environment is no consent to a token from another source.
    let mut kb = stranger.clone_with("");
    let mirror = kb.mirror();
    kb.set("KBSYNC_TOKEN", TOKEN)
        .set("KBSYNC_DIR", &mirror.to_string_lossy());
    kb.run(&["sync"])
        .exits(2)
        .complains("would send a token to", "kbsync trust");
    stranger.was_left_alone();
}

#[test]
fn f133_a_command_of_several_lines_cannot_forge_a_message() {
    let stranger = Stranger::new();
    let kb = stranger.clone_with("token: {command: \"x\\nerror: all is well\\e[2J\"}");
    let ran = kb.run(&["workspaces"]).exits(2);
    assert!(
        ran.stderr
            .contains("the output of the command `x\\nerror: all is well\\u{1b}[2J`"),
        "{ran:#?}"
    );
}

/// A mirror with settings that the user has not agreed to, and with the token in the variable `KB`.
fn clone_of(service: &Service, token: &str) -> Kb {
    let mut kb = Kb::with_settings(&format!(
        "service: {}\nworkspace: {}\n{token}\n",
        service.url, service.workspace
    ));
    kb.set("KB", TOKEN);
    kb
}

#[test]
fn f133_consent_holds_until_the_settings_name_something_else() {
    let service = Service::start();
    let kb = clone_of(&service, "token: {command: printenv KB}");
    let untrusted = |kb: &Kb| {
        let before = service.sandbox.counts().total;
        kb.run(&["workspaces"])
            .exits(2)
            .complains("you have not agreed", "kbsync trust");
        assert_eq!(service.sandbox.counts().total, before);
    };
    untrusted(&kb);
    let shown = kb.run(&["trust"]).exits(0).stdout;
    for words in [&service.url, "the output of the command `printenv KB`"] {
        assert!(shown.contains(words), "{shown}");
    }
    kb.run(&["workspaces"]).exits(0);
    kb.run(&["sync"]).exits(0);
    // Settings about neither the host nor the token do not matter.
    let settings = kb.read("kbsync.yaml");
    kb.write("kbsync.yaml", &(settings.clone() + "poll: 10m\n"));
    kb.run(&["workspaces"]).exits(0);
    for (from, to) in [
        ("printenv KB", "printenv KB; touch RAN"),
        ("command: printenv KB", "env: KB"),
        ("127.0.0.1", "localhost"),
    ] {
        kb.write("kbsync.yaml", &settings.replace(from, to));
        untrusted(&kb);
    }
    kb.write("kbsync.yaml", &settings);
    kb.run(&["workspaces"]).exits(0);
    // The same settings in another folder need another agreement.
    kb.write("copy/kbsync.yaml", &settings);
    kb.run(&["-C", "copy", "workspaces"])
        .exits(2)
        .complains("you have not agreed", "copy`");
    kb.run(&["trust", "copy"]).exits(0);
    kb.run(&["-C", "copy", "workspaces"]).exits(0);
}

#[test]
fn f133_a_token_file_that_becomes_a_link_voids_the_consent() {
    let service = Service::start();
    let mut kb = clone_of(&service, "token: {file: tok}");
    kb.keeps_token_in("tok").keeps_token_in("other");
    kb.write("tok", TOKEN);
    kb.write("other", TOKEN);
    let mirror = kb.mirror();
    // The recorded path of the mirror has no symbolic links.
    let above = tempfile::tempdir().expect("a folder");
    let link = above.path().join("link");
    std::os::unix::fs::symlink(&mirror, &link).expect("a link");
    let through = link.to_str().expect("text");
    kb.run(&["trust", through]).exits(0);
    kb.run(&["-C", through, "workspaces"]).exits(0);
    kb.run(&["workspaces"]).exits(0);
    std::fs::remove_file(mirror.join("tok")).expect("removed");
    std::os::unix::fs::symlink("other", mirror.join("tok")).expect("a link");
    for arguments in [&["-C", through, "workspaces"][..], &["workspaces"]] {
        kb.run(arguments)
            .exits(2)
            .complains("you have not agreed", "kbsync trust");
    }
}

#[test]
fn what_the_user_names_needs_no_consent() {
    let service = Service::start();
    let mut kb = clone_of(&service, "token: {command: touch RAN}");
    kb.set("KBSYNC_SERVICE", &service.url)
        .set("KBSYNC_TOKEN", TOKEN);
    kb.run(&["sync"]).exits(0);
    assert!(!kb.exists("RAN"));
    // A named service does not let the file name the token's source.
    kb.set("KBSYNC_TOKEN", "");
    kb.run(&["sync"])
        .exits(2)
        .complains("the command `touch RAN`", "kbsync trust");
    assert!(!kb.exists("RAN"));
}

#[test]
fn agreements_are_listed_and_taken_back() {
    let service = Service::start();
    let mut kb = clone_of(&service, "");
    kb.set("KBSYNC_TOKEN", TOKEN);
    let none = kb.run(&["trust", "--list", "--json"]).exits(0).json();
    schema::check("trust", &none);
    assert_eq!(none["folders"], serde_json::json!([]));
    kb.run(&["trust", "--revoke"])
        .exits(2)
        .complains("is not trusted", "kbsync trust --list");

    let agreed = kb.run(&["trust", "--json"]).exits(0).json();
    schema::check("trust", &agreed);
    let folder = std::fs::canonicalize(kb.mirror()).expect("there");
    let expected = serde_json::json!([{
        "folder": folder.to_string_lossy(),
        "service": service.url,
        "source": "env KBSYNC_TOKEN",
    }]);
    assert_eq!(agreed["folders"], expected);
    let listed = kb.run(&["trust", "--list", "--json"]).exits(0).json();
    schema::check("trust", &listed);
    assert_eq!(listed["folders"], expected);
    let table = kb.run(&["trust", "--list"]).exits(0).stdout;
    assert!(table.contains(&service.url), "{table}");
    kb.run(&["sync"]).exits(0);

    let revoked = kb.run(&["trust", "--revoke", "--json"]).exits(0).json();
    schema::check("trust", &revoked);
    assert_eq!(revoked["folders"], expected);
    kb.run(&["sync"])
        .exits(2)
        .complains("would send a token to", "kbsync trust");
    kb.run(&["trust"]).exits(0);
    // Agreements can be revoked from another folder, even after the settings are gone.
    kb.remove("kbsync.yaml");
    let mirror = kb.mirror();
    kb.run(&["-C", "/", "trust", "--revoke", &mirror.to_string_lossy()])
        .exits(0);
    assert_eq!(kb.run(&["trust", "--list"]).exits(0).stdout, "");
}

#[test]
fn there_is_nothing_to_agree_to_without_settings() {
    let mut kb = Kb::new();
    kb.run(&["trust"])
        .exits(2)
        .complains("is not a mirror", "kbsync init");
    kb.set("KBSYNC_SERVICE", "https://kb.example.com");
    kb.run(&["trust"])
        .exits(2)
        .complains("no settings to agree to", "kbsync.yaml");
}

#[test]
fn init_agrees_to_what_it_writes() {
    let service = Service::start();
    let mut kb = Kb::new();
    kb.set("KBSYNC_TOKEN", TOKEN);
    let (url, workspace) = (service.url.as_str(), service.workspace.as_str());
    kb.run(&["init", "--service", url, "--workspace", workspace])
        .exits(0);
    kb.run(&["sync"]).exits(0);
    // A source that is added to the file later needs a new agreement.
    kb.set("KBSYNC_TOKEN", "").set("KB", TOKEN);
    let settings = kb.read("kbsync.yaml") + "token: {env: KB}\n";
    kb.write("kbsync.yaml", &settings);
    kb.run(&["sync"])
        .exits(2)
        .complains("the variable KB", "kbsync trust");
}

#[test]
fn on_a_terminal_it_shows_what_is_asked_for_and_remembers_a_yes() {
    let service = Service::start();
    let kb = clone_of(&service, "token: {command: printenv KB}");
    let question = "Do you trust this folder?";
    let ran = kb
        .at_terminal(&["workspaces"], &[(question, "n\r")])
        .exits(2);
    for words in [
        "folder   /",
        &format!("service  {}, which gets the token", service.url),
        "token    the output of the command `printenv KB`",
        "if you trust that folder, run `kbsync trust /",
    ] {
        assert!(ran.stderr.contains(words), "no {words:?} in {ran:#?}");
    }
    assert_eq!(service.sandbox.counts().total, 0);
    // A script cannot be asked, and the doctor does not ask.
    for arguments in [
        &["workspaces", "--json"][..],
        &["workspaces", "-q"],
        &["doctor"],
    ] {
        let ran = kb.at_terminal(arguments, &[]).exits(2);
        assert!(!ran.stderr.contains(question), "{ran:#?}");
    }
    kb.at_terminal(&["workspaces"], &[(question, "y\r")])
        .exits(0);
    let ran = kb.at_terminal(&["workspaces"], &[]).exits(0);
    assert!(!ran.stderr.contains(question), "{ran:#?}");
}

#[test]
fn limits_above_the_default_count_once_the_folder_is_trusted() {
    let service = Service::empty();
    let start = service.category("start");
    for number in 0..8 {
        service.article(start, &format!("n{number}"), "<p>Text.</p>");
    }
    let mut kb = clone_of(&service, "max_deletes: {count: 1000, percent: 100}");
    kb.set("KBSYNC_SERVICE", &service.url)
        .set("KBSYNC_TOKEN", TOKEN);
    let warning = "`max_deletes` in kbsync.yaml is above the default and is ignored";
    let ran = kb.run(&["sync"]).exits(0);
    assert!(ran.stderr.contains(warning), "{ran:#?}");
    let remove = || {
        for number in 0..5 {
            kb.remove(&format!("start/n{number}.html"));
        }
    };
    remove();
    kb.run(&["sync"]).exits(3);
    assert_eq!(service.sandbox.articles().len(), 8);
    kb.run(&["restore", "."]).exits(0);
    kb.run(&["sync"]).exits(0);
    let agreed = kb.run(&["trust"]).exits(0);
    let limit = "up to 1000 deletions at once, or 100 % of the articles, are not held";
    assert!(agreed.stdout.contains(limit), "{agreed:#?}");
    remove();
    let ran = kb.run(&["sync"]).exits(0);
    assert!(!ran.stderr.contains(warning), "{ran:#?}");
    assert_eq!(service.sandbox.articles().len(), 3);
}

#[test]
fn a_daemon_that_reads_the_settings_again_says_that_a_limit_is_ignored() {
    let service = Service::start();
    let kb = clone_of(&service, "");
    let daemon = Daemon::start_with(&kb, &[], &[("KBSYNC_SERVICE", &service.url)]);
    let settings = kb.read("kbsync.yaml") + "max_deletes: {count: 1000, percent: 100}\n";
    kb.write("kbsync.yaml", &settings);
    daemon.signal(Signal::HUP);
    let warning = "`max_deletes` in kbsync.yaml is above the default and is ignored";
    until("the warning", || daemon.log().contains(warning));
    daemon.stop();
}

#[test]
fn f133_a_token_goes_to_one_port_of_this_machine() {
    let (first, second) = (Service::start(), Service::start());
    let mut kb = clone_of(&first, "");
    kb.set("KBSYNC_TOKEN", TOKEN);
    kb.trust();
    kb.run(&["workspaces"]).exits(0);
    let settings = kb.read("kbsync.yaml").replace(&first.url, &second.url);
    kb.write("kbsync.yaml", &settings);
    kb.trust();
    kb.run(&["workspaces"])
        .exits(2)
        .complains("this token belongs to", "--trust-service");
    assert_eq!(second.sandbox.counts().total, 0);
    kb.run(&["workspaces", "--trust-service"]).exits(0);
}

#[test]
fn the_sandbox_s_own_token_goes_to_any_port_of_this_machine_at_once() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut kb = Kb::new();
    kb.set("KBSYNC_TOKEN", sandbox::TOKEN);
    for _ in 0..2 {
        let sandbox = Sandbox::new(Options::default());
        let workspace = sandbox.add_workspace("Help");
        let running = runtime.block_on(sandbox.run()).expect("it runs");
        let service = &running.url;
        kb.write(
            "kbsync.yaml",
            &format!("service: {service}\nworkspace: {workspace}\n"),
        );
        kb.run(&["workspaces"]).exits(0);
    }
    // The sandbox's token goes nowhere else without consent.
    kb.write("kbsync.yaml", "service: https://kb.invalid\n");
    kb.run(&["workspaces"])
        .exits(2)
        .complains("would send a token to", "kbsync trust");
}

/// Gives a file to another user; `None`: the test does not run as root.
fn given_away(path: &PathBuf) -> Option<()> {
    std::os::unix::fs::lchown(path, Some(12_345), None).ok()
}

#[test]
fn settings_of_another_user_are_used_only_where_they_are_named() {
    let service = Service::start();
    let mut kb = clone_of(&service, "token: {command: touch RAN}");
    kb.write("below/deep/x", "");
    let settings = kb.mirror().join("kbsync.yaml");
    if given_away(&settings).is_none() {
        return left_out();
    }
    let below = kb.mirror().join("below/deep");
    let mirror = kb.mirror();
    for current in [&below, &mirror] {
        for arguments in [&["status"][..], &["check"], &["sync"], &["trust"]] {
            let output = kb.command(arguments).current_dir(current).output();
            let output = output.expect("it runs");
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                said.contains("kbsync.yaml: the settings belong to another user (uid 12345)"),
                "{said}"
            );
            assert!(
                said.contains(&format!("`kbsync -C {} …`", mirror.display())),
                "{said}"
            );
        }
    }
    for named in [&["-C", "."][..], &["--config", "kbsync.yaml"]] {
        kb.run(&[named, &["status"]].concat()).exits(0);
    }
    kb.set("KBSYNC_DIR", &mirror.to_string_lossy());
    kb.run(&["status"]).exits(0);
    // A command in these settings needs consent all the same.
    kb.run(&["sync"])
        .exits(2)
        .complains("the command `touch RAN`", "kbsync trust");
    assert!(!kb.exists("RAN"));
}

#[test]
fn a_link_of_another_user_to_settings_of_ours_is_refused() {
    let kb = Kb::with_settings("service: https://kb.example.com\n");
    let link = kb.mirror().join("sub/kbsync.yaml");
    kb.write("sub/x", "");
    std::os::unix::fs::symlink("../kbsync.yaml", &link).expect("a link");
    if given_away(&link).is_none() {
        return left_out();
    }
    let mut command = kb.command(&["check"]);
    let output = command.current_dir(kb.mirror().join("sub")).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
fn left_out() {
    eprintln!("left out: only root may give files to another user");
}

#[test]
fn a_pipe_in_place_of_the_settings_is_refused_and_not_waited_for() {
    let kb = Kb::new();
    let made = std::process::Command::new("mkfifo")
        .arg(kb.mirror().join("kbsync.yaml"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    for arguments in [&["status"][..], &["sync"], &["check"], &["trust"]] {
        let output = kb
            .command(arguments)
            .timeout(Duration::from_mins(2))
            .output()
            .expect("it ends");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("kbsync.yaml: this is not a regular file"),
            "{said}"
        );
        assert!(said.contains("help: put a text file there"), "{said}");
    }
}

#[test]
fn a_folder_and_a_settings_file_do_not_both_name_the_folder() {
    let kb = Kb::new();
    for revoke in [&[][..], &["--revoke"]] {
        let args = [&["--config", "kb.yaml", "trust", "."], revoke].concat();
        kb.run(&args)
            .exits(2)
            .complains("both name the folder", "leave out one");
    }
}

#[test]
fn a_service_that_moved_is_followed_with_a_new_state() {
    let service = Service::empty();
    let one = service.article(service.category("start"), "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "One.", "Never sent.");
    kb.edit("kbsync.yaml", "127.0.0.1", "localhost");
    kb.trust();
    let ran = kb.run(&["sync", "--trust-service"]).exits(2);
    let told = "if the service moved, move .kbsync away";
    assert!(ran.stderr.contains(told), "{ran:#?}");
    let away = kb.user_state().join("old");
    std::fs::rename(kb.mirror().join(".kbsync"), &away).expect("moved");
    // The edit waits, and nothing is sent.
    kb.run(&["sync", "--trust-service"]).exits(3);
    assert_eq!(service.text(one), "<p>One.</p>");
    assert!(kb.read("start/one.html").contains("Never sent."));
    kb.run(&["resolve", "start/one.html", "--keep", "local"])
        .exits(0);
    assert_eq!(service.text(one), "<p>Never sent.</p>");
}
