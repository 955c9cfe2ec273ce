//! Parses a listing from bytes to articles, without a service: for the fuzzer.
//!
//! Splitter, entry reader and paging are those of [`super::client::Client`]; only the transport is left out.

use super::{Listed, entry_reader::EntryReader, paging, splitter::Splitter, splitter_types::Caps};
use crate::model::WorkspaceId;
use uuid::Uuid;

/// The result of one page.
#[derive(Clone, PartialEq, Debug)]
pub struct Read {
    /// Every entry, in its debug form.
    pub entries: Vec<String>,
    /// The envelope, in its debug form.
    pub page: String,
    /// Whether every entry was an article.
    pub all_articles: bool,
}

/// Parses one page that arrives in these chunks.
///
/// # Errors
///
/// The reason why the page is no listing.
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
    let mut reader = EntryReader::new(&mut sink);
    let mut splitter = Splitter::new(paging::LISTING, caps);
    for piece in pieces {
        splitter
            .feed(piece, &mut reader)
            .map_err(|error| error.to_string())?;
        if let Some(fault) = reader.fault.take() {
            return Err(fault);
        }
    }
    let envelope = splitter.finish().map_err(|error| error.to_string())?;
    let page = paging::read_page(&envelope, WorkspaceId::new(Uuid::nil()), None)?;
    reader.check()?;
    Ok(Read {
        entries,
        page: format!("{page:?}"),
        all_articles,
    })
}
