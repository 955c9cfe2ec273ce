//! The order of actions, waiting actions, and the names of files.

use super::small::{Small, article, table};
use crate::reconcile::guard::MaxDeletes;
use crate::reconcile::snapshot::Remote;

/// Base, mirror, service, and the plan.
const ADDRESSES: &[[&str; 4]] = &[
    [
        "a; b",
        "a slug=b; b slug=c",
        "",
        "-> move start/c.html (slug), was b.html; its public address changes from b to c; -> move start/b.html (slug), was a.html; its public address changes from a to b",
    ],
    [
        "a; b",
        "a slug=b; b slug=a",
        "",
        "-> move start/a.html (slug), was b.html; its public address changes from b to a, held; -> move start/b.html (slug), was a.html; its public address changes from a to b, held",
    ],
    [
        "a; b; c",
        "a slug=b; b slug=c; c slug=a",
        "",
        "-> move start/a.html (slug), was c.html; its public address changes from c to a, held; -> move start/b.html (slug), was a.html; its public address changes from a to b, held; -> move start/c.html (slug), was b.html; its public address changes from b to c, held",
    ],
    [
        "a; b",
        "a slug=b; b -",
        "",
        "-> delete start/b.html; -> move start/b.html (slug), was a.html; its public address changes from a to b",
    ],
    [
        "a; b",
        "a slug=b file=a",
        "",
        "-> move start/a.html (slug), its public address changes from a to b, held",
    ],
    [
        "a; b",
        "a slug=b file=a; b -",
        "b hidden",
        "-> delete start/b.html, held; -> move start/a.html (slug), its public address changes from a to b, held",
    ],
    [
        "a; b",
        "a slug=b file=a; b slug=c title=X",
        "b title=Y",
        "<> conflict start/c.html (title), held; -> move start/a.html (slug), its public address changes from a to b, held",
    ],
    [
        "a; b",
        "a slug=x file=a; b slug=x file=b",
        "",
        "-> move start/a.html (slug), its public address changes from a to x, held; -> move start/b.html (slug), its public address changes from b to x, held",
    ],
    [
        "a; b in=two",
        "a in=two",
        "",
        "-> move two/a.html (category), was in start/",
    ],
    [
        "a; b in=two slug=a",
        "a in=two file=z slug=a; b in=start file=y slug=a",
        "",
        "-> move start/y.html (category), was a.html in two/, held; -> move two/z.html (category), was a.html in start/, held",
    ],
    ["a", "n slug=a file=n", "", "-> create start/n.html, held"],
    [
        "a",
        "n file=n; m slug=n file=m",
        "",
        "-> create start/m.html, held; -> create start/n.html, held",
    ],
    [
        "a; b",
        "b -",
        "a title=X; n in=start",
        "<- update start/a.html (title); <- create start/n.html; -> delete start/b.html",
    ],
];

#[test]
fn addresses_are_left_before_they_are_taken() {
    table(ADDRESSES);
}

/// Base, mirror, service, and the plan.
const NAMES: &[[&str; 4]] = &[
    [
        "a; b",
        "",
        "a slug=b; b slug=a",
        "<- move start/a.html (slug), was b.html; <- move start/b~#a.html (slug), was a.html",
    ],
    [
        "a; b; c",
        "",
        "a slug=b; b slug=c; c slug=a",
        "<- move start/a.html (slug), was c.html; <- move start/b~#a.html (slug), was a.html; <- move start/c~#b.html (slug), was b.html",
    ],
    [
        "a",
        "",
        "a gone; n slug=a in=start",
        "<- delete start/a.html; <- create start/a.html",
    ],
    [
        "a",
        "a title=X",
        "a gone; n slug=a in=start",
        "<- create start/a~#n.html; <> conflict start/a.html, held",
    ],
    [
        "a",
        "a title=X",
        "a slug=b title=Y; n slug=a in=start",
        "<- create start/a~#n.html; <> conflict start/a.html (title), held",
    ],
    [
        "a",
        "a title=X",
        "a slug=b; n slug=a in=start",
        "<- create start/a~#n.html; <> merge start/b.html (title, slug)",
    ],
    [
        "a file=mine",
        "",
        "a slug=b",
        "<- update start/mine.html (slug)",
    ],
    [
        "a",
        "",
        "a slug=B; n slug=b",
        "<- move start/B.html (slug), was a.html; <- create start/b~#n.html",
    ],
    [
        "a",
        "",
        "a slug=../x",
        "<- move start/x~#a.html (slug), was a.html",
    ],
    [
        "a",
        "",
        "a slug=a.conflict",
        "<- move start/a-conflict~#a.html (slug), was a.html",
    ],
    [
        "a; b in=two slug=a",
        "",
        "a in=two slug=c",
        "<- move two/c.html (slug, category), was a.html in start/",
    ],
    [
        "a; b in=two file=a",
        "",
        "a in=two",
        "<- move two/a~#a.html (category), was a.html in start/",
    ],
    ["a", "", "n slug=A in=start", "<- create start/A~#n.html"],
    ["a", "n ?", "n in=start", "<- create start/n~#n.html"],
    [
        "a; b",
        "",
        "start/ slug=first",
        "<- update-category first (slug)",
    ],
    [
        "start/ folder=mine; a",
        "",
        "start/ slug=first",
        "<- update-category mine (slug)",
    ],
    [
        "a; two/",
        "",
        "start/ slug=two; two/ slug=start",
        "<- update-category start~#two (slug); <- update-category two (slug)",
    ],
    [
        "a",
        "",
        "start/ slug=first; m in=new; new/ slug=start",
        "<- update-category first (slug); <- create-category start; <- create start/m.html",
    ],
    [
        "a",
        "",
        "start/ slug=first; a title=X slug=b",
        "<- update-category first (slug); <- move first/b.html (title, slug), was a.html in start/",
    ],
    [
        "a",
        "a title=X",
        "start/ slug=first",
        "<- update-category first (slug); -> update first/a.html (title)",
    ],
    [
        "a",
        "",
        "a in=new unread-category",
        "!! start/a.html: \"A\" is in category #new, which cannot be read or has no clear folder",
    ],
    [
        "a",
        "a -",
        "a in=new unread-category title=X",
        "!! start/a.html: \"X\" is in category #new, which cannot be read or has no clear folder",
    ],
    [
        "a",
        "",
        "n in=new unread-category",
        "!! \"N\" is in category #new, which cannot be read or has no clear folder",
    ],
];

#[test]
fn names_are_left_before_they_are_taken() {
    table(NAMES);
}

#[test]
fn what_needs_something_that_is_held_waits_with_it() {
    // The removal that frees a name is held, and so is the action that takes the name.
    let mut world = Small::new("a", "", "a gone; n slug=a in=start");
    world.facts.doubt = Some("the service could not be asked".to_owned());
    assert_eq!(
        super::small::short(&world.planned()),
        "<- delete start/a.html, held; <- create start/a.html, held"
    );
    // Likewise the deletion that frees a slug.
    let mut world = Small::new("a; b", "a slug=b; b -", "");
    world.facts.deletions.limit = MaxDeletes {
        count: 0,
        percent: 0,
    };
    assert_eq!(
        super::small::short(&world.planned()),
        "-> move start/b.html (slug), was a.html; its public address changes from a to b, held; \
         -> delete start/b.html, held"
    );
}

#[test]
fn what_needs_a_category_that_is_held_waits_with_it() {
    let mut world = Small::new("a", "a in=new; n in=new", "");
    world.refuse_first("403 Forbidden");
    assert_eq!(
        super::small::short(&world.planned()),
        "-> create-category new, held; -> move new/a.html (category), was in start/, held; -> create new/n.html, held"
    );
}

#[test]
fn f028_who_has_an_address_without_being_seen_still_has_it() {
    let mut world = Small::new("a; b", "a slug=b file=a", "b hidden");
    let held = "-> move start/a.html (slug), its public address changes from a to b, held";
    assert!(super::small::short(&world.planned()).contains(held));
    world.remote.articles.insert(article("b"), Remote::Gone);
    assert!(!super::small::short(&world.planned()).contains(held));
}
