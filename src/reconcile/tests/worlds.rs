//! Many worlds: every combination for one article, and random combinations of several.
//!
//! A world is written as its three lines, so that a failure can be read and repeated by itself.

use super::small::Small;
use crate::reconcile::plan::Plan;
use crate::reconcile::snapshot::{Direction, OnConflict, Remote};
use proptest::prelude::*;
use std::collections::BTreeSet;

const DIRECTIONS: [Direction; 3] = [Direction::Both, Direction::Pull, Direction::Push];
const POLICIES: [OnConflict; 3] = [OnConflict::Hold, OnConflict::Local, OnConflict::Remote];

/// Applies plans until only held actions are left; two rounds must suffice.
pub(super) fn settle(world: &mut Small) -> Plan {
    for _ in 0..2 {
        let plan = world.plan();
        world.apply(&plan);
    }
    let plan = world.plan();
    let open: Vec<String> = plan
        .actions
        .iter()
        .filter(|action| action.held.is_none())
        .map(ToString::to_string)
        .collect();
    assert_eq!(open, Vec::<String>::new(), "not done after two rounds");
    assert_eq!(plan.records, [], "rows still change after two rounds");
    assert_eq!(
        plan.category_records,
        [],
        "rows still change after two rounds"
    );
    plan
}

/// Asserts that every word of an edit is on one of the two sides afterwards.
fn survives(world: &Small, edits: &BTreeSet<String>) {
    let files = world.local.files.iter().map(|file| &file.version);
    let seen = world
        .remote
        .articles
        .values()
        .filter_map(|entry| match entry {
            Remote::Present(seen) => Some(&seen.version),
            Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) | Remote::Foreign => None,
        });
    let articles = files.chain(seen).map(|version| {
        let text = &world.bodies[&version.text];
        format!("{} {} {text}", version.title, version.introtext)
    });
    let folders = world.local.categories.iter();
    let folders = folders.filter_map(|category| category.version.as_ref());
    let words = folders.chain(world.categories.values().map(|(version, _)| version));
    let said: Vec<String> = articles
        .chain(words.map(|version| version.name.clone()))
        .collect();
    let said = said.join("\n");
    for edit in edits {
        assert!(
            said.contains(edit.as_str()),
            "{edit} is lost; there is\n{said}"
        );
    }
}

/// Checks all laws on one world.
fn run(mut world: Small, edits: &BTreeSet<String>) {
    settle(&mut world);
    survives(&world, edits);
}

/// Returns the words of edits that must survive: those of the side that does not lose conflicts.
fn edits(lines: [&str; 2], policy: OnConflict) -> BTreeSet<String> {
    let kept = match policy {
        OnConflict::Hold => ["L", "R"].as_slice(),
        OnConflict::Local => &["L"],
        OnConflict::Remote => &["R"],
    };
    lines
        .iter()
        .flat_map(|line| line.split([' ', '=', '+', ';']))
        .filter(|word| kept.iter().any(|mark| word.starts_with(mark)))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_combination_of_one_article() {
    const LOCAL: [&str; 17] = [
        "a -",
        "a ?",
        "a",
        "a title=La",
        "a title=Same",
        "a title=Lb text=Lc+two+three",
        "a in=two",
        "a slug=x",
        "a noid",
        "a noid title=La",
        "a id=a",
        "a id=a title=La",
        "a off",
        "a draft",
        "a in=fresh",
        "a slug=x file=a",
        "a in=two title=La",
    ];
    const REMOTE: [&str; 15] = [
        "a -",
        "a gone",
        "a hidden",
        "a unread",
        "a",
        "a rev",
        "a title=Ra",
        "a text=one+two+Rb",
        "a in=two",
        "a slug=y",
        "a slug=x",
        "a unpublished",
        "a unpublished title=Ra",
        "a in=three",
        "a in=two slug=x title=Same",
    ];
    let bases = ["", "two/; a", "two/; a unpublished", "two/; a file=chosen"];
    let failures: Vec<String> = bases
        .into_iter()
        .flat_map(|base| LOCAL.map(|local| (base, local)))
        .flat_map(|(base, local)| REMOTE.map(|remote| [base, local, remote]))
        .flat_map(|lines| DIRECTIONS.map(|direction| (lines, direction)))
        .flat_map(|(lines, direction)| POLICIES.map(|policy| (lines, direction, policy)))
        .filter_map(|(lines, direction, policy)| {
            let [base, local, remote] = lines;
            let world = Small::new(base, local, remote)
                .direction(direction)
                .on_conflict(policy);
            let why = failure(|| run(world, &edits([local, remote], policy)))?;
            Some(format!("{lines:?} {direction:?} {policy:?}: {why}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns why a test of one world of many fails, if it does.
fn failure(test: impl FnOnce()) -> Option<String> {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test)).err()?;
    let words = payload.downcast_ref::<String>().cloned();
    Some(words.unwrap_or_else(|| "no words".to_owned()))
}

/// The possible changes to one article in the mirror, in words; `#` stands for the article's number.
const HERE: [&str; 22] = [
    "",
    "",
    "",
    "",
    "-",
    "?",
    "title=L#",
    "intro=L#",
    "text=L#+two+three",
    "text=one+two+L#",
    "slug=a",
    "slug=b",
    "slug=x#",
    "slug=a file=c#",
    "in=one",
    "in=two",
    "in=fresh",
    "noid",
    "noid title=L#",
    "off",
    "title=Same",
    "slug=b title=L#",
];
/// The possible changes on the service.
const THERE: [&str; 22] = [
    "",
    "",
    "",
    "",
    "gone",
    "hidden",
    "unread",
    "-",
    "rev",
    "title=R#",
    "intro=R#",
    "text=R#+two+three",
    "text=one+two+R#",
    "slug=a",
    "slug=b",
    "slug=y#",
    "in=one",
    "in=two",
    "in=three",
    "unpublished",
    "title=Same",
    "slug=b title=R#",
];
const CATEGORY_HERE: [&str; 8] = [
    "",
    "",
    "",
    "folder=uno",
    "name=L#",
    "noyaml",
    "-",
    "folder=zwei name=L#",
];
const CATEGORY_THERE: [&str; 6] = ["", "", "", "slug=eins", "name=R#", "slug=zwei name=R#"];

/// The words that happen to each article: whether it is in the base, here, there.
type Fates = Vec<(bool, bool, usize, usize, usize)>;

fn fates() -> impl Strategy<Value = (Fates, [(usize, usize); 2], usize, usize, bool)> {
    let fate = (
        prop::bool::weighted(0.8),
        any::<bool>(),
        0..HERE.len(),
        0..HERE.len(),
        0..THERE.len(),
    );
    let category = (0..CATEGORY_HERE.len(), 0..CATEGORY_THERE.len());
    (
        prop::collection::vec(fate, 1..=6),
        [category.clone(), category],
        0..DIRECTIONS.len(),
        0..POLICIES.len(),
        any::<bool>(),
    )
}

/// Returns three lines without contradictions: no two files or articles have the same place or address.
fn lines(fates: &Fates, categories: [(usize, usize); 2]) -> [String; 3] {
    let mut lines = ["one/; two/".to_owned(), String::new(), String::new()];
    for (number, (here, there)) in categories.into_iter().enumerate() {
        let name = ["one/", "two/"][number];
        let mark = format!("c{number}");
        let (mut here, mut there) = (
            CATEGORY_HERE[here].replace('#', &mark),
            CATEGORY_THERE[there].replace('#', &mark),
        );
        if number == 1 {
            let left = |line: &str, key: &str| line.contains(key) || line.contains("one/ -");
            let free = if left(&lines[1], "folder=") {
                "one"
            } else {
                "tre"
            };
            here = here
                .replace("=uno", &format!("={free}"))
                .replace("=zwei", "=quattro");
            let free = if left(&lines[2], "slug=") {
                "one"
            } else {
                "drei"
            };
            there = there
                .replace("=eins", &format!("={free}"))
                .replace("=zwei", "=vier");
        }
        lines[1] = format!("{}; {name} {here}", lines[1]);
        lines[2] = format!("{}; {name} {there}", lines[2]);
    }
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut places = BTreeSet::new();
    let mut addresses = BTreeSet::new();
    let home = |number: usize| {
        if number.is_multiple_of(2) {
            "one"
        } else {
            "two"
        }
    };
    for (number, fate) in fates.iter().enumerate().filter(|(_, fate)| fate.0) {
        let (folder, name) = (home(number), names[number]);
        let hidden = if fate.1 && number == 5 {
            "unpublished"
        } else {
            ""
        };
        lines[0] = format!("{}; {name} in={folder} {hidden}", lines[0]);
    }
    for (number, (base, more, one, other, there)) in fates.iter().enumerate() {
        let (folder, name, mark) = (home(number), names[number], number.to_string());
        let mut here = HERE[*one].to_owned();
        let alone = |words: &str| ["-", "?"].contains(&words);
        let key = |words: &str| words.split('=').next().map(str::to_owned);
        if *more
            && !alone(&here)
            && !alone(HERE[*other])
            && !here.contains(' ')
            && key(&here) != key(HERE[*other])
            && !HERE[*other].contains(' ')
        {
            here = format!("{here} {}", HERE[*other]);
        }
        let here = here.replace('#', &mark);
        let there = THERE[*there].replace('#', &mark);
        let get = |words: &str, key: &str| {
            words
                .split(' ')
                .find_map(|word| word.strip_prefix(key).map(str::to_owned))
        };
        // Here.
        let to = get(&here, "in=").unwrap_or_else(|| folder.to_owned());
        let slug = get(&here, "slug=").unwrap_or_else(|| name.to_owned());
        let file = get(&here, "file=").unwrap_or_else(|| slug.clone());
        let mut words = here.clone();
        if !places.insert((to.clone(), file)) {
            words = format!("slug={slug} file=other{number} {here}");
            places.insert((to.clone(), format!("other{number}")));
        }
        if *base || (here.len() > 2 && !here.contains('-')) {
            lines[1] = format!("{}; {name} in={to} {words}", lines[1]);
        }
        // There.
        let to = get(&there, "in=").unwrap_or_else(|| folder.to_owned());
        let slug = get(&there, "slug=").unwrap_or_else(|| name.to_owned());
        let mut words = there.clone();
        if !addresses.insert((to.clone(), slug)) {
            words = format!("slug=z{number} {there}");
        }
        if *base || (there.len() > 3 && !["gone", "hidden", "unread"].contains(&there.as_str())) {
            lines[2] = format!("{}; {name} in={to} {words}", lines[2]);
        }
    }
    lines
}

proptest! {
    #[test]
    fn several_articles_settle_and_nothing_is_lost(
        (fates, categories, direction, policy, rewrites) in fates()
    ) {
        let lines = lines(&fates, categories);
        let (direction, policy) = (DIRECTIONS[direction], POLICIES[policy]);
        let mut world = Small::new(&lines[0], &lines[1], &lines[2])
            .direction(direction)
            .on_conflict(policy);
        world.rewrites = rewrites;
        let edits = edits([&lines[1], &lines[2]], policy);
        let why = failure(|| run(world, &edits));
        prop_assert!(why.is_none(), "{lines:#?} {direction:?} {policy:?}: {}", why.unwrap_or_default());
    }

    #[test]
    fn the_order_of_what_was_seen_does_not_matter(
        (fates, categories, direction, policy, _) in fates(),
        turn in 0..6_usize,
    ) {
        let lines = lines(&fates, categories);
        let world = Small::new(&lines[0], &lines[1], &lines[2])
            .direction(DIRECTIONS[direction])
            .on_conflict(POLICIES[policy]);
        let mut turned = world.clone();
        turned.local.files.reverse();
        turned.local.categories.reverse();
        turned.local.unknown.reverse();
        let count = turned.local.files.len().max(1);
        turned.local.files.rotate_left(turn % count);
        prop_assert_eq!(world.plan(), turned.plan());
    }
}
