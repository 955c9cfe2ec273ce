//! Finds mistyped names: a mistyped folder would create a category, which the API cannot delete.

use super::fold;

/// Returns the known name that was probably meant by a new one.
pub fn likely_meant<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let folded = fold(name);
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|other| *other != name)
        .filter_map(|other| {
            let (slips, other_folded) = (slips(&folded), fold(other));
            let longer = length(&folded).abs_diff(length(&other_folded));
            if longer > slips
                || is_numbered_alike(name, other)
                || is_sibling(&folded, &other_folded)
            {
                return None;
            }
            let distance = strsim::damerau_levenshtein(&folded, &other_folded);
            (distance <= slips).then_some((distance, other))
        })
        .collect();
    near.sort_unstable();
    near.first().map(|(_, other)| *other)
}

/// Returns the number of typing errors to accept in a name of this length: short names are similar by chance.
fn slips(name: &str) -> usize {
    match length(name) {
        0..4 => 0,
        4..12 => 1,
        _ => 2,
    }
}

fn length(name: &str) -> usize {
    name.chars().count()
}

/// Returns whether two names differ on purpose: `help-de` and `help-en` are two languages, and `users` is the plural of
/// `user`.
fn is_sibling(one: &str, other: &str) -> bool {
    let plural = |one: &str, other: &str| one.strip_suffix('s') == Some(other);
    plural(one, other)
        || plural(other, one)
        || (one != other
            && without_language(one).is_some()
            && without_language(one) == without_language(other))
}

/// Returns a name without the two letters after its last hyphen.
fn without_language(name: &str) -> Option<&str> {
    let (rest, last) = name.rsplit_once('-')?;
    let is_language = last.len() == 2 && last.bytes().all(|byte| byte.is_ascii_lowercase());
    is_language.then_some(rest)
}

/// Returns whether two names differ only in digits: `part-1` is not a mistyped `part-2`.
fn is_numbered_alike(one: &str, other: &str) -> bool {
    let words = |name: &str| name.replace(|letter: char| letter.is_ascii_digit(), "");
    one != other && words(one) == words(other)
}

/// Returns the message about a new category whose name is similar to a known name.
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
        let known = [
            "billing",
            "getting-started",
            "part-1",
            "faq",
            "help-en",
            "help-center-en",
            "users",
            "user-roles",
        ];
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
            ("help-center-de", None),
            ("help-centre-en", Some("help-center-en")),
            ("help-center-enn", Some("help-center-en")),
            ("user", None),
            ("userss", None),
            ("user-role", None),
            ("usres", Some("users")),
        ] {
            assert_eq!(likely_meant(name, known), meant, "{name}");
        }
    }
}
