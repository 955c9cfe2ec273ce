//! The files for services, containers and CI: kbsync knows every command, flag, setting and variable in them, and an
//! edit cannot drop the settings that keep a container safe.

use clap::CommandFactory as _;
use kbsync::daemon::event_loop::GRACE;
use kbsync::{cli::Cli, model::ExitCode};
use serde::Deserialize as _;
use serde_yaml::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}

/// Returns the documents of a YAML file.
pub(crate) fn yaml(path: &str) -> Vec<Value> {
    let text = read(path);
    serde_yaml::Deserializer::from_str(&text)
        .map(|document| Value::deserialize(document).expect(path))
        .collect()
}

/// Returns the value at a path such as `spec/replicas`; a number is an index of a list.
#[track_caller]
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('/').fold(value, |value, key| {
        let found = match key.parse::<usize>() {
            Ok(place) => value.get(place),
            Err(_) => value.get(key),
        };
        found.unwrap_or_else(|| panic!("no {key} of {path} in {value:?}"))
    })
}

#[track_caller]
pub(crate) fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    at(value, path)
        .as_str()
        .unwrap_or_else(|| panic!("{path} is no text"))
}

#[track_caller]
pub(crate) fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    at(value, path)
        .as_sequence()
        .unwrap_or_else(|| panic!("{path} is no list"))
}

#[track_caller]
fn words(value: &Value, path: &str) -> Vec<String> {
    let words = list(value, path).iter();
    words
        .map(|word| word.as_str().expect(path).to_owned())
        .collect()
}

/// Checks that kbsync accepts these arguments.
#[track_caller]
fn is_command<W: AsRef<str>>(arguments: &[W]) {
    let words = std::iter::once("kbsync").chain(arguments.iter().map(AsRef::as_ref));
    if let Err(error) = Cli::command().try_get_matches_from(words) {
        panic!("{error}");
    }
}

/// Checks that kbsync reads these variables, according to its sources.
#[track_caller]
fn are_variables<N: AsRef<str>>(names: impl IntoIterator<Item = N>) {
    let mut sources = String::new();
    for folder in ["src/config", "src/cli"] {
        gather(&root().join(folder), &mut sources);
    }
    for name in names {
        let name = name.as_ref();
        assert!(
            sources.contains(&format!("\"{name}\"")),
            "{name} is read nowhere"
        );
    }
}

/// Checks that the environment names the service: otherwise the token waits for a consent that nobody can give.
#[track_caller]
fn names_the_host<'v>(names: impl IntoIterator<Item = &'v str>) {
    let has_it = names.into_iter().any(|name| name == "KBSYNC_SERVICE");
    assert!(has_it, "KBSYNC_SERVICE is missing");
}

fn gather(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            gather(&path, into);
        } else {
            *into += &std::fs::read_to_string(path).expect("a source");
        }
    }
}

/// Returns the seconds of a duration such as `15s`.
fn seconds(text: &str) -> u64 {
    humantime::parse_duration(text).expect(text).as_secs()
}

#[test]
fn compose_runs_it_without_rights_and_within_its_memory() {
    let [file] = yaml("examples/compose.yaml").try_into().expect("one");
    let service = at(&file, "services/kbsync");
    is_command(&words(service, "command"));
    let variables = at(service, "environment").as_mapping().expect("a map");
    are_variables(variables.keys().map(|key| key.as_str().expect("text")));
    names_the_host(variables.keys().filter_map(Value::as_str));
    for name in words(service, "secrets") {
        let secret = at(&file, &format!("secrets/{name}"));
        assert!(text(secret, "file").starts_with("./"));
        let token = text(service, "environment/KBSYNC_TOKEN_FILE");
        assert_eq!(token, format!("/run/secrets/{name}"));
    }
    let folders: BTreeMap<String, String> = words(service, "volumes")
        .iter()
        .map(|volume| {
            let (from, to) = volume.split_once(':').expect("a place");
            (to.to_owned(), from.to_owned())
        })
        .collect();
    assert_eq!(folders.keys().collect::<Vec<_>>(), ["/mirror", "/state"]);
    // Besides the mirror, kbsync writes only here.
    at(&file, &format!("volumes/{}", folders["/state"]));
    assert_eq!(at(service, "read_only"), &Value::Bool(true));
    assert_eq!(words(service, "cap_drop"), ["ALL"]);
    assert_eq!(words(service, "security_opt"), ["no-new-privileges:true"]);
    assert_eq!(text(service, "mem_limit"), "64m");
    // Room for a thread per core and some more, and for a git process or the token's command.
    assert_eq!(at(service, "pids_limit").as_u64(), Some(256));
    assert!(seconds(text(service, "stop_grace_period")) > GRACE.as_secs());
    for port in words(service, "ports") {
        assert!(port.starts_with("127.0.0.1:"), "{port}");
    }
}

/// Otherwise anybody in the cluster could take all connections of the health port.
fn only_monitoring_reaches_the_port(policy: &Value, deployment: &Value, container: &Value) {
    assert_eq!(
        at(policy, "spec/podSelector/matchLabels"),
        at(deployment, "spec/template/metadata/labels")
    );
    assert_eq!(words(policy, "spec/policyTypes"), ["Ingress"]);
    let [rule] = list(policy, "spec/ingress") else {
        panic!("one rule");
    };
    let [from] = list(rule, "from") else {
        panic!("one source");
    };
    let labels = at(from, "namespaceSelector/matchLabels");
    assert!(labels.as_mapping().is_some_and(|labels| !labels.is_empty()));
    let [port] = list(rule, "ports") else {
        panic!("one port");
    };
    assert_eq!(at(port, "port"), at(container, "ports/0/name"));
}

#[test]
fn kubernetes_runs_one_pod_that_owns_one_volume() {
    let documents = yaml("examples/kubernetes.yaml");
    for document in &documents {
        for path in ["apiVersion", "kind", "metadata/name"] {
            text(document, path);
        }
    }
    let of = |kind: &str| {
        let mut found = documents.iter().filter(|one| text(one, "kind") == kind);
        let one = found.next().unwrap_or_else(|| panic!("no {kind}"));
        assert!(found.next().is_none(), "one {kind}");
        one
    };
    let claim = of("PersistentVolumeClaim");
    assert_eq!(words(claim, "spec/accessModes"), ["ReadWriteOnce"]);
    text(claim, "spec/resources/requests/storage");
    let deployment = of("Deployment");
    assert_eq!(at(deployment, "spec/replicas").as_u64(), Some(1));
    assert_eq!(text(deployment, "spec/strategy/type"), "Recreate");
    assert_eq!(
        at(deployment, "spec/selector/matchLabels"),
        at(deployment, "spec/template/metadata/labels")
    );
    let pod = at(deployment, "spec/template/spec");
    let grace = at(pod, "terminationGracePeriodSeconds").as_u64();
    assert!(grace.is_some_and(|grace| grace > GRACE.as_secs()));
    assert_eq!(
        at(pod, "securityContext/runAsNonRoot").as_bool(),
        Some(true)
    );
    let [container] = list(pod, "containers") else {
        panic!("one container");
    };
    is_command(&words(container, "args"));
    let variables = list(container, "env");
    are_variables(variables.iter().map(|variable| text(variable, "name")));
    names_the_host(variables.iter().map(|variable| text(variable, "name")));
    let rights = at(container, "securityContext");
    assert_eq!(at(rights, "readOnlyRootFilesystem").as_bool(), Some(true));
    assert_eq!(
        at(rights, "allowPrivilegeEscalation").as_bool(),
        Some(false)
    );
    assert_eq!(words(rights, "capabilities/drop"), ["ALL"]);
    assert_eq!(text(container, "resources/limits/memory"), "64Mi");
    text(container, "resources/limits/ephemeral-storage");
    only_monitoring_reaches_the_port(of("NetworkPolicy"), deployment, container);
    for (probe, path) in [
        ("startupProbe", "/healthz"),
        ("livenessProbe", "/healthz"),
        ("readinessProbe", "/readyz"),
    ] {
        let get = at(container, &format!("{probe}/httpGet"));
        assert_eq!(text(get, "path"), path);
        assert_eq!(at(get, "port"), at(container, "ports/0/name"));
    }
    let volumes: BTreeSet<&str> = list(pod, "volumes")
        .iter()
        .map(|volume| text(volume, "name"))
        .collect();
    let mounts = list(container, "volumeMounts");
    for mount in mounts {
        assert!(volumes.contains(text(mount, "name")), "{mount:?}");
    }
    let token = variables
        .iter()
        .find(|variable| text(variable, "name") == "KBSYNC_TOKEN_FILE")
        .expect("the token comes as a file");
    let mount = mounts
        .iter()
        .find(|mount| text(token, "value").starts_with(text(mount, "mountPath")))
        .expect("it is mounted");
    assert_eq!(at(mount, "readOnly").as_bool(), Some(true));
    assert_eq!(
        text(claim, "metadata/name"),
        text(pod, "volumes/0/persistentVolumeClaim/claimName")
    );
}

#[test]
fn the_ci_workflow_has_the_form_of_one() {
    let [file] = yaml("examples/ci-workflow.yml").try_into().expect("one");
    text(&file, "name");
    let triggers = at(&file, "on").as_mapping().expect("triggers");
    for trigger in triggers.keys() {
        let known = ["pull_request", "push", "schedule", "workflow_dispatch"];
        assert!(
            known.contains(&trigger.as_str().expect("text")),
            "{trigger:?}"
        );
    }
    assert_eq!(
        at(&file, "concurrency/cancel-in-progress"),
        &Value::Bool(false)
    );
    let jobs = at(&file, "jobs").as_mapping().expect("jobs");
    let mut commands = 0;
    for (name, job) in jobs {
        let name = name.as_str().expect("a name");
        text(job, "runs-on");
        text(job, "if");
        for step in list(job, "steps") {
            let keys = step.as_mapping().expect("a step").keys();
            for key in keys {
                let known = ["name", "id", "uses", "with", "run", "env", "if"];
                assert!(
                    known.contains(&key.as_str().expect("text")),
                    "{name}: {key:?}"
                );
            }
            let run = step.get("run").and_then(Value::as_str);
            assert_ne!(
                run.is_some(),
                step.get("uses").is_some(),
                "{name}: {step:?}"
            );
            if let Some(action) = step.get("uses").and_then(Value::as_str) {
                let commit = action.split_once('@').map_or("", |(_, commit)| commit);
                let is_commit =
                    commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
                assert!(is_commit, "{action} is no commit");
            }
            for line in run.into_iter().flat_map(str::lines) {
                let Some(arguments) = line.trim().strip_prefix("kbsync ") else {
                    continue;
                };
                let before_pipe = arguments.split(" | ").next().unwrap_or_default();
                is_command(&before_pipe.split_whitespace().collect::<Vec<_>>());
                commands += 1;
            }
            if let Some(env) = step.get("env").and_then(Value::as_mapping) {
                are_variables(env.keys().map(|key| key.as_str().expect("text")));
                if env.contains_key("KBSYNC_TOKEN") {
                    names_the_host(env.keys().filter_map(Value::as_str));
                }
            }
        }
    }
    assert_eq!(commands, 2, "check and sync");
    let sync = at(&file, "jobs/sync");
    assert_eq!(text(sync, "permissions/contents"), "write");
    assert_eq!(text(&file, "permissions/contents"), "read");
}

/// Returns the keys of a unit, each with all its values.
fn unit() -> BTreeMap<String, Vec<String>> {
    let mut keys = BTreeMap::<String, Vec<String>>::new();
    for line in read("examples/kbsync.service").lines() {
        if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            keys.entry(key.to_owned())
                .or_default()
                .push(value.to_owned());
        }
    }
    keys
}

#[test]
fn the_systemd_unit_says_what_the_daemon_does() {
    let unit = unit();
    let one = |key: &str| unit[key][0].as_str();
    let command: Vec<&str> = one("ExecStart").split_whitespace().collect();
    is_command(&command[1..]);
    assert_eq!(one("Type"), "notify");
    let never: Vec<u8> = one("RestartPreventExitStatus")
        .split_whitespace()
        .map(|code| code.parse().expect("a number"))
        .collect();
    assert_eq!(
        never,
        [ExitCode::Usage.number(), ExitCode::Attention.number()]
    );
    assert!(seconds(one("TimeoutStopSec")) > GRACE.as_secs());
    let variables = || {
        let lines = unit["Environment"].iter();
        lines.map(|line| line.split_once('=').expect("a value").0)
    };
    are_variables(variables());
    names_the_host(variables());
    assert_eq!(one("LimitCORE"), "0");
    for right in [
        "NoNewPrivileges",
        "PrivateUsers",
        "PrivateTmp",
        "PrivateDevices",
    ] {
        assert_eq!(one(right), "yes", "{right}");
    }
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kbsync.service");
    let here = read("examples/kbsync.service")
        .replace("/usr/local/bin/kbsync", env!("CARGO_BIN_EXE_kbsync"));
    std::fs::write(&file, here).expect("written");
    let verified = std::process::Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&file)
        .output();
    match verified {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            left_out("there is no systemd-analyze here");
        }
        Err(error) => panic!("{error}"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{said}");
        }
    }
}

#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
fn left_out(why: &str) {
    eprintln!("left out: {why}");
}

/// Returns the Dockerfile's instructions, each on one line.
fn instructions() -> Vec<(String, String)> {
    let mut joined = String::new();
    for line in read("Dockerfile").lines() {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        let part = line.strip_suffix('\\');
        joined += part.unwrap_or(line);
        if part.is_none() {
            joined.push('\n');
        }
    }
    joined
        .lines()
        .map(|line| {
            let (word, rest) = line.split_once(' ').expect("an instruction");
            (word.to_owned(), rest.trim().to_owned())
        })
        .collect()
}

/// Reads a JSON list of words, as in `ENTRYPOINT ["/kbsync"]`, which needs no shell.
#[track_caller]
fn exec(form: &str) -> Vec<String> {
    serde_json::from_str(form).unwrap_or_else(|error| panic!("{form}: {error}"))
}

#[test]
fn the_image_is_one_program_for_a_user_without_rights() {
    let all = instructions();
    let last = all
        .iter()
        .rposition(|(word, _)| word == "FROM")
        .expect("a stage");
    let (build, stage) = all.split_at(last);
    assert_eq!(stage[0].1, "scratch");
    let of = |word: &str| {
        let found: Vec<&str> = stage
            .iter()
            .filter(|(one, _)| one == word)
            .map(|(_, rest)| rest.as_str())
            .collect();
        assert!(!found.is_empty(), "no {word}");
        found
    };
    assert!(
        stage
            .iter()
            .all(|(word, _)| word != "RUN" && word != "SHELL"),
        "there is no shell"
    );
    let user = of("USER")[0].split(':').next().expect("a user");
    assert!(user.parse::<u32>().expect("a number") > 0, "not root");
    assert_eq!(exec(of("ENTRYPOINT")[0]), ["/kbsync"]);
    is_command(&exec(of("CMD")[0]));
    let health = of("HEALTHCHECK")[0].split_once("CMD ").expect("a command");
    let health = exec(health.1);
    assert_eq!(health[0], "/kbsync");
    is_command(&health[1..]);
    are_variables(
        of("ENV")[0]
            .split_whitespace()
            .map(|one| one.split_once('=').expect("a value").0),
    );
    assert_eq!(exec(of("VOLUME")[0]), ["/mirror", "/state"]);
    // A folder that is copied by itself gets new rights, and the container's user could not write to it.
    let folders = of("COPY")
        .into_iter()
        .filter(|rest| !rest.ends_with("/kbsync"));
    let from_above: Vec<&str> = folders.collect();
    assert_eq!(from_above, ["--from=build --chown=10001:10001 /out/ /"]);
    let labels = of("LABEL").join(" ");
    for label in ["title", "description", "licenses", "version", "revision"] {
        let name = format!("org.opencontainers.image.{label}=");
        assert!(labels.contains(&name), "{name}");
    }

    // The dependencies are built before any of our sources is there, and no feature for tests is on.
    let copied = build
        .iter()
        .position(|(word, rest)| word == "COPY" && rest.starts_with("src "))
        .expect("the sources");
    let first = build[..copied]
        .iter()
        .find(|(word, rest)| word == "RUN" && rest.contains("cargo build"))
        .expect("a layer of dependencies");
    for (_, rest) in build
        .iter()
        .filter(|(word, rest)| word == "RUN" && rest.contains("cargo "))
    {
        for word in ["drill", "--all-features", "--tests", "--all-targets"] {
            assert!(!rest.contains(word), "{rest}");
        }
        assert!(rest.contains("--features jemalloc"), "{rest}");
        assert!(rest.contains("--profile dist"), "{rest}");
    }
    assert!(of("COPY")[0].contains("/target/dist/kbsync"));
    // The digest of the compiler's image is given from outside, and no unpinned frontend is fetched.
    assert_eq!(build[0].0, "ARG");
    assert_eq!(build[1].1, "${RUST_IMAGE} AS build");
    assert!(!read("Dockerfile").contains("# syntax="));
    // Without these settings the allocator keeps freed memory.
    assert!(
        build
            .iter()
            .any(|(word, rest)| word == "ENV" && rest.contains("JEMALLOC_SYS_WITH_MALLOC_CONF="))
    );
    // Cargo requires every target that the manifest names.
    let manifest = read("Cargo.toml");
    let mut kind = "";
    for line in manifest.lines() {
        if line.starts_with('[') {
            kind = line;
        }
        let value = |key: &str| Some(line.strip_prefix(key)?.trim_matches('"'));
        let path = match kind {
            "[[bench]]" => value("name = ").map(|name| format!("benches/{name}.rs")),
            "[[test]]" | "[[bin]]" | "[[example]]" => value("path = ").map(str::to_owned),
            _ => None,
        };
        if let Some(path) = path {
            assert!(first.1.contains(&path), "the layer has no {path}");
        }
    }
}
