//! The way of a listing from bytes to articles, without a service: for the fuzzer.
//!
//! It is the same splitter, harvest and paging that a [`super::client::Client`] uses; only the transport is left out.

use super::{Listed, harvest::Harvest, paging, pieces::Caps, splitter::Splitter};
use crate::model::WorkspaceId;
use uuid::Uuid;

/// What one page of a listing was read as.
#[derive(Clone, PartialEq, Debug)]
pub struct Read {
    /// Every entry, in its debug form.
    pub entries: Vec<String>,
    /// What the envelope said, in its debug form.
    pub page: String,
    /// Whether every entry was an article.
    pub all_articles: bool,
}

/// Reads one page that arrives in these pieces.
///
/// # Errors
///
/// Why it is no listing, in words.
pub fn read_listing(pieces: &[&[u8]]) -> Result<Read, String> {
    let caps = Caps {
        entry: 1 << 20,
        envelope: 1 << 20,
    };
    let (mut entries, mut all_articles) = (Vec::new(), true);
    let mut sink = |listed: Listed| {
        all_articles &= matches!(listed, Listed::Article(_));
        entries.push(format!("{listed:?}"));
    };
    let mut harvest = Harvest::new(&mut sink);
    let mut splitter = Splitter::new(paging::LISTING, caps);
    for piece in pieces {
        splitter
            .feed(piece, &mut harvest)
            .map_err(|error| error.to_string())?;
        if let Some(fault) = harvest.fault.take() {
            return Err(fault);
        }
    }
    let envelope = splitter.finish().map_err(|error| error.to_string())?;
    let page = paging::read_page(&envelope, WorkspaceId::new(Uuid::nil()), false)?;
    harvest.check()?;
    Ok(Read {
        entries,
        page: format!("{page:?}"),
        all_articles,
    })
}
