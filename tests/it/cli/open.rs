//! `kbsync open`: the public page of an article.

use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::kb::Service;
use crate::support::schema;

#[test]
fn it_prints_where_the_public_page_is() {
    let service = Service::empty();
    let id = service.article(service.category("start"), "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let ran = kb.run(&["open", "start/one.html"]).exits(0);
    assert!(ran.stdout.starts_with("https://"), "{ran:#?}");
    assert!(ran.stdout.ends_with("/start/one\n"), "{ran:#?}");
    let json = kb.run(&["open", &id.to_string(), "--json"]).exits(0).json();
    schema::check("open", &json);
    assert_eq!(json["path"], "start/one.html");
    assert_eq!(json["url"], ran.stdout.trim());
}

#[test]
fn an_article_without_a_page_is_refused() {
    let service = Service::empty();
    let id = service.article(service.category("start"), "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    service.sandbox.disable(id);
    kb.run(&["open", "start/one.html"])
        .exits(1)
        .complains("has no public page", "hidden");
    kb.write("start/two.html", "---\ntitle: Two\n---\n<p>Two.</p>\n");
    kb.run(&["open", "start/two.html"]).exits(2).complains(
        "was never synced under this path",
        "`kbsync sync` syncs an article's file",
    );
    kb.run(&["open", "start"])
        .exits(2)
        .complains("start is a folder", "name a file in it");
    // When the workspace is gone, the message does not blame the article.
    let gone = r#"{"success":false,"message":"Not found"}"#;
    let gone = FaultKind::Status(404, gone.to_owned());
    service
        .sandbox
        .inject(Fault::always(Matcher::new("GET", "/api/base/"), gone));
    let told = kb.run(&["sync"]).exits(1);
    let help = "check the service's address and the workspace's id";
    assert!(told.stderr.contains(help), "{told:#?}");
    kb.run(&["open", "start/one.html"])
        .exits(1)
        .complains("/api/base/", help);
}
