//! The requests of a test in short form, and the checks that nothing is left to do.

use crate::support::world::{World, lines};
use kbsync::engine::report::{Line, Report, Status};
use kbsync::engine::settings::CycleRequest;
use kbsync::reconcile::snapshot::{Direction, OnConflict};
use uuid::Uuid;

/// `sync --prefer`.
pub(crate) fn preferring(side: OnConflict) -> CycleRequest {
    CycleRequest {
        prefer: Some(side),
        ..CycleRequest::new(Direction::Both)
    }
}

/// Returns the only line of a report about a path.
pub(crate) fn line<'r>(report: &'r Report, path: &str) -> &'r Line {
    let mut found = report.actions.iter().filter(|line| line.path == path);
    match (found.next(), found.next()) {
        (Some(line), None) => line,
        _ => panic!("not one line about {path}: {:#?}", lines(report)),
    }
}

/// Returns the reason in the line about a path.
pub(crate) fn reason<'r>(report: &'r Report, path: &str) -> &'r str {
    line(report, path).reason.as_deref().unwrap_or_default()
}

/// The paths with a problem, each with its message.
pub(crate) fn problems(report: &Report) -> Vec<String> {
    report
        .problems
        .iter()
        .map(|problem| format!("{}: {}", problem.path, problem.message))
        .collect()
}

/// The lines of one kind of action.
pub(crate) fn lines_of(report: &Report, word: &str) -> Vec<String> {
    let mut all = lines(report);
    all.retain(|line| line.split(' ').next() == Some(word));
    all
}

/// Returns the number of held lines.
pub(crate) fn held(report: &Report) -> usize {
    report
        .actions
        .iter()
        .filter(|line| line.status == Status::Held)
        .count()
}

impl World {
    /// Returns the requests since the last look that change the service, such as `PUT article {"title":"New"}`.
    pub(crate) fn sent(&self) -> Vec<String> {
        let requests = self.sandbox().requests();
        self.sandbox().clear_requests();
        requests
            .iter()
            .filter(|request| request.method != "GET")
            .map(|request| {
                let kind = request.path.split('/').nth(2).unwrap_or_default();
                format!("{} {kind} {}", request.method, request.body)
                    .trim_end()
                    .to_owned()
            })
            .collect()
    }

    /// Returns the requests since the last look, by method and kind, such as `GET base`.
    pub(crate) fn asked(&self) -> Vec<String> {
        let requests = self.sandbox().requests();
        self.sandbox().clear_requests();
        requests
            .iter()
            .map(|request| {
                let kind = request.path.split('/').nth(2).unwrap_or_default();
                format!("{} {kind}", request.method)
            })
            .collect()
    }

    /// A mirror of these articles in one category `start`, synced and quiet.
    pub(crate) async fn start(articles: &[(&str, &str)]) -> (Self, Uuid, Vec<Uuid>) {
        let world = Self::new().await;
        let start = world.category("start");
        let ids = articles
            .iter()
            .map(|(slug, text)| world.article(start, slug, text))
            .collect();
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 0, "{:#?}", lines(&report));
        world.sandbox().clear_requests();
        (world, start, ids)
    }

    /// Checks that nothing is left to do: one request, no action, no problem, no file touched.
    pub(crate) async fn is_quiet(&self) {
        let (before, stamps) = (self.files(), self.mtimes());
        self.sandbox().clear_requests();
        let report = self.sync().await;
        assert_eq!(lines(&report), [""; 0], "{:#?}", report.actions);
        assert_eq!(problems(&report), [""; 0]);
        assert_eq!(self.asked(), ["GET base"]);
        assert_eq!(self.files(), before);
        assert_eq!(self.mtimes(), stamps);
    }

    /// Returns the time of the last write of each of the mirror's files.
    pub(crate) fn mtimes(&self) -> Vec<std::time::SystemTime> {
        self.files()
            .iter()
            .map(|(path, _)| {
                std::fs::metadata(self.path(path))
                    .and_then(|found| found.modified())
                    .expect("a file")
            })
            .collect()
    }

    /// Returns an article as it is on the service.
    pub(crate) fn on_service(&self, id: Uuid) -> kbsync::sandbox::Article {
        self.sandbox().article(id).expect("on the service")
    }
}
