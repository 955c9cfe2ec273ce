//! The service of an engine in a simulated world. As at the disk, every request may meet the death of the process, a
//! fault, or another person's deed.

use super::kb::{By, failure};
use super::purse::Purse;
use super::step::{Call, What};
use super::world::{Entered, Shared};
use kbsync::drill::death;
use kbsync::model::{ArticleId, CategoryId, WorkspaceId};
use kbsync::service::{
    Answer, ArticlePatch, BudgetLeft, CategoryPatch, ErrorKind, ListEnd, ListRequest, Listed,
    NewArticle, NewCategory, Purpose, RemoteArticle, RemoteCategory, Requests, Service,
    ServiceError, ServiceRead, ServiceWrite, Workspace,
};
use std::time::Duration;

/// The service's port.
#[derive(Clone)]
pub(crate) struct Remote {
    pub(crate) shared: Shared,
    pub(crate) purse: Purse,
}

/// Returns the articles of a listing.
fn ids(entries: &[Listed]) -> Vec<ArticleId> {
    let articles = entries.iter().filter_map(|entry| match entry {
        Listed::Article(article) => Some(article.id),
        Listed::Known(id) => Some(*id),
        Listed::Category(_) | Listed::Unreadable { .. } | Listed::Restart => None,
    });
    articles.collect()
}

/// Returns the error of a fault.
fn trouble(what: What, call: Call, method: &'static str) -> ServiceError {
    let lost = call.writes();
    let (kind, status, lost) = match what {
        What::Refused => (ErrorKind::Refused, Some(422), false),
        What::Forbidden => (ErrorKind::Forbidden, Some(403), false),
        What::Unauthorized => (ErrorKind::Unauthorized, Some(401), false),
        What::TooMany => (
            ErrorKind::RateLimited {
                retry_after: Some(Duration::from_secs(30)),
            },
            Some(429),
            false,
        ),
        What::Html => (ErrorKind::Unreadable, Some(200), lost),
        What::HtmlNotFound => (ErrorKind::Unreadable, Some(404), lost),
        What::LostBefore
        | What::LostAfter
        | What::Down { .. }
        | What::Stale
        | What::Skip { .. }
        | What::Garbled { .. }
        | What::Slow { .. }
        | What::Denied
        | What::Full
        | What::Broken
        | What::ByWriter { .. }
        | What::ByColleague { .. } => (ErrorKind::Unavailable { retry_after: None }, None, lost),
    };
    failure(kind, method, status, lost)
}

impl Remote {
    /// Time passes.
    async fn pass(&self, seconds: u8) {
        if seconds > 0 {
            let wait = Duration::from_secs(u64::from(seconds));
            self.shared.lock().advance(wait);
            tokio::time::advance(wait).await;
        }
    }

    /// Makes one request: the faults, the effect, and the checks of the effect.
    async fn step<T>(
        &self,
        call: Call,
        method: &'static str,
        what: &str,
        purpose: Purpose,
        work: impl FnOnce(&Shared, Entered) -> Answer<T>,
    ) -> Answer<T> {
        if !death::came() {
            let guarded = matches!(call, Call::Update | Call::Delete | Call::UpdateCategory);
            self.purse
                .pay(&self.shared, purpose, method, guarded)
                .await?;
        }
        let entered = {
            let mut world = self.shared.lock();
            let sent = &mut world.kb.requests;
            sent.total += 1;
            match method {
                "GET" => sent.get += 1,
                "POST" => sent.post += 1,
                "PUT" => sent.put += 1,
                _ => sent.delete += 1,
            }
            world.enter(call, what)
        };
        if !call.writes() {
            self.pass(entered.slow).await;
        }
        let dead = || trouble(What::LostBefore, call, method);
        if entered.dead {
            return Err(dead());
        }
        let lost_after = entered.what == Some(What::LostAfter);
        if let Some(what) = entered.what.filter(|_| !lost_after) {
            return Err(trouble(what, call, method));
        }
        let done = work(&self.shared, entered);
        if call.writes() {
            // The write is fast, and its response is slow.
            self.pass(entered.slow).await;
        }
        death::pass();
        if death::came() || lost_after {
            return Err(dead());
        }
        done
    }
}

impl ServiceRead for Remote {
    async fn workspaces(&self) -> Answer<Vec<Workspace>> {
        Ok(Vec::new())
    }

    async fn workspace(&self, id: WorkspaceId) -> Answer<Workspace> {
        Ok(Workspace {
            id,
            name: "Simulated".to_owned(),
            public: true,
            custom_domain: None,
        })
    }

    async fn category(
        &self,
        id: CategoryId,
        purpose: Purpose,
    ) -> Answer<(RemoteCategory, Vec<Listed>)> {
        self.step(Call::ReadCategory, "GET", "", purpose, |shared, entered| {
            let mut world = shared.lock();
            let answer = world.kb.read_category(id, entered.stale);
            if let Ok((_, entries)) = &answer {
                world.saw(ids(entries));
            }
            answer
        })
        .await
    }

    async fn article(&self, id: ArticleId, purpose: Purpose) -> Answer<RemoteArticle> {
        let what = id.to_string();
        self.shared.lock().asked.insert(id);
        self.step(Call::Read, "GET", &what, purpose, |shared, entered| {
            let mut world = shared.lock();
            world.saw([id]);
            world.read_by_itself(id, entered.stale);
            world.kb.read(id, entered.stale)
        })
        .await
    }

    async fn list(
        &self,
        request: &ListRequest,
        sink: &mut (dyn FnMut(Listed) + Send),
    ) -> Answer<ListEnd> {
        let (entries, end) = self
            .step(Call::List, "GET", "", request.purpose, |shared, entered| {
                let mut world = shared.lock();
                let (stale, skip) = (entered.stale, entered.skip);
                let (entries, end) = world.kb.list(request, stale, skip, entered.garble);
                let listed = if end == ListEnd::NotModified {
                    world.kb.articles.keys().copied().collect()
                } else {
                    ids(&entries)
                };
                world.ledger.hidden.listed(&listed, stale);
                world.listed(listed);
                Ok((entries, end))
            })
            .await?;
        entries.into_iter().for_each(sink);
        Ok(end)
    }
}

impl ServiceWrite for Remote {
    async fn create_article(&self, new: &NewArticle) -> Answer<RemoteArticle> {
        self.step(
            Call::Create,
            "POST",
            &new.slug,
            Purpose::Push,
            |shared, _| {
                let mut world = shared.lock();
                world.judge_text(&new.text);
                let made = world.write("POST", None, |kb| kb.create(new, By::Us));
                if let Ok(article) = &made {
                    world.note_birth(article.id, new);
                }
                made
            },
        )
        .await
    }

    async fn update_article(&self, id: ArticleId, patch: &ArticlePatch) -> Answer<RemoteArticle> {
        let what = format!("{id} {patch:?}");
        let answer = self
            .step(Call::Update, "PUT", &what, Purpose::Push, |shared, _| {
                let mut world = shared.lock();
                world.judge_text(patch.text.as_deref().unwrap_or_default());
                world.write(&what, Some(id), |kb| kb.update(id, patch, By::Us))
            })
            .await;
        if answer.is_ok() {
            self.shared.lock().ledger.hidden.put(id, true);
        }
        if answer.as_ref().is_err_and(|error| error.response_lost) {
            let mut world = self.shared.lock();
            world.ledger.hidden.put(id, false);
            let request = world.requests();
            world.ledger.unanswered.insert(id, request);
        }
        answer
    }

    async fn probe(&self, id: ArticleId, purpose: Purpose) -> Answer<RemoteArticle> {
        self.shared.lock().asked.insert(id);
        self.step(Call::Probe, "PUT", "", purpose, |shared, _| {
            let mut world = shared.lock();
            world.saw([id]);
            world.kb.probe(id)
        })
        .await
    }

    async fn delete_article(&self, id: ArticleId) -> Answer<()> {
        let what = format!("DELETE {id}");
        let answer = self
            .step(Call::Delete, "DELETE", &what, Purpose::Push, |shared, _| {
                let mut world = shared.lock();
                if world.kb.articles.contains_key(&id) {
                    world.judge_delete(id);
                }
                world.write(&what, Some(id), |kb| kb.delete(id, By::Us))
            })
            .await;
        if answer.as_ref().is_err_and(|error| error.response_lost) {
            let ledger = &mut self.shared.lock().ledger;
            ledger.unanswered_deletes.insert(id, false);
        }
        answer
    }

    async fn create_category(&self, new: &NewCategory) -> Answer<RemoteCategory> {
        let what = format!("POST category {}", new.version.slug);
        let answer = self
            .step(
                Call::CreateCategory,
                "POST",
                &what,
                Purpose::Push,
                |shared, _| {
                    let mut world = shared.lock();
                    world.write(&what, None, |kb| kb.create_category(new))
                },
            )
            .await;
        if answer.as_ref().is_err_and(|error| error.response_lost) {
            let mut world = self.shared.lock();
            let made = world.kb.category_at(&new.version.slug);
            world.ledger.unanswered_categories.extend(made);
        }
        answer
    }

    async fn update_category(
        &self,
        id: CategoryId,
        patch: &CategoryPatch,
    ) -> Answer<RemoteCategory> {
        let what = format!("PUT category {id} {patch:?}");
        self.step(
            Call::UpdateCategory,
            "PUT",
            &what,
            Purpose::Push,
            |shared, _| {
                let mut world = shared.lock();
                world.write(&what, None, |kb| kb.update_category(id, patch))
            },
        )
        .await
    }
}

impl Service for Remote {
    fn requests(&self) -> Requests {
        self.shared.lock().kb.requests
    }

    fn budget_left(&self) -> BudgetLeft {
        BudgetLeft {
            minute_left: 60,
            day_left: 1440,
        }
    }

    async fn wait_for_room(&self, requests: u32, purpose: Purpose) -> Answer<()> {
        if death::came() {
            return Ok(());
        }
        self.purse
            .wait_for_room(&self.shared, requests, purpose)
            .await
    }
}
