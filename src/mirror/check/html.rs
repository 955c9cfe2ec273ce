//! The rules of `kbsync check` for the HTML of a body.

use super::{SENT, findings::Findings};
use crate::{
    mirror::document::Document,
    model::{
        Place,
        html::{Tag, balance, images_without_alt, line_of},
    },
};

/// Reports tags that have no partner, and images without an alt text.
pub(super) fn html(place: &Place, document: &Document, findings: &mut Findings) {
    unpaired_tags(place, document, findings);
    let mut lines = Lines::of(document);
    for image in images_without_alt(document.text()) {
        let message = format!("the image {:?} has no alt text", shortened(image.value));
        let help = "say in alt=\"…\" what it shows, or write alt=\"\" when it is mere decoration";
        findings.warning(place, "image-alt", message, help).line = Some(lines.at(image.start));
    }
}

fn unpaired_tags(place: &Place, document: &Document, findings: &mut Findings) {
    let balance = balance(document.text());
    let mut lines = Lines::of(document);
    for Tag { name, start } in &balance.unclosed {
        let message = format!("<{name}> is never closed");
        let help = format!("add </{name}> where it should end; {SENT}");
        findings.error(place, "unclosed-tag", message, help).line = Some(lines.at(*start));
    }
    let mut lines = Lines::of(document);
    for Tag { name, start } in &balance.stray {
        let message = format!("</{name}> closes nothing");
        let help = format!("remove it, or add <{name}> where it should begin; {SENT}");
        findings.error(place, "stray-tag", message, help).line = Some(lines.at(*start));
    }
    if let Some(start) = balance.unfinished {
        let is_comment = document.text()[start..].starts_with("<!--");
        let (what, end) = if is_comment {
            ("comment", "-->")
        } else {
            ("tag", ">")
        };
        let message = format!("a {what} begins here and never ends: what follows is not shown");
        let help = format!("add the missing {end} (or a quote), or write &lt; for <; {SENT}");
        let line = Lines::of(document).at(start);
        findings.error(place, "unfinished-tag", message, help).line = Some(line);
    }
}

/// Shortens a long address, such as an image within its own address.
fn shortened(address: &str) -> String {
    const LONGEST: usize = 60;
    match address.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &address[..end]),
        None => address.to_owned(),
    }
}

/// Counts the lines of a file along its body, so that all findings of a rule cost one pass.
pub(super) struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        Self {
            text: document.text(),
            at: 0,
            line: document.lines_before_text() + 1,
        }
    }

    /// Returns the line of a byte. Bytes must be passed in their order.
    pub(super) fn at(&mut self, start: usize) -> usize {
        self.line += line_of(&self.text[self.at..], start - self.at) - 1;
        self.at = start;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    fn parse(text: &str) -> Document {
        Document::parse(format!("---\ntitle: T\n---\n{text}").as_bytes()).expect("readable")
    }

    /// Returns the findings in a body, in the order of a check; the front matter has three lines.
    fn lint(text: &str) -> Vec<super::super::Finding> {
        let mut findings = Findings::default();
        html(&Place::new("a", "b.html"), &parse(text), &mut findings);
        findings.0.sort();
        findings.0
    }

    /// A text, and the line, severity and rule of each finding.
    type Row = (&'static str, &'static [(usize, Level, &'static str)]);

    #[test]
    fn findings_have_line_rule_and_severity() {
        use Level::{Error, Warning};
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
            let found: Vec<_> = lint(text)
                .into_iter()
                .map(|found| (found.line.expect("a line") - 3, found.level, found.rule))
                .collect();
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn findings_say_what_to_do() {
        let found = lint("<div><p>a</p>");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].message, "<div> is never closed");
        assert_eq!(
            found[0].help,
            format!("add </div> where it should end; {SENT}")
        );
    }

    #[test]
    fn a_long_address_is_cut_in_messages() {
        let text = format!("<img src='data:image/png;base64,{}'>", "ü".repeat(5000));
        let found = lint(&text);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.len() < 200, "{}", found[0].message);
    }
}
