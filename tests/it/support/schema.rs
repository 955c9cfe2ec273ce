//! The schemas under `examples/schema/` are valid, and the commands' output conforms to them.

use serde_json::{Value, json};
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/schema")
}

/// Checks a command's JSON against its schema.
#[track_caller]
pub(crate) fn check(name: &str, value: &Value) {
    let faults = faults(name, value);
    assert!(faults.is_empty(), "{name}: {faults:#?}\n{value:#}");
}

fn faults(name: &str, value: &Value) -> Vec<String> {
    let path = folder().join(format!("{name}.schema.json"));
    let shown = path.display();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let schema = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let validator =
        jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{shown}: {error}"));
    validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn every_schema_is_a_schema_with_a_title() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).expect("the folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("text");
        let schema: Value =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(jsonschema::meta::is_valid(&schema), "{}", path.display());
        assert!(schema["title"].is_string(), "{}", path.display());
        count += 1;
    }
    assert!(count >= 2);
}

/// An example of a report.
fn report() -> Value {
    json!({"version":1,"outcome":"done","dry_run":false,
        "actions":[{"action":"update","side":"remote","path":"billing/refunds.html",
            "id":"5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c","fields":["title","text"],
            "status":"done","reason":null}],
        "problems":[{"path":"a/b.html","id":null,"message":"it has no title"}],
        "requests":{"total":3,"get":1,"post":0,"put":2,"delete":0},
        "budget":{"minute_left":57,"day_left":1400},"elapsed_ms":412})
}

fn status() -> Value {
    json!({"version":1,
        "changes":[{"path":"a/b.html","id":null,"change":"created","fields":[]}],
        "conflicts":[],"held":[],"invisible":[],"problems":[],
        "budget":{"minute_left":57,"day_left":1400},
        "last_sync":"2026-01-01T00:00:00Z",
        "daemon":{"pid":7,"since":"2026-01-01T00:00:00Z","next_poll":null}})
}

#[test]
fn the_examples_of_the_design_keep_to_their_schemas() {
    check("report", &report());
    check("status", &status());
    let mut idle = status();
    idle["daemon"] = Value::Null;
    idle["last_sync"] = Value::Null;
    check("status", &idle);
}

#[test]
fn schemas_refuse_what_scripts_could_not_read() {
    let broken: [fn(&mut Value); 5] = [
        |report| report["version"] = json!(2),
        |report| report["outcome"] = json!("fine"),
        |report| report["actions"][0]["action"] = json!("explode"),
        |report| report["actions"][0]["path"] = json!("/etc/passwd"),
        |report| report["extra"] = json!(1),
    ];
    for change in broken {
        let mut report = report();
        change(&mut report);
        assert!(!faults("report", &report).is_empty(), "{report}");
    }
}
