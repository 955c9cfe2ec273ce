//! The findings of a check.

use crate::mirror::document::NotReady;
use serde::Serialize;

/// The end of the remedy of an error with which the file is not sent.
pub(super) const NOT_SENT: &str = "until then the file is not sent";

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// Readers see a poorer page than necessary.
    Warning,
    /// The page is broken, or the file would not be pushed.
    Error,
}

/// A problem in a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: Option<usize>,
    pub(crate) level: Level,
    pub(crate) rule: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// The findings so far.
#[derive(Default)]
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    /// Reports that a file is broken or would not be pushed. Returns the finding, so that the caller can add its line.
    pub(super) fn error<P: ToString + ?Sized>(
        &mut self,
        path: &P,
        rule: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> &mut Finding {
        self.0.push_mut(Finding {
            path: path.to_string(),
            line: None,
            level: Level::Error,
            rule,
            message: message.into(),
            help: help.into(),
        })
    }

    /// Reports that a file could be improved.
    pub(super) fn warning<P: ToString + ?Sized>(
        &mut self,
        path: &P,
        rule: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> &mut Finding {
        let finding = self.error(path, rule, message, help);
        finding.level = Level::Warning;
        finding
    }

    /// Reports a file that cannot be parsed as an article or a category.
    pub(super) fn not_ready<P: ToString + ?Sized>(
        &mut self,
        path: &P,
        rule: &'static str,
        problem: &NotReady,
    ) {
        let help = format!("{}; {NOT_SENT}", problem.remedy);
        self.error(path, rule, &problem.message, help).line = problem.line;
    }
}
