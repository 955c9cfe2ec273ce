//! Field-by-field comparison of both sides: each field is three-way.
//!
//! Each side is compared with its own half of the base, because the service may rewrite the content that it receives
//! ("Echo"). A body that both sides changed is merged block by block.

use super::merge::{self, ClashReason, TextMerge};
use super::snapshot::Bodies;
use crate::model::{Field, TextDigest, Texts, Version};
use std::sync::Arc;

/// Why a field clashes.
#[derive(Clone, PartialEq, Debug)]
pub enum Clash {
    /// Both sides changed it differently.
    BothChanged,
    /// There is no base, and the sides differ.
    Differs,
    /// The body could not be merged.
    Unmerged(ClashReason),
}

/// The outcome of comparing two sides with their base.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreeWay<V> {
    /// The version that both sides should have; clashing fields are the local side's.
    pub merged: V,
    /// Fields that only the service changed, and the body if it was merged.
    pub pulled: Vec<Field>,
    /// Fields that only the file changed, and the body if it was merged.
    pub pushed: Vec<Field>,
    /// Fields that both sides changed to the same value.
    pub agreed: Vec<Field>,
    /// Fields in which the sides differ and neither side is newer.
    pub clashes: Vec<(Field, Clash)>,
    /// The merged body, if the merge produced a new body.
    pub body: Option<(TextDigest, Arc<str>)>,
    /// The base's local version while nothing has been sent: the old version with the pulled fields.
    pub base_if_unsent: V,
}

impl<V: Texts> ThreeWay<V> {
    fn new(merged: &V, base_if_unsent: &V) -> Self {
        Self {
            merged: merged.clone(),
            pulled: Vec::new(),
            pushed: Vec::new(),
            agreed: Vec::new(),
            clashes: Vec::new(),
            body: None,
            base_if_unsent: base_if_unsent.clone(),
        }
    }

    /// Compares two sides that have no base: every difference is a clash.
    pub fn first_meeting(local: &V, remote: &V) -> Self {
        let differing = local.differing(remote).into_iter();
        Self {
            clashes: differing.map(|field| (field, Clash::Differs)).collect(),
            ..Self::new(local, remote)
        }
    }

    /// Compares two sides with their base.
    pub fn of(base_local: &V, base_remote: &V, local: &V, remote: &V) -> Self {
        let mut out = Self::new(local, base_local);
        for &field in V::FIELDS {
            let here = !local.agrees(base_local, field);
            // The service may have stored the last write in another form, which is not an edit.
            let there = !remote.agrees(base_remote, field);
            let equal = local.agrees(remote, field);
            match (here, there) {
                (false, false) => {}
                (false, true) => {
                    out.merged.take(field, remote);
                    out.base_if_unsent.take(field, remote);
                    out.pulled.push(field);
                }
                // An edit that arrives at the service's own form of the last write needs no sending.
                (true, _) if equal => {
                    out.base_if_unsent.take(field, remote);
                    out.agreed.push(field);
                }
                (true, false) => out.pushed.push(field),
                (true, true) => out.clashes.push((field, Clash::BothChanged)),
            }
        }
        out
    }

    /// Settles every clash in favour of one side.
    pub fn settle_clashes(&mut self, remote: &V, remote_wins: impl Fn(Field) -> bool) {
        for (field, _) in std::mem::take(&mut self.clashes) {
            self.base_if_unsent.take(field, remote);
            if remote_wins(field) {
                self.merged.take(field, remote);
                self.pulled.push(field);
            } else {
                self.pushed.push(field);
            }
        }
    }
}

/// Compares an article's two sides with the base, and merges the body.
pub fn three_way(
    base_local: &Version,
    base_remote: &Version,
    local: &Version,
    remote: &Version,
    bodies: &Bodies,
) -> ThreeWay<Version> {
    let mut out = ThreeWay::of(base_local, base_remote, local, remote);
    let mut clashes = out.clashes.iter();
    let text = clashes.position(|(field, _)| *field == Field::Text);
    let has_clash = text.map(|at| out.clashes.remove(at)).is_some();
    // A colleague edited a body that the service had rewritten. The edit is merged into the file's own formatting: the
    // service's earlier rewriting is not an edit.
    let is_reformatted = out.pulled.contains(&Field::Text) && local.text != base_remote.text;
    if !has_clash && !is_reformatted {
        return out;
    }
    let ancestors = [base_local.text, base_remote.text];
    let ancestors = ancestors.iter().skip(usize::from(!has_clash));
    let text = |digest: TextDigest| bodies.get(&digest).map(AsRef::as_ref);
    let ancestors: Vec<&str> = ancestors.filter_map(|digest| text(*digest)).collect();
    let merged = match (text(local.text), text(remote.text)) {
        (Some(ours), Some(theirs)) => Some(merge::merge_with_fallback(&ancestors, ours, theirs)),
        _ => None,
    };
    match merged {
        Some(TextMerge::Merged(merged)) => {
            let digest = TextDigest::of(&merged);
            out.merged.text = digest;
            out.base_if_unsent.text = if has_clash { remote.text } else { digest };
            if has_clash && digest != local.text {
                out.pulled.push(Field::Text);
            }
            if has_clash && digest != remote.text {
                out.pushed.push(Field::Text);
            }
            out.body = Some((digest, merged.into()));
        }
        _ if !has_clash => {}
        Some(TextMerge::Clash(reason)) => out.clashes.push((Field::Text, Clash::Unmerged(reason))),
        None => out.clashes.push((Field::Text, Clash::BothChanged)),
    }
    out
}
