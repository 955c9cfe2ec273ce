//! The published branch, with the real git and the real binary: on other branches nothing is sent or written, and
//! removals on the published branch are distinguished from those on other branches.

use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::kb::{Kb, Service};
use crate::support::real_git::{commit, git, try_git};
use crate::support::schema;

/// Commands that are refused on another branch.
const WRITING: [&[&str]; 6] = [
    &["sync"],
    &["pull"],
    &["push", "start"],
    &["approve", "--yes"],
    &["restore", "start"],
    &["sync", "--allow-deletes"],
];

/// Four articles, synced and committed on `main`; no branch is named in the settings.
fn mirror() -> (Service, Kb) {
    let service = Service::empty();
    let start = service.category("start");
    for number in 1..=4 {
        service.article(start, &format!("n{number}"), "<p>One.</p>");
    }
    let kb = service.mirror();
    git(&kb, &["init", "-q", "-b", "main"]);
    let ran = kb.run(&["sync"]).exits(0);
    let told = "branch main is the published branch from now on";
    assert!(ran.stderr.contains(told), "{ran:#?}");
    commit(&kb);
    // The branch is reported once.
    let ran = kb.run(&["sync"]).exits(0);
    assert!(!ran.stderr.contains("branch main"), "{ran:#?}");
    (service, kb)
}

fn left(service: &Service) -> usize {
    service.sandbox.articles().len()
}

#[test]
fn on_another_branch_than_that_of_the_first_sync_nothing_is_sent_or_written() {
    let (service, kb) = mirror();
    git(&kb, &["checkout", "-q", "-b", "rewrite"]);
    kb.edit("start/n1.html", "One.", "Not yet.");
    kb.remove("start/n2.html");
    kb.write("start/new.html", "---\ntitle: New\n---\n<p>New.</p>\n");
    let before = (service.sandbox.counts().total, kb.articles());
    for command in WRITING {
        kb.run(command).exits(3).complains(
            "branch rewrite is checked out, and only branch main is published",
            "git switch main",
        );
    }
    kb.run(&["resolve", "start/n1.html", "--keep", "local"])
        .exits(2)
        .complains("not in conflict", "kbsync resolve");
    let report = kb.run(&["sync", "--json"]).exits(3).json();
    schema::check("report", &report);
    assert_eq!(report["outcome"], "attention");
    assert_eq!(service.sandbox.counts().total, before.0);
    assert_eq!(kb.articles(), before.1);
    // Reading commands work.
    let plan = kb.run(&["sync", "--dry-run"]).exits(0);
    assert!(plan.stdout.contains("start/new.html"), "{plan:#?}");
    let refused = "without --dry-run this is refused: branch rewrite is checked out";
    assert!(plan.stderr.contains(refused), "{plan:#?}");
    let status = kb.run(&["status"]).exits(0);
    // `kbsync restore` is refused on this branch, so it is not proposed.
    assert!(!status.stdout.contains("kbsync restore"), "{status:#?}");
    let told = "nothing is synced: branch rewrite is checked out";
    assert!(status.stdout.contains(told), "{status:#?}");
    let status = kb.run(&["status", "--json"]).exits(0).json();
    schema::check("status", &status);
    assert_eq!(
        status["git"],
        serde_json::json!({"published": "main", "checked_out": "rewrite", "synced": false})
    );
    for command in [
        &["diff"][..],
        &["check"],
        &["log"],
        &["show", "start/n1.html"],
    ] {
        kb.run(command).exits(0);
    }
    kb.run(&["new", "start", "Later"]).exits(0);
    kb.remove("start/later.html");
    assert_eq!(service.sandbox.articles().len(), 4);
    // Back on the published branch, all changes are synced.
    commit(&kb);
    git(&kb, &["checkout", "-q", "main"]);
    let status = kb.run(&["status"]).exits(0);
    assert!(
        status
            .stdout
            .contains("branch main is the published branch"),
        "{status:#?}"
    );
    let plan = kb.run(&["sync", "--dry-run"]).exits(0);
    assert!(!plan.stderr.contains("refused"), "{plan:#?}");
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 4);
    git(&kb, &["merge", "-q", "rewrite"]);
    kb.run(&["sync"]).exits(0);
    let texts: Vec<String> = service
        .sandbox
        .articles()
        .into_iter()
        .map(|article| article.text)
        .collect();
    assert_eq!(texts.len(), 4, "one is new, and one went");
    assert!(texts.contains(&"<p>Not yet.</p>".to_owned()), "{texts:?}");
}

#[test]
fn what_the_team_removed_on_the_published_branch_is_deleted() {
    let (service, kb) = mirror();
    git(&kb, &["checkout", "-q", "-b", "colleague"]);
    kb.remove("start/n1.html");
    kb.edit("start/n2.html", "One.", "Two.");
    commit(&kb);
    git(&kb, &["checkout", "-q", "main"]);
    git(&kb, &["merge", "-q", "--no-ff", "--no-edit", "colleague"]);
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 3);
    // A writer's own removal needs no commit.
    kb.remove("start/n2.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 2);
}

#[test]
fn a_file_that_its_writer_removes_after_a_look_at_another_branch_is_a_removal() {
    let (service, kb) = mirror();
    kb.edit("start/n2.html", "One.", "Two.");
    commit(&kb);
    git(&kb, &["checkout", "-q", "-b", "aside"]);
    git(&kb, &["checkout", "-q", "main"]);
    kb.remove("start/n1.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 3);
}

#[test]
fn an_article_that_was_left_on_another_branch_is_not_deleted() {
    let (service, kb) = mirror();
    let start = service.sandbox.articles()[0].category_id;
    let fetched = service.article(start, "fetched", "<p>A colleague's.</p>");
    kb.run(&["sync"]).exits(0);
    assert!(kb.exists("start/fetched.html"));
    git(&kb, &["checkout", "-q", "-b", "mine"]);
    commit(&kb);
    git(&kb, &["checkout", "-q", "main"]);
    assert!(!kb.exists("start/fetched.html"));
    for command in [&["sync"][..], &["push"], &["sync"]] {
        let ran = kb.run(command).exits(3);
        let told = "not by a commit of branch main";
        assert!(ran.stdout.contains(told), "{ran:#?}");
    }
    assert_eq!(service.text(fetched), "<p>A colleague's.</p>");
    kb.run(&["restore", "start"]).exits(0);
    assert!(kb.exists("start/fetched.html"));
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 5);
}

#[test]
fn without_the_git_program_what_a_merge_removed_is_held() {
    let (service, mut kb) = mirror();
    git(&kb, &["checkout", "-q", "-b", "colleague"]);
    kb.remove("start/n1.html");
    commit(&kb);
    git(&kb, &["checkout", "-q", "main"]);
    git(&kb, &["merge", "-q", "colleague"]);
    let nowhere = kb.mirror().to_string_lossy().into_owned();
    kb.set("PATH", &nowhere);
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains("git moved HEAD"), "{ran:#?}");
    assert_eq!(left(&service), 4);
    kb.set("PATH", "/usr/bin:/bin");
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 3);
}

#[test]
fn what_git_has_not_finished_stops_a_command() {
    let (service, kb) = mirror();
    git(&kb, &["checkout", "-q", "-b", "clash"]);
    kb.edit("start/n1.html", "One.", "Clash.");
    commit(&kb);
    git(&kb, &["checkout", "-q", "main"]);
    kb.edit("start/n1.html", "One.", "Main.");
    commit(&kb);
    kb.run(&["sync"]).exits(0);
    let requests = service.sandbox.counts().total;
    for (begin, told) in [
        (&["merge", "clash"][..], "a merge is not finished"),
        (&["rebase", "clash"], "a rebase is not finished"),
        (&["cherry-pick", "clash"], "a cherry-pick is not finished"),
    ] {
        assert!(!try_git(&kb, begin), "it conflicts");
        let files = kb.articles();
        let abort = format!("git {} --abort", begin[0]);
        for command in &WRITING[..4] {
            kb.run(command).exits(5).complains(told, &abort);
        }
        let report = kb.run(&["sync", "--json"]).exits(5).json();
        assert_eq!(report["outcome"], "retry");
        let status = kb.run(&["status"]).exits(0);
        assert!(status.stdout.contains(told), "{status:#?}");
        assert_eq!(kb.articles(), files);
        git(&kb, &[begin[0], "--abort"]);
    }
    assert_eq!(service.sandbox.counts().total, requests);
    kb.run(&["sync"]).exits(0);
}

#[test]
fn a_commit_by_itself_is_the_published_branch_only_where_it_is_the_newest() {
    let (service, kb) = mirror();
    kb.edit("start/n1.html", "One.", "Two.");
    commit(&kb);
    git(&kb, &["checkout", "-q", "--detach"]);
    kb.run(&["sync"]).exits(0);
    assert!(
        service
            .sandbox
            .articles()
            .iter()
            .any(|article| article.text.contains("Two."))
    );
    git(&kb, &["checkout", "-q", "HEAD~1"]);
    kb.run(&["sync"])
        .exits(3)
        .complains("not the newest of branch main", "git switch main");
    // A first sync without a branch asks for a name.
    let kb = service.mirror();
    git(&kb, &["init", "-q", "-b", "main"]);
    commit(&kb);
    git(&kb, &["checkout", "-q", "--detach"]);
    kb.run(&["sync"])
        .exits(3)
        .complains("no branch is named", "git: {branch: NAME}");
    let settings = kb.read("kbsync.yaml") + "git: {branch: main}\n";
    kb.write("kbsync.yaml", &settings);
    kb.run(&["sync"]).exits(0);
}

#[test]
fn a_linked_work_tree_and_a_submodule_have_branches_of_their_own() {
    let (_service, kb) = mirror();
    // A mirror in a linked work tree has its own state.
    git(&kb, &["worktree", "add", "-q", "-b", "linked", "../linked"]);
    let linked = kb.mirror().parent().expect("a folder").join("linked");
    let there = linked.to_str().expect("text");
    // The linked work tree needs its own agreement.
    kb.run(&["trust", there]).exits(0);
    let ran = kb.run(&["-C", there, "sync"]).exits(0);
    let told = "branch linked is the published branch";
    assert!(ran.stderr.contains(told), "{ran:#?}");
    git(&kb, &["-C", there, "checkout", "-q", "-b", "more"]);
    kb.run(&["-C", there, "sync"])
        .exits(3)
        .complains("branch more is checked out", "git switch linked");
    kb.run(&["sync"]).exits(0);
}

#[test]
fn a_repository_that_was_replaced_holds_removals_and_one_that_moved_is_the_same() {
    let (service, kb) = mirror();
    let (there, away) = (kb.mirror().join(".git"), kb.mirror().join(".away"));
    let moved = away.to_str().expect("text");
    git(&kb, &["init", "-q", "--separate-git-dir", moved]);
    assert!(there.is_file());
    kb.remove("start/n1.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 3, "the writer removed it");
    std::fs::remove_file(&there).expect("removed");
    kb.remove("start/n2.html");
    git(&kb, &["init", "-q", "-b", "main"]);
    commit(&kb);
    for _ in 0..2 {
        let ran = kb.run(&["sync"]).exits(3);
        assert!(ran.stdout.contains("since git moved HEAD"), "{ran:#?}");
    }
    assert_eq!(left(&service), 3);
    kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(left(&service), 2);
    kb.remove("start/n3.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 1);
}

#[test]
fn a_name_of_a_branch_that_git_would_not_allow_is_not_believed() {
    let (service, kb) = mirror();
    for name in ["main\u{1b}[2J", "other;reboot"] {
        kb.write(
            ".git/HEAD",
            &format!("ref: refs/heads/{name}\nworkspace: x\n"),
        );
        let ran = kb.run(&["sync"]).exits(3);
        assert!(!ran.stderr.contains('\u{1b}'), "{ran:#?}");
    }
    let fresh = service.mirror();
    fresh.write(".git/HEAD", "ref: refs/heads/a;reboot\n");
    fresh.run(&["sync"]).exits(0);
    fresh.write(".git/HEAD", "ref: refs/heads/b\n");
    fresh
        .run(&["sync"])
        .exits(3)
        .complains("only branch a;reboot is published", "git switch 'a;reboot'");
}

#[test]
fn a_clone_of_one_branch_alone_publishes_nothing_before_the_branch_is_named() {
    let (service, from) = mirror();
    git(&from, &["checkout", "-q", "-b", "draft"]);
    from.edit("start/n1.html", "One.", "Not yet.");
    commit(&from);
    git(&from, &["checkout", "-q", "main"]);
    let clone = service.mirror();
    clone.remove("kbsync.yaml");
    let server = format!("file://{}", from.mirror().display());
    let one_branch = [
        "clone",
        "-q",
        "--single-branch",
        "-b",
        "draft",
        &server,
        ".",
    ];
    git(&clone, &one_branch);
    clone.trust();
    clone
        .run(&["sync"])
        .exits(3)
        .complains("no branch is named", "git: {branch: NAME}");
    let texts = service.sandbox.articles().into_iter();
    assert!(
        texts
            .map(|article| article.text)
            .all(|text| !text.contains("Not yet."))
    );
    // `init` does not write that branch into the settings either.
    clone.remove("kbsync.yaml");
    let workspace = &service.workspace;
    let arguments = ["init", "--service", &service.url, "--workspace", workspace];
    let ran = clone.run(&[&arguments[..], &["--yes"]].concat()).exits(0);
    assert!(ran.stderr.contains("cannot tell which branch"), "{ran:#?}");
    assert!(!clone.read("kbsync.yaml").contains("branch: draft"));
}

#[test]
fn in_a_clone_the_default_branch_of_its_server_is_the_published_branch() {
    let (service, kb) = mirror();
    let clone = service.mirror();
    clone.remove("kbsync.yaml");
    let from = kb.mirror();
    git(&clone, &["clone", "-q", from.to_str().expect("text"), "."]);
    git(&clone, &["checkout", "-q", "-b", "draft"]);
    clone.edit("start/n1.html", "One.", "Not yet.");
    clone
        .run(&["sync"])
        .exits(3)
        .complains("only branch main is published", "git switch main");
    assert!(
        service
            .sandbox
            .articles()
            .iter()
            .all(|article| article.text == "<p>One.</p>")
    );
    // `init` proposes the same branch.
    clone.remove("kbsync.yaml");
    let workspace = &service.workspace;
    let arguments = ["init", "--service", &service.url, "--workspace", workspace];
    let ran = clone.run(&[&arguments[..], &["--yes"]].concat()).exits(0);
    assert!(
        ran.stderr.contains("branch main is the published branch"),
        "{ran:#?}"
    );
    assert!(
        clone
            .read("kbsync.yaml")
            .contains("\ngit: {branch: main}\n")
    );
}

#[test]
fn a_checkout_while_the_service_is_listed_sends_nothing_of_that_branch() {
    let (service, kb) = mirror();
    git(&kb, &["checkout", "-q", "-b", "draft"]);
    kb.edit("start/n1.html", "One.", "Not yet.");
    kb.remove("start/n2.html");
    commit(&kb);
    git(&kb, &["checkout", "-q", "main"]);
    kb.edit("start/n3.html", "One.", "Published.");
    let folder = kb.mirror();
    service.sandbox.inject(Fault::once(
        Matcher::new("GET", "/api/base/"),
        FaultKind::HookAfter(Hook::new(move |_| {
            let mut checkout = std::process::Command::new("git");
            checkout
                .args(["checkout", "-q", "draft"])
                .current_dir(&folder);
            assert!(checkout.status().expect("it starts").success());
        })),
    ));
    let ran = kb.run(&["sync"]).exits(5);
    let told = "branch draft is checked out, and only branch main is published";
    assert!(ran.stdout.contains(told), "{ran:#?}");
    let texts = || -> Vec<String> {
        let articles = service.sandbox.articles();
        articles.into_iter().map(|article| article.text).collect()
    };
    assert_eq!(texts(), ["<p>One.</p>"; 4]);
    git(&kb, &["checkout", "-q", "main"]);
    kb.run(&["sync"]).exits(0);
    assert_eq!(texts().len(), 4);
    assert!(texts().contains(&"<p>Published.</p>".to_owned()));
    // A git command that does not end also stops a sync; a git command that ends soon only delays the sync.
    kb.edit("start/n4.html", "One.", "Four.");
    let lock = kb.mirror().join(".git/index.lock");
    let made = lock.clone();
    service.sandbox.inject(Fault::once(
        Matcher::new("GET", "/api/base/"),
        FaultKind::HookAfter(Hook::new(move |_| {
            std::fs::write(&made, "").expect("written");
        })),
    ));
    kb.run(&["sync"]).exits(5);
    assert!(!texts().contains(&"<p>Four.</p>".to_owned()));
    std::fs::remove_file(&lock).expect("removed");
    kb.run(&["sync"]).exits(0);
    assert!(texts().contains(&"<p>Four.</p>".to_owned()));
}

#[test]
fn init_writes_the_branch_that_is_checked_out() {
    let service = Service::empty();
    let kb = Kb::new();
    git(&kb, &["init", "-q", "-b", "trunk"]);
    let arguments = [
        "init",
        "--service",
        &service.url,
        "--workspace",
        &service.workspace,
    ];
    let ran = kb.run(&arguments).exits(0);
    assert!(
        ran.stderr.contains("branch trunk is the published branch"),
        "{ran:#?}"
    );
    assert!(kb.read("kbsync.yaml").contains("\ngit: {branch: trunk}\n"));
    kb.remove("kbsync.yaml");
    // On a terminal, `init` asks which branch to publish.
    let question = "Which branch should be published?";
    let answers = [(question, "main\r"), ("there is no branch main", "trunk\r")];
    kb.at_terminal(&arguments, &answers).exits(0);
    assert!(kb.read("kbsync.yaml").contains("\ngit: {branch: trunk}\n"));
    // Without git, `init` does not ask.
    let kb = Kb::new();
    kb.run(&arguments).exits(0);
    assert!(kb.read("kbsync.yaml").contains("\n# git: {branch: auto}\n"));
}

#[test]
fn f091_without_the_repository_of_its_git_file_a_folder_is_not_synced() {
    let (service, kb) = mirror();
    let above = kb.mirror().parent().expect("a folder").to_owned();
    let (git_file, own) = (kb.mirror().join(".git"), above.join("own"));
    let own_name = own.to_str().expect("text");
    git(&kb, &["init", "-q", "--separate-git-dir", own_name]);
    git(&kb, &["checkout", "-q", "-b", "draft"]);
    kb.edit("start/n1.html", "One.", "Not yet.");
    kb.remove("start/n2.html");
    commit(&kb);
    // The published branch is checked out in the repository around the folder.
    git(&kb, &["-C", "..", "init", "-q", "-b", "main"]);
    std::fs::rename(&own, above.join("unmounted")).expect("moved");
    let unusable = ".git leads to no git repository that kbsync can read";
    let (settings, any) = (kb.read("kbsync.yaml"), "git: {branch: any}");
    for named in ["", "git: {branch: main}\n"] {
        kb.write("kbsync.yaml", &format!("{settings}{named}"));
        kb.run(&["sync"]).exits(3).complains(unusable, any);
    }
    let first = service.mirror();
    first.write(".git", &format!("gitdir: {own_name}\n"));
    first.run(&["sync"]).exits(3).complains(unusable, any);
    // A folder without HEAD is no repository either.
    std::fs::remove_file(&git_file).expect("removed");
    std::fs::create_dir(&git_file).expect("made");
    kb.run(&["sync"]).exits(3).complains(unusable, any);
    // The state knows the published branch, although no repository is left.
    std::fs::remove_dir(&git_file).expect("removed");
    std::fs::remove_dir_all(above.join(".git")).expect("removed");
    kb.write("kbsync.yaml", &settings);
    let gone = "in no git repository, and only branch main is published";
    kb.run(&["sync"]).exits(3).complains(gone, any);
    let texts = service.sandbox.articles().into_iter();
    let texts: Vec<String> = texts.map(|article| article.text).collect();
    assert_eq!(texts, ["<p>One.</p>"; 4]);
    // Without a published branch the edit is sent. Nobody can say who removed the file.
    std::fs::create_dir(&git_file).expect("made");
    kb.write("kbsync.yaml", &format!("{settings}{any}\n"));
    let ran = kb.run(&["sync"]).exits(3);
    let held = "cannot ask git whether git is the reason (the git repository cannot be read)";
    assert!(ran.stdout.contains(held), "{ran:#?}");
    assert_eq!(left(&service), 4);
}
