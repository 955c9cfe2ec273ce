//! Listings: how the bytes arrive does not matter, and what is not JSON is no listing.

use kbsync::service::fuzz_entry::read_listing;

/// One page, whole and in pieces.
pub(crate) fn hold(bytes: &[u8]) {
    let whole = read_listing(&[bytes]);
    let singly: Vec<&[u8]> = bytes.chunks(1).collect();
    let halves = bytes.split_at(bytes.len() / 2);
    let sevens: Vec<&[u8]> = bytes.chunks(7).collect();
    for pieces in [&singly[..], &[halves.0, halves.1], &sevens[..]] {
        let read = read_listing(pieces);
        match (&whole, &read) {
            (Ok(one), Ok(other)) => assert_eq!(one, other, "in {} pieces", pieces.len()),
            // Which of two faults is told first may depend on where the pieces end.
            (Err(_), Err(_)) => {}
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => {
                panic!("in {} pieces: {read:?}, whole: {whole:?}", pieces.len())
            }
        }
    }
    if let Ok(read) = &whole
        && read.all_articles
    {
        let json: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
        if let Err(error) = json {
            panic!("not JSON ({error}), and read as {read:?}");
        }
    }
}
