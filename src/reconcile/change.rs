//! What changed, field by field: each field is three-way.
//!
//! Each side is compared with its own half of the base, because the service may rewrite what it is sent
//! ("Echo"). The body is merged block by block where both sides changed it.

use super::merge::{self, TextMerge};
use super::snapshot::Bodies;
use crate::drill::defect::{self, Defect};
use crate::model::{CategoryVersion, Field, TextDigest, Version};
use std::sync::Arc;

/// The outcome of comparing two sides with their base.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreeWay {
    /// What both sides should say; clashing fields are the local side's.
    pub merged: Version,
    /// Fields that only the service changed, and the body if it was merged.
    pub pulled: Vec<Field>,
    /// Fields that only the file changed, and the body if it was merged.
    pub pushed: Vec<Field>,
    /// Fields that both changed to the same.
    pub agreed: Vec<Field>,
    /// Fields that both changed differently, with the reason.
    pub clashes: Vec<(Field, String)>,
    /// The merged body, if merging made a new one.
    pub body: Option<(TextDigest, Arc<str>)>,
    /// The base's `local` as long as nothing was sent: what was pulled counts as agreed on.
    pub unsent: Version,
}

/// Compares an article's two sides with the base.
pub fn three_way(
    base_local: &Version,
    base_remote: &Version,
    local: &Version,
    remote: &Version,
    bodies: &Bodies,
) -> ThreeWay {
    let mut out = ThreeWay {
        merged: local.clone(),
        pulled: Vec::new(),
        pushed: Vec::new(),
        agreed: Vec::new(),
        clashes: Vec::new(),
        body: None,
        unsent: base_local.clone(),
    };
    for field in Version::FIELDS {
        let here = !local.agrees(base_local, field);
        // What the service made of the last write is no edit of anybody's.
        let answered = if defect::is(Defect::EchoIsEdit) {
            base_local
        } else {
            base_remote
        };
        let there = !remote.agrees(answered, field);
        match (here, there) {
            (false, false) => {}
            (true, false) => out.pushed.push(field),
            (false, true) if local != base_local && defect::is(Defect::WholeFileWins) => {
                out.pushed.push(field);
            }
            (false, true) => {
                out.merged.take(field, remote);
                out.unsent.take(field, remote);
                out.pulled.push(field);
                if field == Field::Text {
                    keep_formatting(base_remote, local, remote, bodies, &mut out);
                }
            }
            (true, true) if local.agrees(remote, field) && !defect::is(Defect::FalseConflict) => {
                out.unsent.take(field, remote);
                out.agreed.push(field);
            }
            (true, true) if field == Field::Text => {
                merge_body(base_local, base_remote, local, remote, bodies, &mut out);
            }
            (true, true) => {
                out.clashes
                    .push((field, format!("both sides changed the {field}")));
            }
        }
    }
    // An edit that arrives at what the service made of the last one needs no sending.
    for field in std::mem::take(&mut out.pushed) {
        if out.merged.agrees(remote, field) {
            out.unsent.take(field, remote);
            out.agreed.push(field);
        } else {
            out.pushed.push(field);
        }
    }
    out
}

/// A colleague's edit of a body that the service had rewritten goes into the file as it is formatted there:
/// what the service made of it earlier is no edit.
fn keep_formatting(
    base_remote: &Version,
    local: &Version,
    remote: &Version,
    bodies: &Bodies,
    out: &mut ThreeWay,
) {
    let text = |digest: TextDigest| bodies.get(&digest).map(AsRef::as_ref);
    if local.text == base_remote.text {
        return;
    }
    let (Some(ancestor), Some(ours), Some(theirs)) =
        (text(base_remote.text), text(local.text), text(remote.text))
    else {
        return;
    };
    if let TextMerge::Merged(merged) = merge::merge_with_fallback(&[ancestor], ours, theirs) {
        let digest = TextDigest::of(&merged);
        out.merged.text = digest;
        out.unsent.text = digest;
        out.body = Some((digest, merged.into()));
    }
}

fn merge_body(
    base_local: &Version,
    base_remote: &Version,
    local: &Version,
    remote: &Version,
    bodies: &Bodies,
    out: &mut ThreeWay,
) {
    let text = |digest: TextDigest| bodies.get(&digest).map(AsRef::as_ref);
    let (Some(ours), Some(theirs)) = (text(local.text), text(remote.text)) else {
        out.clashes
            .push((Field::Text, "both sides changed the body".to_owned()));
        return;
    };
    let ancestors: Vec<&str> = [base_local.text, base_remote.text]
        .into_iter()
        .filter_map(text)
        .collect();
    match merge::merge_with_fallback(&ancestors, ours, theirs) {
        TextMerge::Merged(merged) => {
            let digest = TextDigest::of(&merged);
            out.merged.text = digest;
            out.unsent.text = remote.text;
            if digest != local.text {
                out.pulled.push(Field::Text);
            }
            if digest != remote.text {
                out.pushed.push(Field::Text);
            }
            out.body = Some((digest, merged.into()));
        }
        TextMerge::Clash(_) if defect::is(Defect::MergePicksOurs) => out.pushed.push(Field::Text),
        TextMerge::Clash(reason) => out.clashes.push((Field::Text, reason.to_string())),
    }
}

/// The same for a category's words, which have no body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CategoryThreeWay {
    /// What both sides should say; clashing fields are the local side's.
    pub merged: CategoryVersion,
    /// Fields that only the service changed.
    pub pulled: Vec<Field>,
    /// Fields that only the folder or `_category.yaml` changed.
    pub pushed: Vec<Field>,
    /// Fields that both changed differently.
    pub clashes: Vec<Field>,
    /// The base's `local` as long as nothing was sent.
    pub unsent: CategoryVersion,
}

/// Compares a category's two sides with the base.
pub fn category_three_way(
    base_local: &CategoryVersion,
    base_remote: &CategoryVersion,
    local: &CategoryVersion,
    remote: &CategoryVersion,
) -> CategoryThreeWay {
    let mut out = CategoryThreeWay {
        merged: local.clone(),
        pulled: Vec::new(),
        pushed: Vec::new(),
        clashes: Vec::new(),
        unsent: base_local.clone(),
    };
    for field in CategoryVersion::FIELDS {
        let here = local.get(field) != base_local.get(field);
        let there = remote.get(field) != base_remote.get(field);
        match (here, there) {
            (false, false) => {}
            (true, false) => out.pushed.push(field),
            (false, true) => {
                out.merged.take(field, remote);
                out.unsent.take(field, remote);
                out.pulled.push(field);
            }
            (true, true) if local.get(field) == remote.get(field) => {
                out.unsent.take(field, remote);
            }
            (true, true) => out.clashes.push(field),
        }
    }
    for field in std::mem::take(&mut out.pushed) {
        if out.merged.get(field) == remote.get(field) {
            out.unsent.take(field, remote);
        } else {
            out.pushed.push(field);
        }
    }
    out
}
