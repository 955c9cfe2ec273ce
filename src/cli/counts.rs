//! Numbers in words: with their noun, their verb, and commas.

use indicatif::HumanCount;

/// Formats a number with its noun.
pub(super) fn several(number: impl TryInto<u32>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u32::MAX);
    let (stem, ending) = match noun.strip_suffix("ry") {
        _ if number == 1 => (noun, ""),
        Some(stem) => (stem, "ries"),
        None => (noun, "s"),
    };
    format!("{} {stem}{ending}", grouped(number))
}

/// Formats a number with its noun and a verb: `1 path waits`, `2 paths wait`.
pub(super) fn waiting(number: usize, noun: &str) -> String {
    let verb = if number == 1 { "waits" } else { "wait" };
    format!("{} {verb}", several(number, noun))
}

/// Formats a number with commas between the thousands.
pub(super) fn grouped(number: u32) -> String {
    HumanCount(number.into()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_and_verbs_go_with_their_number() {
        assert_eq!(waiting(1, "path"), "1 path waits");
        assert_eq!(waiting(1200, "path"), "1,200 paths wait");
        assert_eq!(several(1, "category"), "1 category");
        assert_eq!(several(0, "category"), "0 categories");
        assert_eq!(several(3, "day"), "3 days");
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1440, "1,440"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), shown);
        }
    }
}
