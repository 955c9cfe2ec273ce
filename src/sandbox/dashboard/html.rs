//! HTML: escaping, the frame of every page, badges, and the preview.

use crate::sandbox::store::Article;

const STYLE: &str = "
:root{color-scheme:light dark;--line:#8884;--soft:#8881}
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:0 auto;padding:1rem;overflow-wrap:anywhere}
header{display:flex;flex-wrap:wrap;gap:0 1rem;align-items:baseline;border-bottom:1px solid var(--line);margin-bottom:1rem}
header a{font-weight:600;text-decoration:none}
header span{margin-left:auto;opacity:.75}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1rem}
th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}
td code,pre{overflow-wrap:anywhere;white-space:pre-wrap}
section{margin:1.5rem 0}
label{display:block;margin:.6rem 0;font-weight:600}
label.tick{font-weight:400}
input[type=text],select,textarea{display:block;width:100%;box-sizing:border-box;font:inherit;font-weight:400;padding:.35rem}
textarea{min-height:20rem;font-family:ui-monospace,monospace;font-size:.9rem}
form.row{display:flex;flex-wrap:wrap;gap:.5rem;margin:.5rem 0}
form.row input[type=text]{flex:1;min-width:10rem}
button{font:inherit;padding:.35rem .8rem}
button.danger{margin-left:auto;color:#b00020;border-color:#b00020}
@media(max-width:40rem){table{display:block;overflow-x:auto}th,td{overflow-wrap:normal}td code{white-space:nowrap}td pre{max-width:75vw}}
.badge{border-radius:1rem;padding:.05rem .6rem;font-size:.85rem;color:#fff}
.published{background:#187a3b}.draft{background:#8a5a00}.disabled{background:#666}
iframe{width:100%;height:24rem;border:1px solid var(--line);background:#fff}
.note{background:var(--soft);padding:.5rem .8rem}
";

/// Makes a phone use its own screen width.
const PHONE: &str = "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">";

/// The largest text with a preview.
const MAX_PREVIEW: usize = 512 * 1024;

/// Escapes a text for content and for quoted attributes.
pub(in crate::sandbox) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Browsers turn CR into LF, and drop NUL.
            '\r' => safe.push_str("&#13;"),
            '\0' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Formats a page. `content` is HTML, the title is text.
pub(super) fn page(title: &str, requests: u64, content: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
{PHONE}<title>{title}</title>\
         <style>{STYLE}</style></head><body>\
         <header><a href=\"/\">Sandbox</a><a href=\"/dashboard/requests\">API requests</a>\
         <span>requests so far: {requests}</span></header>\
         <p class=\"note\">A stand-in on this machine for trying kbsync; your knowledge base is somewhere else.</p>\
         <main><h1>{title}</h1>\n{content}\n</main></body></html>\n"
    )
}

/// Formats a page with one message.
pub(super) fn message(title: &str, text: &str) -> String {
    let (title, text) = (escape(title), escape(text));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{PHONE}<title>{title}</title>\
         <style>{STYLE}</style></head><body><h1>{title}</h1><p>{text}</p>\
         <p><a href=\"/\">Back to the overview</a></p></body></html>\n"
    )
}

/// The page for an unknown address.
pub(in crate::sandbox) fn not_found() -> String {
    message("Not found", "There is no such page.")
}

/// Formats the badges for an article's state.
pub(super) fn badges(article: &Article) -> String {
    let badge = |state: &str| format!("<span class=\"badge {state}\">{state}</span> ");
    match (article.draft, article.enabled) {
        (false, true) => badge("published"),
        (true, true) => badge("draft"),
        (false, false) => badge("disabled"),
        (true, false) => badge("draft") + &badge("disabled"),
    }
}

/// Formats a preview of an article's text, in a frame without any rights.
pub(super) fn preview(text: &str) -> String {
    if text.len() > MAX_PREVIEW {
        return "<p class=\"note\">The text is too long for a preview.</p>".to_owned();
    }
    let document = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">{text}"
    );
    format!(
        "<iframe sandbox=\"\" title=\"Preview\" srcdoc=\"{}\"></iframe>",
        escape(&document)
    )
}
