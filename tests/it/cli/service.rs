//! The commands that ask the service, against the sandbox.

use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::kb::{Kb, Service, TOKEN, WORKSPACE};
use crate::support::schema;
use std::io::{Read as _, Write as _};

#[test]
fn workspaces_are_listed_as_a_table_and_as_json() {
    let service = Service::start();
    let kb = service.mirror();
    let table = kb.run(&["workspaces"]).exits(0).stdout;
    assert!(table.starts_with("id "), "{table}");
    assert!(table.contains(&service.workspace), "{table}");
    let json = kb.run(&["workspaces", "--json"]).exits(0).json();
    schema::check("workspaces", &json);
    assert_eq!(json["workspaces"][0]["id"], service.workspace.as_str());
    assert_eq!(service.sandbox.counts().total, 2);
    let request = &service.sandbox.requests()[0];
    let header = |name: &str| {
        let mut headers = request.headers.iter();
        headers
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(header("accept"), Some("application/json"));
    assert!(header("user-agent").is_some_and(|agent| agent.starts_with("kbsync/")));
}

#[test]
fn f140_a_workspace_cannot_steer_the_terminal() {
    let service = Service::start();
    service.sandbox.add_workspace("evil\u{1b}[2J\nerror: x");
    let table = service.mirror().run(&["workspaces"]).exits(0).stdout;
    assert!(table.contains("evil\\u{1b}[2J\\nerror: x"), "{table}");
}

#[test]
fn f131_a_wrong_token_is_reported_and_not_shown() {
    let service = Service::start();
    let mut kb = service.mirror();
    kb.set("KBSYNC_TOKEN", "CANARY-wrong");
    let before = kb.files();
    let ran = kb.run(&["-vvv", "workspaces"]).exits(1);
    assert!(!ran.stderr.contains("CANARY"), "{}", ran.stderr);
    ran.complains("refused the token", "make a new token");
    let after = kb.files();
    // The only change is in the stored budget, which counts the request.
    assert!(after.iter().all(|(path, _)| {
        before.iter().any(|(old, _)| old == path) || path.to_string_lossy().contains("/state/")
    }));
    assert!(
        !after
            .iter()
            .any(|(_, bytes)| String::from_utf8_lossy(bytes).contains("CANARY"))
    );
}

#[test]
fn doctor_finds_a_healthy_mirror_healthy() {
    let service = Service::start();
    let kb = service.mirror();
    let before = kb.read("kbsync.yaml");
    let json = kb.run(&["doctor", "--json"]).exits(0).json();
    schema::check("doctor", &json);
    assert_eq!(json["healthy"], true);
    let names: Vec<&str> = json["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|check| check["name"].as_str())
        .collect();
    for name in [
        "settings", "token", "service", "clock", "budget", "state", "lock", "mirror",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(kb.read("kbsync.yaml"), before);
    assert_eq!(service.sandbox.counts().total, 1, "one request");
    assert!(!kb.mirror().join(".kbsync").exists(), "it changes nothing");
}

#[test]
fn doctor_names_every_fault_with_its_remedy() {
    let service = Service::start();
    let mut kb = service.mirror();
    kb.set("KBSYNC_TOKEN", "wrong");
    let json = kb.run(&["doctor", "--json"]).exits(1).json();
    schema::check("doctor", &json);
    assert_eq!(json["healthy"], false);

    let kb = Kb::with_settings("servce: https://kb.example.com\n");
    let ran = kb.run(&["doctor"]).exits(2);
    assert!(
        ran.stdout.contains("kbsync.yaml:1: unknown key `servce`"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("did you mean `service`?"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("mirror"), "it goes on: {}", ran.stdout);

    let kb = Kb::with_settings(&format!(
        "service: https://kb.example.com\nworkspace: {WORKSPACE}\n"
    ));
    let ran = kb.run(&["doctor"]).exits(2);
    assert!(ran.stdout.contains("there is no token"), "{}", ran.stdout);
}

#[test]
fn doctor_waits_for_no_budget() {
    let service = Service::start();
    let kb = service.mirror();
    let settings = kb.read("kbsync.yaml") + "budget: {per_minute: 1, per_day: 1440}\n";
    kb.write("kbsync.yaml", &settings);
    kb.run(&["doctor"]).exits(0);
    let begun = std::time::Instant::now();
    let ran = kb.run(&["doctor"]).exits(5);
    assert!(begun.elapsed().as_secs() < 30, "it waited");
    assert!(
        ran.stdout
            .contains("not asked: the requests of this minute are spent"),
        "{ran:#?}"
    );
    assert!(ran.stdout.contains("ask again in "), "{ran:#?}");
    assert_eq!(service.sandbox.counts().total, 1, "one request in all");
}

#[test]
fn doctor_reports_a_budget_above_the_services() {
    let service = Service::start();
    let kb = service.mirror();
    let settings = kb.read("kbsync.yaml") + "budget: {per_minute: 61, per_day: 1440}\n";
    kb.write("kbsync.yaml", &settings);
    let ran = kb.run(&["doctor"]).exits(0);
    assert!(
        ran.stdout.contains("above what the service allows"),
        "{ran:#?}"
    );
}

#[test]
fn stats_without_a_sync_say_so() {
    let service = Service::start();
    service
        .mirror()
        .run(&["stats"])
        .exits(1)
        .complains("nothing is known about", "kbsync sync");
    assert_eq!(service.sandbox.counts().total, 0);
}

#[test]
fn the_sandbox_prints_how_to_begin_and_ends_on_a_signal() {
    use std::{
        io::{BufRead as _, BufReader},
        process::{Command, Stdio},
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_kbsync"))
        .args([
            "sandbox",
            "--port",
            "0",
            "--articles",
            "2",
            "--json",
            "--accept-token",
            TOKEN,
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout"))
        .read_line(&mut line)
        .expect("a line");
    let json: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    schema::check("sandbox", &json);

    let mut kb = Kb::new();
    let workspace = json["workspace"].as_str().expect("an id");
    kb.set("KBSYNC_TOKEN", json["token"].as_str().expect("a token"));
    kb.run(&[
        "init",
        "--service",
        json["service"].as_str().expect("a URL"),
        "--workspace",
        workspace,
    ])
    .exits(0);
    let listed = kb.run(&["workspaces"]).exits(0).stdout;
    assert!(listed.contains(workspace));

    let id = i32::try_from(child.id()).expect("an id");
    let process = rustix::process::Pid::from_raw(id).expect("an id");
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("told");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_connection_that_is_refused_is_reported_in_a_line() {
    let mut kb = Kb::with_settings(&format!(
        "service: http://127.0.0.1:9\nworkspace: {WORKSPACE}\n"
    ));
    kb.set("KBSYNC_TOKEN", TOKEN).set("KBSYNC_DRILL_HURRY", "1");
    kb.trust();
    let ran = kb.run(&["sync"]).exits(5);
    let told = ran.stderr.lines().find(|line| line.starts_with("error:"));
    let told = told.expect("an error").to_owned();
    assert!(told.contains("no connection"), "{told}");
    assert!(told.contains("refused"), "{told}");
    for layer in ["error sending request", "client error", "tcp connect"] {
        assert!(!ran.stderr.contains(layer), "{ran:#?}");
    }
}

#[test]
fn an_address_that_another_program_has_is_named_with_the_setting() {
    let service = Service::start();
    let kb = service.mirror();
    let page = "<html></html>".to_owned();
    for (answer, told) in [
        (
            FaultKind::Html,
            "status 200: not signed in: the service answered with a web page; ",
        ),
        (
            FaultKind::Status(302, page.clone()),
            "status 302: not signed in: the service answered with a redirect; ",
        ),
        (
            FaultKind::Status(404, page.clone()),
            "status 404: a 404 that did not come from the service; ",
        ),
        (FaultKind::Status(400, page), "status 400: "),
    ] {
        service
            .sandbox
            .inject(Fault::always(Matcher::any(), answer));
        let ran = kb.run(&["workspaces"]);
        let told = format!("{told}the address is {}", service.url);
        assert!(ran.stderr.contains(&told), "{told} in {ran:#?}");
        let help = ran.stderr.split("help: ").nth(1);
        assert!(
            help.is_some_and(|help| help.contains("address")),
            "{ran:#?}"
        );
        service.sandbox.clear_faults();
    }
    service
        .sandbox
        .inject(Fault::always(Matcher::any(), FaultKind::Html));
    let ran = kb.run(&["sync"]).exits(1);
    assert!(
        ran.stderr.contains("correct the address (`service:`"),
        "{ran:#?}"
    );
}

#[test]
fn at_the_first_contact_a_proxy_and_the_wrong_protocol_are_answers() {
    let service = Service::start();
    let mut kb = Kb::new();
    kb.set("KBSYNC_TOKEN", TOKEN);
    let says = |address: &str, told: &str| {
        let ran = kb.run(&["init", "--yes", "--service", address]).exits(5);
        ran.complains(
            &format!("the service does not answer at {address} ({told})"),
            "is the address right?",
        );
    };
    says(
        &service.url.replace("http:", "https:"),
        "no tls, perhaps plain http",
    );
    for status in [502, 503] {
        let down = FaultKind::Status(status, "<html></html>".to_owned());
        service.sandbox.inject(Fault::always(Matcher::any(), down));
        says(&service.url, &format!("status {status}"));
        service.sandbox.clear_faults();
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let count = client.read(&mut [0; 1000]).expect("a request");
        assert!(count > 0);
        // The alert of TLS about a message that is not TLS.
        client.write_all(&[0x15, 3, 3, 0, 2, 2, 70]).expect("sent");
    });
    says(&address, "no http, perhaps https");
    server.join().expect("it ends");
}

#[test]
fn a_site_without_the_service_is_no_empty_workspace() {
    let service = Service::empty();
    let kb = service.mirror();
    let page = FaultKind::Status(404, "<html>not found</html>".to_owned());
    service.sandbox.inject(Fault::always(Matcher::any(), page));
    kb.run(&["sync"]).exits(1).complains(
        "the address is http://",
        "the address is that of the service itself",
    );
}
