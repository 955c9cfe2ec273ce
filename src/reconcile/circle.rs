//! Circles of things that wait for each other.

use std::collections::BTreeMap;

/// Returns the circle that `start` is in, beginning with it; `None`: it is in none. `next`: the one that each waits for.
pub(super) fn circle<T: Ord + Clone>(start: &T, next: &BTreeMap<T, T>) -> Option<Vec<T>> {
    let chain = std::iter::successors(Some(start), |at| next.get(at));
    let chain: Vec<T> = chain.take(next.len() + 1).cloned().collect();
    let end = chain.iter().skip(1).position(|other| other == start)?;
    Some(chain[..=end].to_vec())
}
