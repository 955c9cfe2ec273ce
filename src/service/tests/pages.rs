//! The envelope of a listing.

use super::super::{
    paging::{LISTING, Next, Page, linked_next, read_page},
    splitter::Splitter,
    splitter_types::{Caps, Entry},
};
use super::workspace_id;

fn read(document: &str) -> Result<Page, String> {
    let caps = Caps {
        entry: 4096,
        envelope: 4096,
    };
    let mut splitter = Splitter::new(LISTING, caps);
    splitter
        .feed(document.as_bytes(), &mut |_: &Entry<'_>| {})
        .map_err(|error| error.to_string())?;
    let envelope = splitter.finish().map_err(|error| error.to_string())?;
    read_page(&envelope, workspace_id(), None)
}

#[test]
fn where_a_listing_goes_on() {
    let address = |text: &str| Next::Address(text.to_owned());
    let cases = [
        ("", Next::End),
        (r#","next_page_url":null"#, Next::End),
        (r#","next_page_url":"""#, Next::End),
        (r#","next_page_url":"/x?page=2""#, address("/x?page=2")),
        (r#","links":{"next":"?page=2"}"#, address("?page=2")),
        (r#","links":{"next":null}"#, Next::End),
        (r#","links":[{"url":"x","label":"1"}]"#, Next::End),
        (
            r#","meta":{"current_page":1,"last_page":3}"#,
            Next::Number(2),
        ),
        (r#","meta":{"current_page":3,"last_page":3}"#, Next::End),
        (r#","meta":{"last_page":2}"#, Next::Number(2)),
        (r#","current_page":2,"last_page":3"#, Next::Number(3)),
        (
            r#","meta":{"has_more":false,"next_cursor":null}"#,
            Next::End,
        ),
        (r#","meta":{"pagination":{"links":{}}}"#, Next::End),
        (
            r#","meta":{"current_page":"1","last_page":"3","total":"25"}"#,
            Next::Number(2),
        ),
        (
            r#","meta":{"pagination":{"current_page":1,"total_pages":3,"links":{"next":"?page=2"}}}"#,
            address("?page=2"),
        ),
        (r#","meta":{"page":{"totalPages":2}}"#, Next::Number(2)),
        (
            r#","_links":{"next":{"href":"?page=2"}}"#,
            address("?page=2"),
        ),
        (r#","_links":{"next":{"href":null}}"#, Next::End),
        // These objects are no pagers.
        (
            r#","user":{"stats":{"total":5,"has_more":true}}"#,
            Next::End,
        ),
        (
            r#","base":{"total":7,"next":"a"},"category":{"last_page":7}"#,
            Next::End,
        ),
    ];
    for (paging, next) in cases {
        let document = format!(r#"{{"success":true,"articles":[]{paging}}}"#);
        assert_eq!(read(&document).expect(&document).next, next, "{document}");
    }
    let page =
        read(r#"{"success":true,"data":{"current_page":1,"data":[],"last_page":4,"total":9}}"#);
    assert_eq!(
        page,
        Ok(Page {
            next: Next::Number(2),
            total: Some(9),
            current: Some(1),
            left: 3,
        })
    );
}

#[test]
fn a_link_header_names_the_next_page() {
    for (header, next) in [
        (
            r#"<https://kb.test/a?page=2>; rel="next""#,
            Some("https://kb.test/a?page=2"),
        ),
        (
            r#"<?page=1>; rel="prev", <?page=3,4>; title="x"; rel='last next'"#,
            Some("?page=3,4"),
        ),
        ("<?page=2>; rel=next", Some("?page=2")),
        (
            r#"<?page=2>; rel="prev nextish", <?page=9>; title="next""#,
            None,
        ),
        ("", None),
    ] {
        assert_eq!(linked_next(header).as_deref(), next, "{header}");
    }
}

#[test]
fn more_in_an_unknown_way_is_an_error() {
    for paging in [
        r#""has_more":true"#,
        r#""meta":{"next_cursor":"abc"}"#,
        r#""next":"abc""#,
        r#""next_page":2"#,
        r#""next_page_url":7"#,
        r#""links":{"next":{}}"#,
    ] {
        let document = format!(r#"{{"success":true,"articles":[],{paging}}}"#);
        assert!(read(&document).is_err(), "{document}");
    }
}

#[test]
fn f018_a_shape_that_is_not_known_names_its_keys_and_is_never_empty() {
    let cases = [
        (r#"{"success":true}"#, "success"),
        (r#"{"success":true,"items":[]}"#, "items[]"),
        (r#"{"success":true,"result":{"rows":[]}}"#, "result{rows}"),
        (
            r#"{"success":true,"articles":{"0":{},"2":{}}}"#,
            "articles{0, 2}",
        ),
        (r#"{"success":true,"articles":null}"#, "articles"),
        (r#"{"success":true,"base":[]}"#, "base[]"),
        (
            r#"{"success":true,"categories":[{"id":"x"}]}"#,
            "categories[]",
        ),
        (
            r#"{"success":true,"categories":[{"articles":[]},{"articles":null}]}"#,
            "categories[]",
        ),
        (r#"{"success":false,"articles":[]}"#, "success: true"),
        (
            r#"{"success":false,"message":"too bad","articles":[]}"#,
            "success: true: too bad; it has the keys",
        ),
        (r#"{"articles":[]}"#, "success: true"),
    ];
    for (document, named) in cases {
        let error = read(document).expect_err(document);
        assert!(error.contains(named), "{document}: {error}");
    }
    for empty in [
        r#"{"success":true,"articles":[]}"#,
        r#"{"success":true,"data":[]}"#,
        r#"{"success":true,"base":{"articles":[]}}"#,
        r#"{"success":true,"base":[{"articles":[]}]}"#,
        r#"{"success":true,"data":{"data":[]}}"#,
        r#"{"success":true,"categories":[]}"#,
        r#"{"success":true,"categories":[{"articles":[]}]}"#,
    ] {
        assert_eq!(read(empty).map(|page| page.next), Ok(Next::End), "{empty}");
    }
}

#[test]
fn f049_another_workspace_is_not_taken() {
    let other = "b0000000-0000-4000-8000-000000000002";
    for document in [
        format!(r#"{{"success":true,"base":{{"articles":[],"id":"{other}"}}}}"#),
        format!(r#"{{"success":true,"base":[{{"id":"{other}","articles":[]}}]}}"#),
        format!(r#"{{"success":true,"base":[{{"id":"{other}"}}],"articles":[]}}"#),
    ] {
        assert!(read(&document).is_err(), "{document}");
    }
    let ours = workspace_id();
    let document = format!(r#"{{"success":true,"base":[{{"id":"{ours}","articles":[]}}]}}"#);
    assert!(read(&document).is_ok());
}
