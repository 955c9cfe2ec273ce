//! The endpoints: one method each (`docs/api.md`, A4).
//!
//! An answer about another object than the requested one is unreadable.

use super::{
    Answer, ArticlePatch, CategoryPatch, ListEnd, ListRequest, Listed, NewArticle, NewCategory,
    Purpose, RemoteArticle, RemoteCategory, ServiceError, ServiceRead, ServiceWrite, Workspace,
    answer::shown,
    client::{Call, Client},
    entry_reader::EntryReader,
    wire::{self, BasesAnswer, Shown, WireArticle, WireBase, WireCategory},
};
use crate::model::{ArticleId, CategoryId, WorkspaceId};
use reqwest::{Method, Url};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use std::{collections::HashMap, fmt::Display};

impl ServiceRead for Client {
    async fn workspaces(&self) -> Answer<Vec<Workspace>> {
        let call = self.call(Method::GET, "api/bases", Purpose::Push);
        let body = self.ask(&call).await?;
        let answer: BasesAnswer = self.parsed(&call, &body)?;
        let mut workspaces: Vec<Workspace> = Vec::new();
        for base in answer.bases {
            let workspace = base.into_workspace().map_err(|why| self.void(&call, why))?;
            // A workspace that is listed twice is one workspace.
            if !workspaces.contains(&workspace) {
                workspaces.push(workspace);
            }
        }
        Ok(workspaces)
    }

    async fn workspace(&self, id: WorkspaceId) -> Answer<Workspace> {
        self.fetch_workspace(id, Purpose::Push).await
    }

    async fn category(
        &self,
        id: CategoryId,
        purpose: Purpose,
    ) -> Answer<(RemoteCategory, Vec<Listed>)> {
        let mut listed = Vec::new();
        let mut sink = |entry| {
            if let Listed::Restart = entry {
                listed.clear();
            } else {
                listed.push(entry);
            }
        };
        let mut reader = EntryReader::new(&mut sink);
        let category = self.stream_category(id, purpose, &mut reader).await?;
        Ok((category, listed))
    }

    async fn article(&self, id: ArticleId, purpose: Purpose) -> Answer<RemoteArticle> {
        let call = self.call(Method::GET, &format!("api/article/{id}"), purpose);
        self.one_article(&call, Some(id)).await
    }

    async fn list(
        &self,
        request: &ListRequest,
        sink: &mut (dyn FnMut(Listed) + Send),
    ) -> Answer<ListEnd> {
        let call = self.list_call(request);
        self.until_stopped(&call, self.list_workspace(request, sink))
            .await
    }
}

impl ServiceWrite for Client {
    async fn create_article(&self, new: &NewArticle) -> Answer<RemoteArticle> {
        let call = self.call_with(Method::POST, "api/article", Purpose::Push, new);
        self.one_article(&call, None).await
    }

    async fn update_article(&self, id: ArticleId, patch: &ArticlePatch) -> Answer<RemoteArticle> {
        self.put_article(id, patch, Purpose::Push, true).await
    }

    async fn probe(&self, id: ArticleId, purpose: Purpose) -> Answer<RemoteArticle> {
        self.put_article(id, &ArticlePatch::default(), purpose, false)
            .await
    }

    async fn delete_article(&self, id: ArticleId) -> Answer<()> {
        let call = Call {
            guarded: true,
            ..self.call(Method::DELETE, &format!("api/article/{id}"), Purpose::Push)
        };
        // `success: true` was checked; the message says nothing more.
        self.ask(&call).await.map(drop)
    }

    async fn create_category(&self, new: &NewCategory) -> Answer<RemoteCategory> {
        let call = self.call_with(Method::POST, "api/category", Purpose::Push, new);
        self.one_category(&call, None).await
    }

    async fn update_category(
        &self,
        id: CategoryId,
        patch: &CategoryPatch,
    ) -> Answer<RemoteCategory> {
        let call = Call {
            guarded: true,
            ..self.call_with(
                Method::PUT,
                &format!("api/category/{id}"),
                Purpose::Push,
                patch,
            )
        };
        self.one_category(&call, Some(id)).await
    }
}

impl Client {
    /// `GET /api/base/{id}`.
    pub(super) async fn fetch_workspace(
        &self,
        id: WorkspaceId,
        purpose: Purpose,
    ) -> Answer<Workspace> {
        let call = self.call(Method::GET, &format!("api/base/{id}"), purpose);
        let read = |base: WireBase| about(Some(id), base.into_workspace()?, |base| base.id);
        self.one(&call, "base", read).await
    }

    /// Returns an address below the base address.
    pub(super) fn address(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path()));
        url
    }

    async fn put_article(
        &self,
        id: ArticleId,
        body: &ArticlePatch,
        purpose: Purpose,
        guarded: bool,
    ) -> Answer<RemoteArticle> {
        let call = Call {
            guarded,
            ..self.call_with(Method::PUT, &format!("api/article/{id}"), purpose, body)
        };
        self.one_article(&call, Some(id)).await
    }

    /// A request without a body.
    pub(super) fn call<'v>(&self, method: Method, path: &str, purpose: Purpose) -> Call<'v> {
        Call {
            method,
            url: self.address(path),
            body: None,
            purpose,
            validator: None,
            guarded: false,
        }
    }

    /// A request with a body.
    fn call_with<'v>(
        &self,
        method: Method,
        path: &str,
        purpose: Purpose,
        body: &impl Serialize,
    ) -> Call<'v> {
        let body = serde_json::to_vec(body).expect("texts, ids and flags can be written as JSON");
        Call {
            body: Some(body),
            ..self.call(method, path, purpose)
        }
    }

    async fn one_article(
        &self,
        call: &Call<'_>,
        asked: Option<ArticleId>,
    ) -> Answer<RemoteArticle> {
        let read = |article: WireArticle| {
            let article = article.into_article(Shown::Alone, None)?;
            about(asked, article, |article| article.id)
        };
        self.one(call, "article", read).await
    }

    async fn one_category(
        &self,
        call: &Call<'_>,
        asked: Option<CategoryId>,
    ) -> Answer<RemoteCategory> {
        let read = |category: WireCategory| {
            about(asked, category.into_category()?, |category| category.id)
        };
        self.one(call, "category", read).await
    }

    /// Reads the object under a key of an answer. The object may be in an array of one, as in A4.2.
    async fn one<W: DeserializeOwned, T>(
        &self,
        call: &Call<'_>,
        key: &str,
        read: impl FnOnce(W) -> Result<T, String>,
    ) -> Answer<T> {
        let body = self.ask(call).await?;
        let fields: HashMap<String, &RawValue> = self.parsed(call, &body)?;
        let object = fields
            .get(key)
            .ok_or_else(|| self.void(call, format!("it has no {key}")))?;
        let object = wire::one(object.get()).map_err(|error| self.unparsed(call, &error))?;
        read(object).map_err(|why| self.void(call, why))
    }

    fn parsed<'b, T: Deserialize<'b>>(&self, call: &Call<'_>, body: &'b [u8]) -> Answer<T> {
        serde_json::from_slice(body).map_err(|error| self.unparsed(call, &error))
    }

    fn unparsed(&self, call: &Call<'_>, error: &serde_json::Error) -> ServiceError {
        self.void(call, shown(&error.to_string(), 200))
    }
}

/// Returns the object of an answer, if it is the one that was asked for. `None`: any object.
fn about<T, Id: PartialEq + Display>(
    asked: Option<Id>,
    got: T,
    id: fn(&T) -> Id,
) -> Result<T, String> {
    match asked {
        Some(asked) if id(&got) != asked => {
            let got = id(&got);
            Err(format!("the answer is about {got}, not about {asked}"))
        }
        Some(_) | None => Ok(got),
    }
}
