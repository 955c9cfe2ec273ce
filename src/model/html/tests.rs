//! The scanner against an HTML parser as an oracle, units and balance.

use super::*;
use html5ever::{
    tendril::StrTendril,
    tokenizer::{
        BufferQueue, TagKind, Token as TheirToken, TokenSink, TokenSinkResult, Tokenizer,
        TokenizerOpts, states,
    },
};
use proptest::prelude::*;
use std::cell::RefCell;

/// Pieces that make markup, good and bad.
const PIECES: &[&str] = &[
    "<p>",
    "</p>",
    "<P class=x>",
    "<li>",
    "</li>",
    "<ul>",
    "</ul>",
    "<b>",
    "</b>",
    "<br>",
    "<br/>",
    "<hr>",
    "<div>",
    "</div>",
    "<a href=\"x>y\">",
    "</a>",
    "<img src='a.png'>",
    "text",
    " ",
    "\n",
    "\r\n",
    "  ",
    "ü",
    "<",
    ">",
    "&amp;",
    "<!-- c -->",
    "<!--",
    "-->",
    "<!-->",
    "<!doctype html>",
    "</",
    "</ p>",
    "<?x?>",
    "<script>",
    "</script>",
    "if (a<b)",
    "<textarea>",
    "</TEXTAREA >",
    "<a b='",
    "\"",
    "'",
    "=",
    "/",
    "<svg>",
    "<title/>",
    "</svg>",
    "<pre>",
    "</pre>",
    "<td>",
    "</td>",
    "<table>",
    "</table>",
];

fn markup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn tokens_and_units_tile_any_text(text in prop_oneof![markup(), any::<String>()]) {
        let mut at = 0;
        for token in tokens(&text) {
            prop_assert_eq!(token.start, at);
            prop_assert!(!token.source.is_empty());
            at = token.end();
        }
        prop_assert_eq!(at, text.len());
        let units = units(&text);
        prop_assert_eq!(units.concat(), text.clone());
        prop_assert!(units.iter().all(|unit| !unit.is_empty()));
    }

    #[test]
    fn no_unit_ends_within_a_tag_or_a_comment(text in markup()) {
        let mut cuts = std::collections::BTreeSet::new();
        let mut at = 0;
        for unit in units(&text) {
            at += unit.len();
            cuts.insert(at);
        }
        for token in tokens(&text) {
            if !matches!(token.kind, Kind::Text | Kind::RawText) {
                let inside = cuts.range(token.start + 1..token.end()).next();
                prop_assert_eq!(inside, None, "{:?}", token);
            }
        }
    }

    #[test]
    fn names_and_attributes_are_those_that_browsers_read(text in markup()) {
        // In drawings, a browser's tokenizer needs the tree to know which content is raw.
        prop_assume!(!text.contains("<svg>"));
        // In scripts, the standard lets an apparent comment hide an end tag; kbsync does not follow.
        prop_assume!(!(text.contains("<script>") && text.contains("<!--")));
        prop_assert_eq!(our_tags(&text), their_tags(&text), "{}", text);
    }

    #[test]
    fn nothing_shrinks_by_itself(text in any::<String>(), markup in markup()) {
        prop_assert_eq!(shrank(&text, &text), None);
        prop_assert_eq!(shrank(&markup, &markup), None);
        prop_assert_eq!(shrank(&markup, &format!("<p>{markup}")), None);
    }

    #[test]
    fn any_text_can_be_judged(text in markup()) {
        let balance = balance(&text);
        prop_assert_eq!(balance.worse_than(&balance, &balance), None);
        prop_assert!(decoded(&text).len() <= 3 * text.len());
        prop_assert!(references(&text).chain(images_without_alt(&text)).all(|found| found.start < text.len()));
    }
}

/// The name, whether the tag is an end tag, and the attributes.
type TagWords = (String, bool, Vec<(String, String)>);

fn our_tags(text: &str) -> Vec<TagWords> {
    let mut tags = Vec::new();
    for token in tokens(text) {
        let (name, end) = match token.kind {
            Kind::Open(name) | Kind::SelfClosing(name) => (name, false),
            Kind::Close(name) => (name, true),
            Kind::Text | Kind::RawText | Kind::Comment | Kind::Unfinished => continue,
        };
        let mut attributes: Vec<(String, String)> = Vec::new();
        for attribute in token.attributes() {
            let name = attribute.name.to_ascii_lowercase();
            if attributes.iter().all(|(other, _)| *other != name) {
                attributes.push((
                    name,
                    attribute.value.replace("\r\n", "\n").replace("&amp;", "&"),
                ));
            }
        }
        tags.push((name.lower().into_owned(), end, attributes));
    }
    tags
}

struct Sink(RefCell<Vec<TagWords>>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: TheirToken, _line: u64) -> TokenSinkResult<()> {
        let TheirToken::TagToken(tag) = token else {
            return TokenSinkResult::Continue;
        };
        let attributes = if tag.kind == TagKind::EndTag {
            Vec::new()
        } else {
            tag.attrs
        };
        let attributes = attributes
            .into_iter()
            .map(|attribute| {
                (
                    attribute.name.local.to_string(),
                    attribute.value.to_string(),
                )
            })
            .collect();
        let end = tag.kind == TagKind::EndTag;
        self.0
            .borrow_mut()
            .push((tag.name.to_string(), end, attributes));
        match (&*tag.name, end) {
            ("script", false) => TokenSinkResult::RawData(states::ScriptData),
            ("textarea" | "title", false) => TokenSinkResult::RawData(states::Rcdata),
            ("style" | "iframe" | "xmp", false) => TokenSinkResult::RawData(states::Rawtext),
            _ => TokenSinkResult::Continue,
        }
    }
}

fn their_tags(text: &str) -> Vec<TagWords> {
    let tokenizer = Tokenizer::new(Sink(RefCell::default()), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(text));
    drop(tokenizer.feed(&input));
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

#[test]
fn tags_that_look_alike_are_distinguished() {
    for text in [
        "<p title=it's>x</p>",
        "<a href=a/b/>x</a>",
        "<br/><br /><img src=\"a>b\" alt='\"'>",
        "<a \"foo>x</a>",
        "<a =b=c>x",
        "a < b <3 & <b>c</b>",
        "<a href='x' HREF='y'>",
        "<textarea><p></textarea><p>",
        "<script>\"</scripty>\"</SCRIPT\n><p>",
        "<!--><p><!---><p><!-- --!><p><!-- -- ><p>-->",
        "<!doctype html><p></><p></ x><p><?php ?><p>",
        "<a\nhref = x\n>",
        "<p",
        "<p a='x",
        "</",
        "<h1/>x</h1>",
    ] {
        assert_eq!(our_tags(text), their_tags(text), "{text}");
    }
}

#[test]
fn units_are_lines_and_blocks() {
    let rows: &[(&str, &[&str])] = &[
        ("", &[]),
        ("<p>a</p><p>b</p>", &["<p>a</p>", "<p>b</p>"]),
        (
            "<p>a</p>\n<p>b</p>\n",
            &["<p>a</p>", "\n", "<p>b</p>", "\n"],
        ),
        ("a\n\n b  \nc", &["a", "\n", "\n", " b", "  \n", "c"]),
        ("a\r\nb", &["a", "\r\n", "b"]),
        (
            "<ul><li>a</li><li>b</li></ul>",
            &["<ul>", "<li>a</li>", "<li>b</li>", "</ul>"],
        ),
        (
            "<ul>\n  <li>a</li>\n</ul>",
            &["<ul>", "\n", "  <li>a</li>", "\n", "</ul>"],
        ),
        ("<p>a<br>b<br/>c</p>", &["<p>a<br>", "b<br/>", "c</p>"]),
        (
            "a <b>b</b> c<h2>d</h2>e<hr>f",
            &["a <b>b</b> c", "<h2>d</h2>", "e", "<hr>", "f"],
        ),
        ("text <p>a</p> tail", &["text", " <p>a</p>", " tail"]),
        (
            "<P\nclass='a\nb'>x<!--\n<p>\n--></P>y",
            &["<P\nclass='a\nb'>x<!--\n<p>\n--></P>", "y"],
        ),
        (
            "<script>\nif (a<p>b)\n</script>",
            &["<script>", "\n", "if (a<p>b)", "\n", "</script>"],
        ),
        ("<a href='<p>'>x</a>", &["<a href='<p>'>x</a>"]),
        ("<p>a</p><p title='", &["<p>a</p>", "<p title='"]),
    ];
    for (text, expected) in rows {
        assert_eq!(units(text), *expected, "{text:?}");
    }
}

/// Formats a balance as the names of its faults.
fn complaints(text: &str) -> String {
    let balance = balance(text);
    let names = |tags: &[Tag<'_>], sign: &str| {
        let names = tags
            .iter()
            .map(|tag| format!("{sign}{}@{}", tag.name, tag.start));
        names.collect::<Vec<_>>()
    };
    let mut all = names(&balance.unclosed, "+");
    all.extend(names(&balance.stray, "-"));
    all.extend(names(&balance.implied, "?"));
    all.extend(balance.unfinished.map(|start| format!("!{start}")));
    all.join(" ")
}

#[test]
fn tags_are_paired_as_an_author_would() {
    for (text, expected) in [
        ("<p>a<br>b<img src=x></p><hr/>", ""),
        ("<div><p>a</div>", "?p@5"),
        ("<div>", "+div@0"),
        ("</div>", "-div@0"),
        ("<ul><li>a<li>b</ul>", "?li@4 ?li@9"),
        ("<ul><li>a<ul><li>b</li></ul></li></ul>", ""),
        ("<p>a<p>b</p>", "?p@0"),
        ("<p><div>a</div></p>", ""),
        ("<p>a<div><p>b</p></div></p>", ""),
        ("<b><i>a</b></i>", "+i@3 -i@11"),
        (
            "<table><tr><td>a<td>b<tr><td>c</table>",
            "?tr@7 ?td@11 ?td@16 ?tr@21 ?td@25",
        ),
        (
            "<div><table><tr><td></div></td></tr></table></div>",
            "-div@20",
        ),
        (
            "<table><tr><td><table><tr><td>a</td></tr></table></td></tr></table>",
            "",
        ),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "?dt@4 ?dd@9 ?dt@14 ?dd@19"),
        ("<DIV>a</div>", ""),
        ("<script>if (a<b) '</p>'</script>", ""),
        ("<script>a", "+script@0"),
        ("<div/>", ""),
        ("<img></img></br>", ""),
        ("<p>a</p><!-- <div> --><p title='", "!22"),
        ("<svg><title/><path d='x'/></svg>", ""),
        (
            "<select><option>a<option>b</select>",
            "?option@8 ?option@17",
        ),
    ] {
        assert_eq!(complaints(text), expected, "{text}");
    }
}

#[test]
fn a_merged_text_is_compared_with_what_it_was_made_of() {
    for (merged, one, other, expected) in [
        ("<div>", "<div></div>", "<div></div>", Some("<div>")),
        ("<div>", "<div>", "<div></div>", None),
        ("<div><div>", "<div>", "<div></div>", Some("<div>")),
        ("</b>", "<b></b>", "", Some("</b>")),
        ("<p>a", "<p>a</p>", "<p>b</p>", Some("<p>")),
        ("<p>a<p>b<p>c", "<p>a<p>b", "<p>a<p>c", None),
        (
            "<!-- a",
            "<!-- a -->",
            "",
            Some("a tag or comment that never ends"),
        ),
    ] {
        let worse = balance(merged).worse_than(&balance(one), &balance(other));
        assert_eq!(worse.as_deref(), expected, "{merged}");
        let worse = balance(merged).worse_than(&balance(other), &balance(one));
        assert_eq!(worse.as_deref(), expected, "{merged}, sides swapped");
    }
}

#[test]
fn character_references_are_resolved() {
    for (text, expected) in [
        (
            "&lt;p&gt; &amp;&#252;&#xFC; &auml; &; & &#x110000;",
            "<p> &üü \u{fffd} &; & \u{fffd}",
        ),
        ("a&nbsp;b", "a\u{a0}b"),
    ] {
        assert_eq!(decoded(text), expected, "{text}");
    }
}

#[test]
fn f015_a_page_that_was_serialised_anew_is_the_same_page() {
    for (one, other, expected) in [
        ("<p>&auml;</p>", "<p>&ouml;</p>", false),
        ("<A HREF='x'>a</A>", "<a href=\"x\">a</a>", true),
        ("<img alt=a src=b>", "<img src=\"b\" alt=\"a\"/>", true),
        ("<p>a</p> <p>b</p>", "<p>a</p>\n\n  <p>b</p>", true),
        ("<a href=x>a</a>", "<a href=y>a</a>", false),
        ("<p>a</p>", "<p>a</p><script>x</script>", false),
        ("<b>a</b>", "<strong>a</strong>", false),
        ("<p>a b</p>", "<p>ab</p>", false),
    ] {
        assert_eq!(is_same_markup(one, other), expected, "{one} and {other}");
    }
}

#[test]
fn f032_what_the_service_dropped_is_noticed() {
    for (before, after, expected) in [
        ("<p>a</p>", "<p>a</p>\n", None),
        ("<p>&uuml;ber</p>", "<p>über</p>", None),
        ("<p>über</p>", "<p>&uuml;ber</p>", None),
        ("<b>a</b>  b", "<strong>a</strong> b", None),
        ("<p>a</p><p>b</p>", "<div><p>a</p><p>b</p></div>", None),
        ("<p>a</p><script>x</script>", "<p>a</p>", Some("<script>")),
        ("<style>x</style>a<!-- z -->", "<style></style>a", None),
        ("<p>a\n  b</p>\n<p>c</p>", "<p>ab</p><p>&nbsp;c</p>", None),
        (
            "<textarea>bc</textarea>",
            "<textarea>b</textarea>",
            Some("1 character of visible text"),
        ),
        (
            "<p>abc</p>",
            "<p>a</p>",
            Some("2 characters of visible text"),
        ),
        (
            "<p>ab</p><p>c</p><iframe src=x></iframe><p></p>",
            "<p>ab</p>",
            Some("1 character of visible text, <iframe>, 2 × <p>"),
        ),
    ] {
        assert_eq!(
            shrank(before, after).as_deref(),
            expected,
            "{before} → {after}"
        );
    }
}

#[test]
fn references_are_listed_in_order() {
    let text = "<a href='x'>a</a>\n<img src=y><IMG SRC=z ALT>";
    let shown = |found: Reference<'_>| (found.value.to_owned(), line_of(text, found.start));
    let found: Vec<_> = references(text).map(shown).collect();
    let expected = [("x", 1), ("y", 2), ("z", 2)].map(|(value, line)| (value.to_owned(), line));
    assert_eq!(found, expected);
    let bare: Vec<_> = images_without_alt(text).map(shown).collect();
    assert_eq!(bare, [("y".to_owned(), 2)]);
}
