//! Merges: the sides are alike, nothing is invented, and what is clean is what both wanted.

use kbsync::model::html;
use kbsync::reconcile::merge::{TextMerge, merge_text, merge_union};

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
    if let TextMerge::Merged(text) = &merged {
        // What is merged is merged: either side's change is in it already.
        for side in [local, remote] {
            if let TextMerge::Merged(again) = merge_text(side, text, side) {
                assert_eq!(&again, text);
            }
        }
        invents_nothing(text, [base, local, remote]);
    }
    let both = merge_union(&[base], local, remote);
    words_survive(&both, [base, local, remote]);
}

/// Every byte of a merge comes from one of the three.
fn invents_nothing(merged: &str, sources: [&str; 3]) {
    for c in merged.chars() {
        assert!(
            sources.iter().any(|text| text.contains(c)),
            "{c:?} is new in {merged:?}"
        );
    }
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
