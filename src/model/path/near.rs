//! Names that look like slips of the pen: a mistyped folder would make a category, which the API cannot delete.

use super::fold;

/// The known name that a new one may have been meant for, if there is one.
pub fn likely_meant<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let folded = fold(name);
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|other| *other != name)
        .filter_map(|other| {
            let distance = strsim::damerau_levenshtein(&folded, &fold(other));
            (distance <= slips(&folded) && !is_numbered_alike(name, other))
                .then_some((distance, other))
        })
        .collect();
    near.sort_unstable();
    near.first().map(|(_, other)| *other)
}

/// How many slips a name of this length may have: short names are alike by chance.
fn slips(name: &str) -> usize {
    match name.chars().count() {
        0..4 => 0,
        4..12 => 1,
        _ => 2,
    }
}

/// `part-1` is not meant for `part-2`.
fn is_numbered_alike(one: &str, other: &str) -> bool {
    let words = |name: &str| name.replace(|letter: char| letter.is_ascii_digit(), "");
    one != other && words(one) == words(other)
}

/// What people are told of a new category whose name is near to another one's.
pub fn maybe_mistyped(meant: &str) -> String {
    format!(
        "a new category; if {meant}/ was meant, move the files there: the API cannot delete a category"
    )
}

#[cfg(test)]
mod tests {
    use super::likely_meant;

    #[test]
    fn only_what_a_slip_of_the_pen_makes_is_near() {
        let known = ["billing", "getting-started", "part-1", "faq", "help-en"];
        for (name, meant) in [
            ("biling", Some("billing")),
            ("bililng", Some("billing")),
            ("Billing", Some("billing")),
            ("getting-startde", Some("getting-started")),
            ("geting-stared", Some("getting-started")),
            ("billing", None),
            ("bills", None),
            ("part-2", None),
            ("part-12", None),
            ("fag", None),
            ("help-de", None),
        ] {
            assert_eq!(likely_meant(name, known), meant, "{name}");
        }
    }
}
