//! The findings of the lint, by rule and line.

use super::*;

/// A text, and the line, severity and rule of each finding.
type Row = (&'static str, &'static [(usize, Severity, &'static str)]);

#[test]
fn findings_have_line_rule_and_severity() {
    use Severity::{Error, Warning};
    let rows: &[Row] = &[
        ("<h1>a</h1>\n<p>b <a href='c.html'>c</a></p>", &[]),
        ("<p>a</p>\n<div>\n<p>b</p>", &[(2, Error, "unclosed-tag")]),
        ("<p>a</p>\n\n</div>", &[(3, Error, "stray-tag")]),
        ("a\n<p title='b>c</p>", &[(2, Error, "unfinished-tag")]),
        (
            "<img src=a.png>\n<img src=b.png alt=''>",
            &[(1, Warning, "image-alt")],
        ),
        (
            "<a href='x'><img src=y alt=z></a><a name=n></a><a href=x title=t></a>",
            &[],
        ),
        ("<svg><path/></svg><br/>", &[]),
        ("<ul><li>a<li>b</ul><p>c<p>d", &[]),
        (
            "</b>\n<img src=x>\n<i>",
            &[
                (1, Error, "stray-tag"),
                (2, Warning, "image-alt"),
                (3, Error, "unclosed-tag"),
            ],
        ),
    ];
    for (text, expected) in rows {
        let found: Vec<_> = lint_html(text)
            .into_iter()
            .map(|finding| (finding.line, finding.severity, finding.rule))
            .collect();
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn findings_say_what_to_do() {
    let found = lint_html("<div><p>a</p>");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "<div> is never closed");
    assert_eq!(found[0].remedy, "add </div> where it should end");
}

#[test]
fn a_long_address_is_cut_in_messages() {
    let text = format!("<img src='data:image/png;base64,{}'>", "ü".repeat(5000));
    let found = lint_html(&text);
    assert_eq!(found.len(), 1);
    assert!(found[0].message.len() < 200, "{}", found[0].message);
}

#[test]
fn links_within_the_mirror_are_found() {
    let text = "<a href='b.html#top'>b</a> <a href='https://x/y'>x</a>\n\
        <a href='../c/my%20d.html?x=1&amp;y=2'>d</a><a href='#e'>e</a><a href='/f'>f</a>\n\
        <img src='img/g&amp;h.png' alt=''><a href='mailto:a@b'>m</a><a href='//cdn/x'>n</a><a href=' '>o</a>\n\
        <a href='100%.html'>p</a><a href='%ff.html'>q</a>";
    let expected = [
        (1, "b.html"),
        (2, "../c/my d.html"),
        (3, "img/g&h.png"),
        (4, "100%.html"),
        (4, "%ff.html"),
    ];
    let expected: Vec<_> = expected
        .map(|(line, target)| (line, target.to_owned()))
        .into();
    assert_eq!(relative_links(text), expected);
}
