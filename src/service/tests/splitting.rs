//! The splitter against the JSON parser.

use super::super::{
    paging::LISTING,
    splitter::Splitter,
    splitter_types::{Caps, Entry, Envelope, Sink, SplitError},
};
use proptest::prelude::*;
use serde_json::{Value, json};

const CAPS: Caps = Caps {
    entry: 4096,
    envelope: 4096,
};

struct Split {
    entries: Vec<Vec<u8>>,
    over: Vec<Option<&'static str>>,
    owners: Vec<Option<String>>,
    envelope: Envelope,
}

/// Splits a document that comes in pieces, cut at these places.
fn split(document: &[u8], cuts: &[usize]) -> Result<Split, SplitError> {
    let mut splitter = Splitter::new(LISTING, CAPS);
    let (mut entries, mut over, mut owners) = (vec![], vec![], vec![]);
    let mut take = |entry: &Entry<'_>| {
        entries.push(entry.bytes.to_vec());
        over.push(entry.over);
        owners.push(
            entry
                .owner
                .map(|id| String::from_utf8_lossy(id).into_owned()),
        );
    };
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (document.len() + 1)).collect();
    places.push(document.len());
    places.sort_unstable();
    let mut from = 0;
    for to in places {
        splitter.feed(&document[from..to], &mut take)?;
        from = to;
    }
    let envelope = splitter.finish()?;
    Ok(Split {
        entries,
        over,
        owners,
        envelope,
    })
}

fn values(split: &Split) -> Vec<Value> {
    split
        .entries
        .iter()
        .map(|bytes| serde_json::from_slice(bytes).expect("JSON"))
        .collect()
}

#[test]
fn entries_are_cut_out_and_the_rest_is_kept() {
    let document = br#" { "success" : true, "articles": [ {"a":"]},{\"\\"} , 7,"x" , null, [1,[2]] ], "meta":{"n":[1,2]} } "#;
    for cut in 0..document.len() {
        let split = split(document, &[cut, cut + 1]).expect("a document");
        assert_eq!(
            values(&split),
            [
                json!({"a": "]},{\"\\"}),
                json!(7),
                json!("x"),
                json!(null),
                json!([1, [2]])
            ]
        );
        let envelope: Value = serde_json::from_slice(&split.envelope.json).expect("JSON");
        assert_eq!(
            envelope,
            json!({"success": true, "articles": [], "meta": {"n": [1, 2]}})
        );
    }
}

#[test]
fn only_known_places_are_cut_and_owners_are_named() {
    let document = br#"{"other":{"articles":[1]},"id":"root","categories":[{"id":"c1","articles":[1]},{"articles":[2],"id":"c2"}],"articles":[3]}"#;
    let split = split(document, &[]).expect("a document");
    assert_eq!(values(&split), [json!(1), json!(2), json!(3)]);
    assert_eq!(split.owners, [Some("c1".to_owned()), None, None]);
    assert_eq!(split.envelope.arrays.iter().sum::<usize>(), 3);
}

#[test]
fn f020_a_document_that_breaks_off_anywhere_is_refused() {
    let document = br#"{"success":true,"data":{"data":[{"a":"b\n"},12],"x":1.5}}"#;
    assert!(split(document, &[]).is_ok());
    for end in 0..document.len() {
        assert!(split(&document[..end], &[]).is_err(), "{end}");
    }
}

#[test]
fn what_is_no_json_is_refused() {
    for document in [
        "",
        "[]",
        "7",
        "\"x\"",
        "{}}",
        "{} {}",
        "{]",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        "{,}",
        r#"{"articles":[1,]}"#,
        r#"{"articles":[,1]}"#,
        r#"{"articles":[1 2]}"#,
        r#"{"articles":[1}}"#,
        r#"{"articles":[}"#,
        r#"{"a":[1,2}"#,
        "{a:1}",
        "<html>",
    ] {
        assert!(split(document.as_bytes(), &[]).is_err(), "{document}");
    }
}

#[test]
fn f128_a_giant_is_cut_short_and_leaves_the_rest_alone() {
    let giant = format!(r#"{{"id":"g","text":"{}"}}"#, "x".repeat(200_000));
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let document = format!(r#"{{"articles":[1,{giant},{deep},2]}}"#);
    for cuts in [vec![], vec![100, 5000, 70_000]] {
        let split = split(document.as_bytes(), &cuts).expect("a document");
        assert_eq!(split.over.iter().filter(|over| over.is_some()).count(), 2);
        assert!(split.entries[1].len() <= 64 * 1024);
        assert!(split.entries[1].starts_with(br#"{"id":"g""#));
        assert_eq!(split.entries[3], b"2");
    }
}

#[test]
fn f128_what_is_around_the_entries_is_bounded() {
    let long = format!(r#"{{"x":"{}"}}"#, "y".repeat(5000));
    assert_eq!(split(long.as_bytes(), &[]).err(), Some(SplitError::TooLong));
    let deep = format!(r#"{{"x":{}"#, "[".repeat(1000));
    assert!(matches!(
        split(deep.as_bytes(), &[]).err(),
        Some(SplitError::TooDeep { .. })
    ));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[\\PC\"\\\\\n{}\\[\\],:]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-d\"\\\\]{0,3}", inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_splitter_agrees_with_the_parser(
        entries in prop::collection::vec(any_json(), 0..8),
        around in any_json(),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
        pretty: bool,
    ) {
        let document = json!({"aaa": around, "success": true, "articles": entries, "zzz": around});
        let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
        let split = split(text.expect("text").as_bytes(), &cuts).expect("a document");
        prop_assert_eq!(values(&split), entries);
        let mut envelope = document;
        envelope["articles"] = json!([]);
        let envelope_read: Value = serde_json::from_slice(&split.envelope.json).expect("JSON");
        prop_assert_eq!(envelope_read, envelope);
    }

    #[test]
    fn any_bytes_are_split_or_refused_alike_however_they_come(
        bytes in prop::collection::vec(prop::sample::select(br#"{}[]",:\ 1ntarticles"#.to_vec()), 0..60),
        cuts in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let mut document = br#"{"articles":["#.to_vec();
        document.extend(bytes);
        let whole = split(&document, &[]).map(|split| split.entries);
        let pieces = split(&document, &cuts).map(|split| split.entries);
        prop_assert_eq!(whole.is_ok(), pieces.is_ok());
        if let (Ok(whole), Ok(pieces)) = (whole, pieces) {
            prop_assert_eq!(whole, pieces);
        }
    }
}

/// Recognises a known entry at the start of the bytes.
struct Due<'a> {
    due: &'a [u8],
    entries: Vec<(Vec<u8>, bool)>,
}

impl<F: FnMut(&Entry<'_>)> Sink for F {
    fn take(&mut self, entry: &Entry<'_>) {
        self(entry);
    }

    fn take_known(&mut self, _bytes: &[u8], _owner: Option<&[u8]>) -> Option<usize> {
        None
    }
}

impl Sink for Due<'_> {
    fn take(&mut self, entry: &Entry<'_>) {
        self.entries.push((entry.bytes.to_vec(), false));
    }

    fn take_known(&mut self, bytes: &[u8], _owner: Option<&[u8]>) -> Option<usize> {
        let met = bytes.starts_with(self.due);
        met.then(|| {
            self.entries.push((self.due.to_vec(), true));
            self.due.len()
        })
    }
}

#[test]
fn an_entry_that_is_due_is_reported_where_it_comes_in_one_piece() {
    let document = br#"{"articles":[{"a":"]},{"},{"b":2} , {"a":"]},{"}],"n":1}"#;
    let due: &[u8] = br#"{"a":"]},{"}"#;
    let met = document.windows(due.len()).filter(|bytes| *bytes == due);
    assert_eq!(met.count(), 2);
    for cut in 0..document.len() {
        let mut sink = Due {
            due,
            entries: Vec::new(),
        };
        let mut splitter = Splitter::new(LISTING, CAPS);
        let (one, two) = document.split_at(cut);
        splitter.feed(one, &mut sink).expect("a document");
        splitter.feed(two, &mut sink).expect("a document");
        let envelope = splitter.finish().expect("whole");
        assert_eq!(envelope.json, br#"{"articles":[],"n":1}"#);
        let bytes: Vec<&[u8]> = sink.entries.iter().map(|(bytes, _)| &bytes[..]).collect();
        assert_eq!(bytes, [due, br#"{"b":2}"#, due], "cut at {cut}");
        let in_pieces = |at: usize| cut > at && cut < at + due.len();
        let met: Vec<bool> = sink.entries.iter().map(|(_, met)| *met).collect();
        assert_eq!(met, [!in_pieces(13), false, !in_pieces(36)], "cut at {cut}");
    }
}
