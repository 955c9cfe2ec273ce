//! The habits around the sandbox.

use super::sandbox_faults::Kb;
use crate::support::faults::Inject as _;
use crate::support::faults::habits::Normalise;
use serde_json::{Value, json};

#[tokio::test]
async fn a_service_may_rewrite_what_it_is_sent() {
    let kb = Kb::new();
    kb.sandbox.habits().normalise = Normalise::ALL;
    let body = json!({
        "title": "  T ", "slug": "Back", "keywords": " ",
        "text": "\n<p onclick=\"x()\" class=\"a\">one on=\"2\"</p>\n\n<script>alert(1)</script><p>a\n<b>b</b></p>\n"
    });
    let reply = kb.put(&kb.article_path(), body).await;
    let article = &reply.json["article"];
    assert_eq!(article["title"], "T");
    assert_eq!(article["slug"], "back");
    assert_eq!(article["keywords"], Value::Null);
    let clean = "<p class=\"a\">one on=\"2\"</p><p>a\n<strong>b</strong></p>";
    assert_eq!(article["text"], clean);
    let again = kb.put(&kb.article_path(), json!({"text": clean})).await;
    assert_eq!(again.json["article"]["text"], clean, "what is clean stays");
}
