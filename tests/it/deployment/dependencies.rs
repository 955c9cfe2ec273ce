//! The linked crates: the part of `deny.toml` that can be checked without a tool.
//!
//! Licences are checked by `cargo deny --offline check bans licenses sources`.

const LOCK: &str = include_str!("../../../Cargo.lock");
const DENY: &str = include_str!("../../../deny.toml");

/// The crates that `deny.toml` denies.
fn denied() -> Vec<&'static str> {
    let rules = DENY
        .lines()
        .filter_map(|line| line.trim().strip_prefix("{ crate = \""));
    rules
        .filter(|rule| rule.contains("reason ="))
        .filter_map(|rule| rule.split('"').next())
        .collect()
}

#[test]
fn no_denied_crate_is_locked() {
    let denied = denied();
    assert!(denied.contains(&"openssl-sys"), "{denied:?}");
    for name in denied {
        assert!(
            !LOCK.contains(&format!("name = \"{name}\"\n")),
            "{name} is denied"
        );
    }
}

#[test]
fn every_crate_comes_from_the_one_registry() {
    let registry = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let mut sources = LOCK.lines().filter(|line| line.starts_with("source = "));
    assert!(sources.all(|line| line == registry));
    let packages = LOCK.matches("[[package]]").count();
    // Every package except this one.
    assert_eq!(LOCK.matches(registry).count(), packages - 1);
}
