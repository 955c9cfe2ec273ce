//! Merges: the sides are alike, nothing is invented, and what is clean is what both wanted.

use kbsync::model::html;
use kbsync::reconcile::merge::{TextMerge, merge_text, merge_union};
use std::collections::{BTreeMap, BTreeSet};

/// Three texts, apart by a byte that no UTF-8 text has.
pub(crate) fn hold(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |&byte| byte == 0xff);
    let mut next = || parts.next().and_then(|part| std::str::from_utf8(part).ok());
    let (Some(base), Some(local), Some(remote)) = (next(), next(), next()) else {
        return;
    };
    for text in [base, local, remote] {
        assert_eq!(html::units(text).concat(), text, "the units are the text");
    }
    let merged = merge_text(base, local, remote);
    let turned = merge_text(base, remote, local);
    match (&merged, &turned) {
        (TextMerge::Merged(one), TextMerge::Merged(other)) => assert_eq!(one, other),
        (TextMerge::Clash(_), TextMerge::Clash(_)) => {}
        (TextMerge::Merged(_), TextMerge::Clash(_))
        | (TextMerge::Clash(_), TextMerge::Merged(_)) => {
            panic!("the order of the sides matters: {merged:?}, {turned:?}")
        }
    }
    assert_eq!(
        merge_text(base, local, base),
        TextMerge::Merged(local.to_owned())
    );
    assert_eq!(
        merge_text(base, base, remote),
        TextMerge::Merged(remote.to_owned())
    );
    assert_eq!(
        merge_text(base, local, local),
        TextMerge::Merged(local.to_owned())
    );
    if let TextMerge::Merged(text) = &merged
        && let Err(why) = judge([base, local, remote], text)
    {
        panic!("{why}:\n{base:?}\n{local:?}\n{remote:?}\n{text:?}");
    }
    let both = merge_union(&[base], local, remote);
    words_survive(&both, [base, local, remote]);
}

/// Says what is wrong with a merge. It looks at what went in and what came out, not at how.
pub(crate) fn judge([base, local, remote]: [&str; 3], merged: &str) -> Result<(), String> {
    let [before, mine, theirs, after] = [base, local, remote, merged].map(counted);
    let of = |counts: &BTreeMap<&str, usize>, unit| counts.get(unit).copied().unwrap_or(0);
    let all: BTreeSet<&str> = [&before, &mine, &theirs, &after]
        .into_iter()
        .flat_map(|counts| counts.keys().copied())
        .collect();
    for unit in all {
        let [b, l, r, m] = [&before, &mine, &theirs, &after].map(|counts| of(counts, unit));
        let right = match (b, l, r) {
            // What both have put in may be the same change, or two.
            (0, _, _) => l.max(r) <= m && m <= l + r,
            (_, 0, 0) => m == 0,
            // What one has taken out is there again only where the other one put it.
            (_, 0, other) | (_, other, 0) => m <= other,
            _ => m <= l + r,
        };
        if !right {
            return Err(format!("{unit:?} is there {m} times, of {b}, {l} and {r}"));
        }
    }
    in_place([base, local, remote], merged)?;
    if [even(local), even(remote)] == [Some(true); 2] && even(merged) == Some(false) {
        return Err("both sides were balanced, and this is not".to_owned());
    }
    Ok(())
}

/// What a text has, line ends left out, and how often.
fn counted(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for unit in solid(text) {
        *counts.entry(unit).or_default() += 1;
    }
    counts
}

fn solid(text: &str) -> Vec<&str> {
    let units = html::units(text).into_iter();
    units.filter(|unit| !html::is_blank(unit)).collect()
}

/// Where nothing is there twice and nothing was moved, it is certain what a merge has, and in which order.
fn in_place(sources: [&str; 3], merged: &str) -> Result<(), String> {
    let [base, local, remote] = sources.map(solid);
    let merged = solid(merged);
    let distinct = |units: &[&str]| units.iter().collect::<BTreeSet<_>>().len() == units.len();
    let simple = [&base, &local, &remote]
        .into_iter()
        .all(|units| distinct(units));
    if !simple || !same_order(&base, &local) || !same_order(&base, &remote) {
        return Ok(());
    }
    for unit in &base {
        let stays = local.contains(unit) && remote.contains(unit);
        let count = merged.iter().filter(|one| *one == unit).count();
        if count != usize::from(stays) {
            return Err(format!("{unit:?} is there {count} times"));
        }
    }
    if !distinct(&merged) {
        // Both put in the same at two places.
        return Ok(());
    }
    for side in [&base, &local, &remote] {
        if !same_order(side, &merged) {
            return Err(format!("not in the order of {side:?}"));
        }
    }
    Ok(())
}

/// Returns whether what two have in common comes in the same order.
fn same_order(one: &[&str], other: &[&str]) -> bool {
    let here = one.iter().filter(|unit| other.contains(unit));
    let there = other.iter().filter(|unit| one.contains(unit));
    here.eq(there)
}

/// Returns whether each tag has its partner; `None` where there is more than the plainest markup.
fn even(text: &str) -> Option<bool> {
    let mut open = Vec::new();
    let mut pieces = text.split('<');
    if pieces.next()?.contains('>') {
        return None;
    }
    for piece in pieces {
        let (tag, words) = piece.split_once('>')?;
        let name = tag.strip_prefix('/').unwrap_or(tag);
        if words.contains('>') || !["b", "div", "em", "h1", "p", "section"].contains(&name) {
            return None;
        }
        if tag == name {
            // A paragraph within another one ends it.
            if name == "p" && open.contains(&"p") {
                return None;
            }
            open.push(name);
        } else if open.pop() != Some(name) {
            return Some(false);
        }
    }
    Some(open.is_empty())
}

/// A letter that a side brought in is in what keeps both.
fn words_survive(both: &str, [base, local, remote]: [&str; 3]) {
    for side in [local, remote] {
        for c in side
            .chars()
            .filter(|c| c.is_alphanumeric() && !base.contains(*c))
        {
            assert!(both.contains(c), "{c:?} is lost in {both:?}");
        }
    }
}
