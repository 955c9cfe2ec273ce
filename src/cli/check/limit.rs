//! Limits the findings of one file, because the full list may have megabytes.
//!
//! Errors are kept before warnings. A last finding names the number of the others.

use crate::{cli::report::several, mirror::check::Finding};
use std::cmp::Reverse;

/// The most findings of one file that are listed.
const LISTED: usize = 100;

/// Limits findings, which are in the order of their paths. The order stays.
pub(super) fn limit(findings: &[Finding]) -> Vec<Finding> {
    let mut listed = Vec::new();
    for of_file in findings.chunk_by(|one, other| one.path == other.path) {
        let mut of_file = of_file.to_vec();
        if of_file.len() > LISTED {
            // The sort is stable, so the order of lines stays.
            of_file.sort_by_key(|found| Reverse(found.level));
            let left = of_file.split_off(LISTED);
            of_file.sort();
            of_file.extend(summary(&left));
        }
        listed.extend(of_file);
    }
    listed
}

/// Makes one finding for the findings that are not listed. `left` begins with the most severe one.
fn summary(left: &[Finding]) -> Option<Finding> {
    let first = left.first()?;
    Some(Finding {
        path: first.path.clone(),
        line: None,
        level: first.level,
        rule: "more-findings",
        message: format!("{} in this file", several(left.len(), "more finding")),
        help: "correct those that are listed, and check again".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::check::Level;

    fn finding(path: &str, line: usize, level: Level) -> Finding {
        Finding {
            path: path.to_owned(),
            line: Some(line),
            level,
            rule: "rule",
            message: String::new(),
            help: String::new(),
        }
    }

    #[test]
    fn errors_are_listed_before_warnings_and_the_rest_is_counted() {
        let mut findings: Vec<_> = (1..=100)
            .map(|line| finding("a", line, Level::Warning))
            .collect();
        assert_eq!(limit(&findings), findings);
        findings.push(finding("a", 101, Level::Error));
        findings.push(finding("b", 1, Level::Warning));
        let listed = limit(&findings);
        let (of_a, of_b) = listed.split_at(101);
        assert_eq!(of_a[98], findings[98]);
        assert_eq!(of_a[99].level, Level::Error);
        assert_eq!(of_a[100].message, "1 more finding in this file");
        assert_eq!((of_a[100].level, of_a[100].line), (Level::Warning, None));
        assert_eq!(of_b, &findings[101..]);
    }
}
