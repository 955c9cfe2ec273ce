//! `kbsync init`: the settings file, the questions, and the refusals.

use crate::support::kb::{Kb, Ran, Service, TOKEN, WORKSPACE};
use crate::support::real_git::{git, git_in};
use crate::support::schema;

const SERVICE: &str = "https://kb.example.com/";

#[test]
fn it_writes_settings_that_are_good() {
    let kb = Kb::new();
    let ran = kb
        .run(&[
            "init",
            "--service",
            SERVICE,
            "--workspace",
            WORKSPACE,
            "--poll",
            "10m",
        ])
        .exits(0);
    let path = kb.mirror().join("kbsync.yaml");
    assert_eq!(ran.stdout, format!("{}\n", path.display()));
    let text = kb.read("kbsync.yaml");
    assert!(text.contains("service: https://kb.example.com\n"));
    assert!(text.contains(&format!("workspace: {WORKSPACE}\n")));
    assert!(text.contains("\npoll: 10m\n"));
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    // The settings are good enough to get as far as the missing token.
    kb.run(&["workspaces"])
        .exits(2)
        .complains("there is no token", "KBSYNC_TOKEN");
}

#[test]
fn it_takes_the_environment_and_prints_json() {
    let mut kb = Kb::new();
    kb.set("KBSYNC_SERVICE", SERVICE)
        .set("KBSYNC_WORKSPACE", WORKSPACE)
        .set("KBSYNC_DIR", "sub");
    let ran = kb.run(&["init", "--json"]).exits(0);
    schema::check("init", &ran.json());
    assert!(kb.read("sub/kbsync.yaml").contains(WORKSPACE));
}

#[test]
fn it_never_overwrites() {
    let kb = Kb::with_settings("# mine\n");
    let before = kb.files();
    kb.run(&["init", "--service", SERVICE, "--workspace", WORKSPACE])
        .exits(2)
        .complains("not overwritten", "edit the file");
    assert_eq!(kb.files(), before);
}

#[test]
fn it_names_the_flags_that_are_missing() {
    let kb = Kb::new();
    for (arguments, error) in [
        (&["init"][..], "the service or the workspace is missing"),
        (
            &["init", "--service", SERVICE],
            "the service or the workspace is missing",
        ),
        (
            &["init", "--workspace", WORKSPACE],
            "the service or the workspace is missing",
        ),
    ] {
        kb.run(arguments)
            .exits(2)
            .complains(error, "kbsync init --service URL");
    }
    for (flag, value, error) in [
        ("--service", "nonsense", "--service: the service's address"),
        (
            "--workspace",
            "nonsense",
            "--workspace: `nonsense` is not the id",
        ),
        ("--poll", "nonsense", "--poll: `nonsense` is neither"),
    ] {
        kb.run(&["init", "--service", SERVICE, flag, value])
            .exits(2);
        let ran = kb.run(&["init", flag, value]).exits(2);
        assert!(ran.stderr.contains(error), "{}", ran.stderr);
    }
    assert_eq!(kb.files(), []);
}

#[test]
fn f120_it_refuses_mirrors_inside_each_other() {
    let outer = Kb::with_settings("# a mirror\n");
    outer.write("billing/refunds.html", "");
    let before = outer.files();
    outer
        .run(&[
            "-C",
            "billing",
            "init",
            "--service",
            SERVICE,
            "--workspace",
            WORKSPACE,
        ])
        .exits(2)
        .complains("would overlap with the mirror", "outside");
    assert_eq!(outer.files(), before);

    let inner = Kb::new();
    inner.write("help/en/kbsync.yaml", "# a mirror\n");
    inner
        .run(&["init", "--service", SERVICE, "--workspace", WORKSPACE])
        .exits(2)
        .complains("would overlap with the mirror", "outside");
}

#[test]
fn a_workspace_that_the_service_does_not_have_is_refused_when_it_can_be_asked() {
    let service = Service::start();
    let mut kb = Kb::new();
    let given = |workspace: &str| {
        let url = service.url.as_str();
        ["init", "--service", url, "--workspace", workspace].map(str::to_owned)
    };
    let run = |kb: &Kb, workspace: &str| {
        let arguments = given(workspace);
        kb.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    kb.set("KBSYNC_TOKEN", TOKEN);
    run(&kb, WORKSPACE)
        .exits(2)
        .complains("has no workspace", "kbsync workspaces");
    assert!(!kb.exists("kbsync.yaml"));
    run(&kb, &service.workspace).exits(0);
    // Without a token the service cannot be asked.
    let before = service.sandbox.counts().total;
    run(&Kb::new(), WORKSPACE).exits(0);
    assert_eq!(service.sandbox.counts().total, before);
}

/// A folder of a site generator that is not meant for the knowledge base.
fn site() -> Kb {
    let kb = Kb::new();
    for number in 1..=12 {
        kb.write(
            &format!("docs/page-{number:02}.html"),
            "---\ntitle: A page\n---\n<p>x</p>\n",
        );
    }
    kb.write("docs/raw.html", "<p>no front matter</p>\n");
    kb.write("docs/Was ist.html", "---\ntitle: A name\n---\n<p>x</p>\n");
    kb.write("Über uns/one.html", "---\ntitle: One\n---\n<p>x</p>\n");
    kb.write("img/logo.svg", "<svg/>");
    kb.write("faq/_category.yaml", "name: Questions\n");
    kb.write("drafts/one.html", "---\ntitle: One\n---\n<p>x</p>\n");
    kb.write(".kbsyncignore", "/drafts/\n");
    kb
}

const GIVEN: [&str; 5] = ["init", "--service", SERVICE, "--workspace", WORKSPACE];

#[test]
fn a_folder_with_files_is_listed_and_needs_a_yes() {
    let kb = site();
    let before = kb.files();
    let ran = kb.run(&GIVEN).exits(2);
    assert!(
        ran.stderr.contains(
            "error: this folder is not empty: the first sync would create up to 2 categories and 12 articles"
        ),
        "{ran:#?}"
    );
    let again = format!("  kbsync init --service {SERVICE} --workspace {WORKSPACE} --yes\n");
    assert!(ran.stderr.contains(&again), "{ran:#?}");
    for line in [
        "  categories  docs/, faq/\n",
        "docs/page-09.html, docs/page-10.html and 2 more\n",
        "  not ready   docs/Was ist.html, docs/raw.html, Über uns/one.html\n",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {ran:#?}");
    }
    // Ignored files are not counted.
    assert!(!ran.stderr.contains("drafts") && !ran.stderr.contains("img"));
    assert_eq!(kb.files(), before);

    let yes: Vec<&str> = GIVEN.into_iter().chain(["--yes", "--json"]).collect();
    let json = kb.run(&yes).exits(0).json();
    schema::check("init", &json);
    assert_eq!(
        json["found"],
        serde_json::json!({"categories": 2, "articles": 12, "not_ready": 3})
    );
    assert!(kb.exists("kbsync.yaml"));
}

#[test]
fn on_a_terminal_a_folder_with_files_is_asked_about() {
    let kb = site();
    let before = kb.files();
    let question = "Make this folder a mirror?";
    let ran = kb.at_terminal(&GIVEN, &[(question, "n\r")]).exits(3);
    assert!(ran.stderr.contains("nothing was written"), "{ran:#?}");
    assert_eq!(kb.files(), before);
    kb.at_terminal(&GIVEN, &[(question, "y\r")]).exits(0);
    assert!(kb.exists("kbsync.yaml"));
}

#[test]
fn files_that_no_sync_would_take_are_not_asked_about() {
    let kb = Kb::new();
    kb.write("index.html", "---\ntitle: In the root\n---\n");
    kb.write("docs/raw.html", "<p>no front matter</p>\n");
    kb.write("src/main.rs", "fn main() {}\n");
    kb.run(&GIVEN).exits(0);
}

/// Returns the files that git would commit from a folder with a conflict copy.
fn committed(kb: &Kb) -> String {
    kb.write("docs/page.conflict.html", "theirs\n");
    git_in(
        &kb.mirror(),
        &["status", "--porcelain", "--untracked-files=all"],
    )
}

#[test]
fn git_ignores_the_copies_of_conflicts() {
    // Without a repository the rule is written into the mirror, for a later repository around the mirror.
    let kb = Kb::new();
    kb.write(".gitignore", "*.tmp");
    let ran = kb.run(&GIVEN).exits(0);
    assert!(
        ran.stderr.contains("so that git ignores conflict copies"),
        "{ran:#?}"
    );
    assert_eq!(kb.read(".gitignore"), "*.tmp\n*.conflict.html\n");
    git(&kb, &["init", "--quiet"]);
    assert!(!committed(&kb).contains("conflict.html"));

    // The same in a repository, because the exclude file would help this clone alone.
    let kb = Kb::new();
    git(&kb, &["init", "--quiet", "-b", "main"]);
    let ran = kb.run(&GIVEN).exits(0);
    assert!(
        ran.stderr.contains("conflict copies; commit that file"),
        "{ran:#?}"
    );
    assert_eq!(kb.read(".gitignore"), "*.conflict.html\n");
    assert!(!kb.read(".git/info/exclude").contains("conflict.html"));
    kb.remove("kbsync.yaml");
    let ran = kb.run(&GIVEN).exits(0);
    assert_eq!(kb.read(".gitignore"), "*.conflict.html\n", "never twice");
    assert!(!ran.stderr.contains("conflict copies"), "{ran:#?}");

    // Another clone ignores the copies as well.
    git(&kb, &["add", "-A"]);
    let identity = ["-c", "user.name=w", "-c", "user.email=w@example.com"];
    git(
        &kb,
        &[&identity[..], &["commit", "--quiet", "-m", "one"][..]].concat(),
    );
    git(&kb, &["clone", "--quiet", ".", "../clone"]);
    kb.write("../clone/docs/page.conflict.html", "theirs\n");
    let clone = git_in(&kb.mirror(), &["-C", "../clone", "status", "--porcelain"]);
    assert_eq!(clone, "");

    // A rule in the exclude file exists in this clone only, so it is not enough.
    let kb = Kb::new();
    git(&kb, &["init", "--quiet"]);
    kb.write(".git/info/exclude", "*.conflict.html\n");
    kb.run(&GIVEN).exits(0);
    assert_eq!(kb.read(".gitignore"), "*.conflict.html\n");
    // A rule in a folder above is enough.
    let kb = Kb::new();
    git(&kb, &["init", "--quiet"]);
    kb.write(".gitignore", "*.conflict.html\n");
    std::fs::create_dir(kb.mirror().join("help")).expect("a folder");
    let arguments = [&["-C", "help"][..], &GIVEN[..]].concat();
    kb.run(&arguments).exits(0);
    assert!(!kb.exists("help/.gitignore"));
}

#[test]
fn a_list_of_gits_that_cannot_be_added_to_is_left_alone_with_a_word() {
    let kb = Kb::new();
    kb.write("elsewhere", "mine\n");
    std::os::unix::fs::symlink("elsewhere", kb.mirror().join(".gitignore")).expect("a link");
    let ran = kb.run(&GIVEN).exits(0);
    assert!(
        ran.stderr.contains("it is not a regular file")
            && ran.stderr.contains("\n  echo '*.conflict.html' >> "),
        "{ran:#?}"
    );
    assert_eq!(kb.read("elsewhere"), "mine\n");
}

#[test]
fn doctor_says_whether_git_ignores_the_copies_of_conflicts() {
    let service = Service::start();
    let kb = service.mirror();
    let said = |kb: &Kb| {
        let json = kb.run(&["doctor", "--json"]).json();
        let checks = json["checks"].as_array().expect("a list").clone();
        checks
            .into_iter()
            .find(|check| check["name"] == "git-ignore")
    };
    assert_eq!(said(&kb), None, "there is no repository");
    git(&kb, &["init", "--quiet"]);
    let check = said(&kb).expect("a look");
    assert_eq!(check["result"], "warning");
    let help = check["help"].as_str().expect("a command");
    let shell = std::process::Command::new("sh").args(["-c", help]).status();
    assert!(shell.expect("it runs").success(), "{help}");
    assert_eq!(said(&kb).expect("a look")["result"], "good");
    assert!(!committed(&kb).contains("conflict.html"));
}

/// The questions of `init` about a service.
fn at_terminal(kb: &Kb, address: &str, answers: &[(&str, &str)]) -> Ran {
    kb.at_terminal(&["init", "--service", address], answers)
}

#[test]
fn without_an_answer_of_the_service_no_mirror_is_made() {
    let service = Service::start();
    let mut kb = Kb::new();
    kb.set("KBSYNC_TOKEN", TOKEN);
    let ran = at_terminal(&kb, "http://127.0.0.1:9", &[]).exits(5);
    let told = "the service does not answer at http://127.0.0.1:9 (connection refused)";
    assert!(ran.stderr.contains(told), "{ran:#?}");
    assert!(!kb.exists("kbsync.yaml"));
    let nothing = [("Address of the service", "\u{4}")];
    let ran = kb.at_terminal(&["init"], &nothing).exits(3);
    assert!(ran.stderr.contains("no answer was given"), "{ran:#?}");
    assert!(!kb.exists("kbsync.yaml"));
    // Input that was typed before the question is no answer, and a single workspace needs no question.
    let address = format!("{}\r", service.url);
    kb.at_terminal(&["init"], &[("Address of the service", &address)])
        .exits(0);
    assert!(kb.read("kbsync.yaml").contains(&service.url));
    assert!(kb.read("kbsync.yaml").contains(&service.workspace));
}

#[test]
fn without_a_terminal_the_only_workspace_is_taken() {
    let service = Service::start();
    let mut kb = Kb::new();
    let init = ["init", "--yes", "--service", &service.url];
    kb.run(&init).exits(2).complains(
        "the service or the workspace is missing",
        "with the token in KBSYNC_TOKEN",
    );
    kb.set("KBSYNC_TOKEN", TOKEN);
    let ran = kb.run(&init).exits(0);
    assert!(ran.stderr.contains("the only one of this token's owner"));
    assert!(kb.read("kbsync.yaml").contains(&service.workspace));
    kb.remove("kbsync.yaml");
    service.sandbox.add_workspace("Second");
    let ran = kb.run(&init).exits(2);
    let listed = format!("\n  --workspace {}  # ", service.workspace);
    assert!(ran.stderr.contains(&listed), "{ran:#?}");
    ran.complains("has 2 workspaces of this token's owner", "name one:");
}

#[test]
fn another_program_at_the_address_makes_no_mirror() {
    let service = Service::start();
    let mut kb = Kb::new();
    kb.set("KBSYNC_TOKEN", TOKEN);
    for address in [
        format!("{}/api", service.url),
        format!("{}/dashboard/", service.url),
    ] {
        for more in [&[][..], &["--workspace", &service.workspace]] {
            let ran = kb.run(&[&["init", "--service", &address][..], more].concat());
            let ran = ran.exits(1);
            assert!(
                ran.stderr.contains("did not come from the service"),
                "{ran:#?}"
            );
            let is_advised = ran.stderr.contains("leave out /api: kbsync adds it");
            assert_eq!(is_advised, address.ends_with("/api"), "{ran:#?}");
            assert!(!kb.exists("kbsync.yaml"));
        }
    }
    // An address that does not answer may be right.
    let none = ["--service", "http://127.0.0.1:9", "--workspace"];
    let init = [&["init"][..], &none, &[&service.workspace]].concat();
    let ran = kb.run(&init).exits(0);
    assert!(ran.stderr.contains("it is unknown whether"), "{ran:#?}");
    let unknown = ["init", "--service", &service.url, "--workspace", WORKSPACE];
    kb.remove("kbsync.yaml");
    let list = format!("KBSYNC_SERVICE={} kbsync workspaces", service.url);
    kb.run(&unknown)
        .exits(2)
        .complains("has no workspace", &list);
    let listed = kb.set("KBSYNC_SERVICE", &service.url).run(&["workspaces"]);
    assert!(listed.exits(0).stdout.contains(&service.workspace));
}

#[test]
fn of_several_workspaces_one_is_chosen() {
    let service = Service::start();
    service.sandbox.add_workspace("Second");
    let mut kb = Kb::new();
    kb.set("KBSYNC_TOKEN", TOKEN);
    at_terminal(
        &kb,
        &service.url,
        &[("another workspace (paste its id)", "\r")],
    )
    .exits(0);
    assert!(kb.read("kbsync.yaml").contains("workspace: "));
}
