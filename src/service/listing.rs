//! Lists a workspace or a category as a stream, so that memory does not grow with the bodies.
//!
//! A listing is complete only if every page was read to its end, no id came twice, and the number of entries is the
//! number that the service named. Any other listing is an error, even if entries were passed on before. An unreadable
//! entry is passed on as unknown, and the other entries are kept (failures rows 39 and 128).

use super::{
    Answer, ErrorKind, ListEnd, ListRequest, Listed, Purpose, RemoteCategory, ServiceError,
    Validator,
    answer::{self, Verdict},
    client::{Call, Client},
    entry_reader::EntryReader,
    origin::Origin,
    paging::{self, Next, Page},
    reading::header,
    splitter::Splitter,
    splitter_types::{Caps, Envelope, Path, SplitError},
    wire::{self, WireCategory},
};
use crate::model::{CategoryId, WorkspaceId};
use reqwest::{
    Method, Response, Url,
    header::{CONTENT_TYPE, ETAG, LINK},
};
use std::collections::HashSet;

/// The share of a day's requests that the pages of one listing may take. With more, a few polls would spend the day.
const SHARE: u32 = 4;
/// This many pages are read in any case.
const FEW_PAGES: u64 = 10;
/// With more pages than this, the pages lead in a circle, or the workspace is far too large.
const MOST_PAGES: u64 = 2000;
/// The most bytes around the articles.
const ENVELOPE_BYTES: usize = 16 * 1024 * 1024;

/// One answer that was read to its end.
struct Whole {
    envelope: Envelope,
    validator: Option<Validator>,
    /// The address of the next page in a `Link` header.
    linked: Option<String>,
}

impl Client {
    /// Lists a workspace, page by page.
    pub(super) async fn list_workspace(
        &self,
        request: &ListRequest,
        sink: &mut (dyn FnMut(Listed) + Send),
    ) -> Answer<ListEnd> {
        let mut reader = EntryReader::new(sink).with(request.known.as_deref());
        match self.list_pages(request, &mut reader).await {
            Err(error) if reader.progress.entries == 0 && is_missing(&error) => {
                // The 404 may be about the workspace; without a category to read, another program may have answered.
                if error.kind == ErrorKind::NotFound || request.categories.is_empty() {
                    self.fetch_workspace(request.workspace, request.purpose)
                        .await?;
                }
                tracing::info!(%error, "no listing here, reading category by category");
                self.list_categories(request, &mut reader).await
            }
            end => end,
        }
    }

    async fn list_pages(
        &self,
        request: &ListRequest,
        reader: &mut EntryReader<'_>,
    ) -> Answer<ListEnd> {
        let mut call = self.list_call(request);
        let first = call.url.clone();
        let mut visited = HashSet::new();
        let mut total = None;
        loop {
            if !visited.insert(call.url.clone()) {
                return Err(self.void(&call, "the listing's pages lead in a circle"));
            }
            self.check_share(&call, visited.len() as u64)?;
            let Some(whole) = self.stream(&call, paging::LISTING, reader, None).await? else {
                return Ok(ListEnd::NotModified);
            };
            let page = self.read_page(&call, &whole, request.workspace, visited.len())?;
            if total.is_some() && page.total != total {
                return Err(self.void(&call, "the listing changed while it was read"));
            }
            total = page.total;
            self.check_share(&call, visited.len() as u64 + page.left)?;
            // Half a listing is useless.
            if visited.len() == 1 && page.left > 0 {
                let left = u32::try_from(page.left).unwrap_or(u32::MAX);
                self.find_room(&call, left).await?;
            }
            let next = match page.next {
                Next::End => {
                    return self.end(&call, reader, total, whole, visited.len());
                }
                Next::Address(address) => self.follow(&call, &address)?,
                Next::Number(number) => numbered(&first, number),
            };
            call.url = next;
            call.validator = None;
        }
    }

    pub(super) fn list_call<'r>(&self, request: &'r ListRequest) -> Call<'r> {
        let path = format!("api/base/{}/articles", request.workspace);
        Call {
            validator: request.validator.as_ref(),
            ..self.call(Method::GET, &path, request.purpose)
        }
    }

    /// Ends an endless listing long before the day is spent.
    fn check_share(&self, call: &Call<'_>, pages: u64) -> Answer<()> {
        let share = u64::from(self.options.budget.per_day() / SHARE);
        let most = share.clamp(FEW_PAGES, MOST_PAGES);
        if pages <= most {
            return Ok(());
        }
        let why = format!(
            "the listing has more than {most} pages, and each costs a request of the day's budget"
        );
        Err(self.void(call, why))
    }

    fn read_page(
        &self,
        call: &Call<'_>,
        whole: &Whole,
        workspace: WorkspaceId,
        number: usize,
    ) -> Answer<Page> {
        let page = paging::read_page(&whole.envelope, workspace, whole.linked.clone())
            .map_err(|why| self.void(call, why))?;
        if page.current.is_some_and(|current| current != number as u64) {
            return Err(self.void(
                call,
                "the service sent a different page of the listing than requested",
            ));
        }
        Ok(page)
    }

    /// Checks a listing after its last page.
    fn end(
        &self,
        call: &Call<'_>,
        reader: &EntryReader<'_>,
        total: Option<u64>,
        whole: Whole,
        pages: usize,
    ) -> Answer<ListEnd> {
        reader.check().map_err(|why| self.void(call, why))?;
        if let Some(total) = total.filter(|&total| total != reader.progress.entries) {
            let entries = reader.progress.entries;
            let why = format!(
                "{entries} articles came, and the service counts {total}: the listing changed while it was read, or has \
                 more pages in an unknown way"
            );
            return Err(self.void(call, why));
        }
        self.report_accepted();
        Ok(ListEnd::Whole {
            // The validator of the first page says nothing about the other pages.
            validator: whole.validator.filter(|_| pages == 1),
            by_category: false,
        })
    }

    /// Reads the known categories one by one. A category that is gone has no articles; the caller asks for each
    /// article.
    async fn list_categories(
        &self,
        request: &ListRequest,
        reader: &mut EntryReader<'_>,
    ) -> Answer<ListEnd> {
        let call = self.list_call(request);
        let number = u32::try_from(request.categories.len()).unwrap_or(u32::MAX);
        self.find_room(&call, number).await?;
        for &id in &request.categories {
            match self.stream_category(id, request.purpose, reader).await {
                Ok(category) => reader.category(category),
                Err(error) if error.kind == ErrorKind::NotFound => {
                    tracing::warn!(category = %id, "a known category no longer exists");
                }
                Err(error) => return Err(error),
            }
        }
        reader.check().map_err(|why| self.void(&call, why))?;
        self.report_accepted();
        Ok(ListEnd::Whole {
            validator: None,
            by_category: true,
        })
    }

    /// Reads a category, and passes on its articles.
    pub(super) async fn stream_category(
        &self,
        id: CategoryId,
        purpose: Purpose,
        reader: &mut EntryReader<'_>,
    ) -> Answer<RemoteCategory> {
        let call = self.call(Method::GET, &format!("api/category/{id}"), purpose);
        let whole = self
            .until_stopped(
                &call,
                self.stream(&call, paging::CATEGORY, reader, Some(id)),
            )
            .await?
            .ok_or_else(|| self.void(&call, "a 304 to a request without a validator"))?;
        let category = paging::read_category(&whole.envelope)
            .and_then(|mut root| {
                let category = root.get_mut("category").map(serde_json::Value::take);
                let category: WireCategory = wire::one(&category.unwrap_or_default().to_string())
                    .map_err(|error| error.to_string())?;
                category.into_category()
            })
            .map_err(|why| self.void(&call, why))?;
        if category.id != id {
            let why = format!("the answer is about {}, not about {id}", category.id);
            return Err(self.void(&call, why));
        }
        Ok(category)
    }

    /// Reads one answer as a stream; `None` for a 304. If the first answer of a listing breaks off, its entries are void,
    /// and the request is repeated. If a later one breaks off after entries were passed on, the listing fails.
    async fn stream(
        &self,
        call: &Call<'_>,
        paths: &'static [Path],
        reader: &mut EntryReader<'_>,
        owner: Option<CategoryId>,
    ) -> Answer<Option<Whole>> {
        reader.owner = owner;
        let before = reader.progress.entries;
        let mut attempt = 0;
        loop {
            let counted = self.pay(call).await?;
            let error = match self.send(call, counted).await {
                Ok(response) if response.status().as_u16() == 304 => return Ok(None),
                Ok(response) => match self.drain(call, response, paths, reader).await {
                    Ok(whole) => return Ok(Some(whole)),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            if before > 0 && reader.progress.entries > before {
                return Err(error);
            }
            attempt += 1;
            self.pause(call, error, attempt).await?;
            if before == 0 {
                reader.restart();
            }
        }
    }

    async fn drain(
        &self,
        call: &Call<'_>,
        mut response: Response,
        paths: &'static [Path],
        reader: &mut EntryReader<'_>,
    ) -> Answer<Whole> {
        let status = response.status().as_u16();
        let caps = Caps {
            entry: self.options.max_article,
            envelope: ENVELOPE_BYTES,
        };
        let mut splitter = Splitter::new(paths, caps);
        let mut bytes = 0_u64;
        while let Some(chunk) = self
            .await_sign(response.chunk())
            .await
            .map_err(|error| self.broken(call, Some(status), error))?
        {
            if bytes == 0 && answer::is_html(header(response.headers(), &CONTENT_TYPE), &chunk) {
                let verdict = Verdict::web_page();
                return Err(self.failure(call, Some(status), verdict));
            }
            bytes += chunk.len() as u64;
            if bytes > self.options.max_body {
                return Err(self.too_large(call, status));
            }
            splitter
                .feed(&chunk, reader)
                .map_err(|error| self.unsplittable(call, status, error))?;
            if let Some(fault) = reader.fault.take() {
                return Err(self.failure(call, Some(status), Verdict::unreadable(fault)));
            }
        }
        let envelope = splitter
            .finish()
            .map_err(|error| self.unsplittable(call, status, error))?;
        let etag = header(response.headers(), &ETAG).map(str::to_owned);
        let mut links = response.headers().get_all(LINK).iter();
        Ok(Whole {
            envelope,
            linked: links.find_map(|link| paging::linked_next(link.to_str().ok()?)),
            validator: etag.map(|etag| Validator { etag }),
        })
    }

    /// Returns the address of the next page. The address must be below the service's address, because another tenant
    /// may answer below another path of the same host (failures row 132).
    fn follow(&self, call: &Call<'_>, cursor: &str) -> Answer<Url> {
        let mut url = call
            .url
            .join(cursor)
            .map_err(|_| self.void(call, "the listing's next page is not an address"))?;
        url.set_fragment(None);
        // Behind a proxy that terminates TLS, services often write `http` into their own addresses.
        if self.base.scheme() == "https" && url.scheme() == "http" && url.port().is_none() {
            let secured = url.set_scheme("https");
            debug_assert!(secured.is_ok());
        }
        let userinfo = !url.username().is_empty() || url.password().is_some();
        let origin = Origin::of_url(&url);
        let below = url.path().starts_with(self.base.path());
        if origin != *self.origin() || userinfo || !below {
            let place = format!("{}{}", origin.as_str(), url.path());
            let why = format!(
                "the listing's next page is at {}, not at the service",
                answer::shown(&place, 100)
            );
            return Err(self.void(call, why));
        }
        Ok(url)
    }

    fn unsplittable(&self, call: &Call<'_>, status: u16, error: SplitError) -> ServiceError {
        match error {
            SplitError::TooLong => self.too_large(call, status),
            SplitError::BrokenOff { at } => {
                let verdict = Verdict::broken_off(at == 0);
                self.failure(call, Some(status), verdict)
            }
            SplitError::Syntax { .. } | SplitError::TooDeep { .. } => {
                self.failure(call, Some(status), Verdict::unreadable(error.to_string()))
            }
        }
    }
}

/// Returns whether an answer says that the listing endpoint does not exist.
fn is_missing(error: &ServiceError) -> bool {
    matches!(
        (error.status, &error.kind),
        (Some(404), ErrorKind::NotFound | ErrorKind::Unreadable)
            | (Some(405 | 501), ErrorKind::Refused)
    )
}

/// Returns the listing's address with a page number.
fn numbered(first: &Url, number: u64) -> Url {
    let mut url = first.clone();
    url.query_pairs_mut()
        .append_pair("page", &number.to_string());
    url
}
