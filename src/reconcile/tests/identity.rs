//! Pairing files with articles, and folders with categories.

use super::small::{Small, category, table, table_for};
use crate::reconcile::snapshot::LocalCategory;

/// Base, mirror, service, and the plan.
const FILES: &[[&str; 4]] = &[
    [
        "two/; a; b in=two",
        "a file=x",
        "",
        "-> move start/x.html (slug), was a.html; its public address changes from a to x",
    ],
    [
        "two/; a; b in=two",
        "a in=two",
        "",
        "-> move two/a.html (category), was in start/",
    ],
    [
        "two/; a; b in=two",
        "a in=new",
        "",
        "-> create-category new; -> move new/a.html (category), was in start/",
    ],
    [
        "two/; a; b in=two",
        "a slug=x file=a",
        "",
        "-> move start/a.html (slug), its public address changes from a to x",
    ],
    [
        "two/; a; b in=two",
        "a noid title=X",
        "",
        "-> update start/a.html (title)",
    ],
    [
        "two/; a; b in=two",
        "start/ folder=first; a noid title=X",
        "",
        "-> update-category first (slug), its public address changes from start to first; -> update first/a.html (title)",
    ],
    [
        "two/; a; b in=two",
        "a noid in=two",
        "",
        "!! two/a.html: kbsync cannot tell whether this file is article #a from start/a.html or a new article: it has the same title and text. If it is that article, add `id: #a` to it. If it is new, change its title.",
    ],
    [
        "two/; a; b in=two",
        "a noid in=two title=X",
        "",
        "-> create two/a.html; -> delete start/a.html",
    ],
    // Two articles with the same content: neither is deleted.
    [
        "two/; a; c title=A; b in=two",
        "a noid in=two; c -",
        "",
        "!! two/a.html: kbsync cannot tell whether this file is article #c from start/c.html or a new article: it has the same title and text. If it is that article, add `id: #c` to it. If it is new, change its title.; !! two/a.html: kbsync cannot tell whether this file is article #a from start/a.html or a new article: it has the same title and text. If it is that article, add `id: #a` to it. If it is new, change its title.",
    ],
    // An article that is gone from the service cannot be duplicated.
    [
        "two/; a; b in=two",
        "a noid in=two",
        "a gone",
        "<> forget start/a.html; -> create two/a.html",
    ],
    [
        "two/; a; b in=two",
        "n",
        "n",
        "<> adopt start/n.html, its id is written into the file",
    ],
    [
        "two/; a; b in=two",
        "n file=other slug=n",
        "n",
        "<> adopt start/other.html, its id is written into the file",
    ],
    [
        "two/; a; b in=two",
        "a -; n slug=a file=n",
        "",
        "-> update start/n.html (title)",
    ],
    // An article that moved to a new file's address only now is not the file's article.
    [
        "two/; a; b in=two",
        "b -; n",
        "b in=start slug=n",
        "<- restore start/n~#b.html, removed here and edited on the service: the edit wins; -> create start/n.html, held",
    ],
    [
        "two/; a; b in=two",
        "a; n id=a",
        "",
        "-> create start/n.html",
    ],
    [
        "two/; a; b in=two",
        "a -; n id=a; m id=a",
        "",
        "!! start/m.html: kbsync cannot tell whether start/m.html or start/n.html is the file of article #a: remove the `id:` line from all but the article's own; !! start/n.html: kbsync cannot tell whether start/m.html or start/n.html is the file of article #a: remove the `id:` line from all but the article's own",
    ],
    [
        "two/; a; b in=two",
        "a; b id=a",
        "",
        "!! two/b.html: the file of article #b now has the id #a. If that is a mistake, put `id: #b` back. If not, move the file to another name (without its `id:` line if it is a new article); then article #b is deleted, unless you restore its own file",
    ],
    [
        "two/; a; b in=two",
        "a -; b in=two id=a file=b",
        "",
        "-> delete two/b.html; -> move two/b.html (title, slug, category), was a.html in start/; its public address changes from a to b",
    ],
    [
        "two/; a; b in=two",
        "b -; a in=two file=b",
        "",
        "-> delete two/b.html; -> move two/b.html (slug, category), was a.html in start/; its public address changes from a to b",
    ],
    // Two articles had one place: the article whose file is present keeps the place.
    [
        "a; b file=a",
        "b -; n id=a",
        "b unread",
        "-> create start/n.html",
    ],
    [
        "a; b file=a",
        "a -; n id=b",
        "a unread",
        "-> create start/n.html",
    ],
    ["two/; a; b in=two", "a ?", "", ""],
    ["two/; a; b in=two", "a ?; n id=a", "", ""],
    ["two/; a; b in=two", "a ? in=two file=a; n id=a", "", ""],
    [
        "two/; a; b in=two",
        "n ? id=a; a title=X",
        "",
        "-> update start/a.html (title)",
    ],
    ["two/; a; b in=two", "n ? id=a; a - ", "", ""],
    // The id belongs to no known article, as in a file from another mirror: nobody removed the file.
    [
        "two/; a; b in=two",
        "a id=n",
        "n gone",
        "!! start/a.html: the file of article #a now has the id #n. If that is a mistake, put `id: #a` back. If not, move the file to another name (without its `id:` line if it is a new article); then article #a is deleted, unless you restore its own file",
    ],
    // The same with a known id; an article that is gone has nothing left to lose.
    [
        "two/; a; b in=two",
        "a id=n",
        "n",
        "!! start/a.html: the file of article #a now has the id #n. If that is a mistake, put `id: #a` back. If not, move the file to another name (without its `id:` line if it is a new article); then article #a is deleted, unless you restore its own file",
    ],
    [
        "two/; a; b in=two",
        "a id=n",
        "n; a gone",
        "<> forget start/a.html; <> conflict start/a.html (title, slug), held",
    ],
    [
        "two/; a; b in=two",
        "a -; b id=n; n id=b in=two",
        "n gone",
        "<> conflict two/b.html, held; -> move two/n.html (title, slug), was b.html; its public address changes from b to n; -> delete start/a.html",
    ],
    [
        "two/; a; b in=two",
        "n id=n",
        "",
        "<> conflict start/n.html, held",
    ],
    [
        "two/; a; b in=two",
        "n id=n",
        "n gone",
        "<> conflict start/n.html, held",
    ],
    [
        "two/; a; b in=two",
        "n id=n",
        "n hidden",
        "<> conflict start/n.html, held",
    ],
];

#[test]
fn a_file_is_an_article_by_its_id_its_place_or_its_address() {
    table(FILES);
}

/// Base, mirror, service, and the plan.
const FOLDERS: &[[&str; 4]] = &[
    [
        "two/; a; b in=two",
        "start/ noyaml",
        "",
        "<- update-category start",
    ],
    [
        "two/; a; b in=two",
        "start/ noyaml folder=first",
        "",
        "<- forget start, its folder was removed here; the category stays on the service, because only the dashboard can delete a category; -> create-category first, held; -> move first/a.html (category), was in start/, held",
    ],
    [
        "two/; a; b in=two",
        "start/ folder=first",
        "",
        "-> update-category first (slug), its public address changes from start to first",
    ],
    // A slug in another case renames no folder.
    [
        "two/; a; b in=two",
        "",
        "start/ slug=START",
        "<- update-category start (slug)",
    ],
    [
        "two/; a; b in=two",
        "start/ -",
        "",
        "<- forget start, its folder was removed here; the category stays on the service, because only the dashboard can delete a category; -> delete start/a.html",
    ],
    [
        "two/; a; b in=two",
        "two/ folder=start; start/ folder=two",
        "",
        "!! start/_category.yaml: the folder of category #start now has the id #two. If that is a mistake, put `id: #start` back. If folders exchanged their names, use a third name in between: rename start to it, and sync; !! two/_category.yaml: the folder of category #two now has the id #start. If that is a mistake, put `id: #two` back. If folders exchanged their names, use a third name in between: rename two to it, and sync",
    ],
    // Only the files `_category.yaml` were exchanged: no article moves.
    [
        "two/; a; b in=two",
        "two/ folder=start; start/ folder=two; a in=start; b in=two title=X",
        "n in=two",
        "!! \"N\" is in category #two, which cannot be read or has no clear folder; !! start/_category.yaml: the folder of category #start now has the id #two. If that is a mistake, put `id: #start` back. If folders exchanged their names, use a third name in between: rename start to it, and sync; !! two/_category.yaml: the folder of category #two now has the id #start. If that is a mistake, put `id: #two` back. If folders exchanged their names, use a third name in between: rename two to it, and sync",
    ],
    [
        "two/; a; b in=two",
        "two/ folder=start; start/ -; a in=start; b in=two",
        "",
        "<- update-category two; !! start/_category.yaml: the folder of category #start now has the id #two. If that is a mistake, put `id: #start` back. If folders exchanged their names, use a third name in between: rename start to it, and sync",
    ],
    // A folder may take the name of a folder that left it.
    [
        "two/; a; b in=two",
        "two/ folder=three; start/ folder=two",
        "",
        "-> update-category three (slug), its public address changes from two to three; -> update-category two (slug), its public address changes from start to two, held",
    ],
    [
        "two/; a; b in=two",
        "start/ ?; a title=X",
        "",
        "-> update start/a.html (title)",
    ],
    ["two/; a; b in=two", "new/", "", "-> create-category new"],
    [
        "two/; a; b in=two",
        "new/; n in=new",
        "",
        "-> create-category new; -> create new/n.html",
    ],
    [
        "two/; a; b in=two",
        "n in=new",
        "",
        "-> create-category new; -> create new/n.html",
    ],
    [
        "two/; a; b in=two",
        "new/ id=far",
        "",
        "!! new/_category.yaml: category #far cannot be read on the service; correct the `id:` line, or remove it to create a new category",
    ],
    [
        "two/; a; b in=two",
        "new/ id=far",
        "far/",
        "<> update-category new (name, slug), held",
    ],
    ["two/; a; b in=two", "new/", "new/", "<> adopt new"],
    [
        "two/; a; b in=two",
        "new/ id=two",
        "",
        "-> create-category new",
    ],
    [
        "two/; a; b in=two",
        "two/ -; new/ id=two; newer/ id=two",
        "",
        "!! new/_category.yaml: the same category id is in new and newer; remove the `id:` line from all but one; !! newer/_category.yaml: the same category id is in new and newer; remove the `id:` line from all but one",
    ],
];

#[test]
fn a_folder_is_a_category_by_its_id_its_place_or_its_slug() {
    table(FOLDERS);
}

#[test]
fn a_slug_in_another_case_renames_no_folder_with_a_longer_name() {
    let long = format!("Foo~{}", &category("start").uuid().to_string()[..8]);
    let base = format!("start/ slug=Foo folder={long}; two/ folder=foo; a; b in=two");
    let plan = "<- update-category Foo~#start (slug)";
    table(&[[&base, "", "start/ slug=foo", plan]]);
}

#[test]
fn what_lies_in_a_new_folder_of_the_old_name_is_a_copy() {
    let copied = |mut world: Small| {
        let mut copy = world.file_of("a").clone();
        copy.place.folder = "start".to_owned();
        world.local.files.push(copy);
        world.local.categories.push(LocalCategory {
            folder: "start".to_owned(),
            id: None,
            version: None,
        });
        world
    };
    let plan = "-> update-category zzz (slug), its public address changes from start to zzz; -> create-category start, \
                held; -> create start/a.html, held";
    table_for(&[["a", "start/ folder=zzz", "", plan]], copied);
}

/// Pending creations: base, mirror, service, and the plan.
const CREATIONS: &[[&str; 4]] = &[
    // The step that creates the article checks first, whatever the file's content is by now.
    [
        "a; n creating",
        "a; n title=X",
        "",
        "-> create start/n.html",
    ],
    // The article exists and only lacks its id in the file: the holder of the address is checked later.
    [
        "a; n creating",
        "a; n slug=a file=n",
        "",
        "-> create start/n.html, held",
    ],
    [
        "a; n creating made",
        "a; n slug=a file=n",
        "",
        "-> create start/n.html",
    ],
    // A missing file is not created.
    ["a; n creating", "a", "", ""],
    // A colleague may have changed the article's address, which gets no second file.
    [
        "a; n creating",
        "a",
        "n slug=m",
        "!! start/n.html: kbsync cannot tell whether article #n was created from this file: it has the title and text that kbsync sent. kbsync writes no file for that article until it can read this one. If this is its file, add `id: #n` to it. An ignored file has to be shown again, or removed.",
    ],
    [
        "a; n creating",
        "a",
        "n slug=m title=X",
        "<- create start/m.html",
    ],
    // Another file with the same content may be its file, and may lie at another article's place.
    [
        "a; n creating",
        "a; n file=m slug=m",
        "",
        "!! start/m.html: kbsync cannot tell whether this file is the article that was to be created from start/n.html or a new article: it has the same title and text. If it is that article, move it back to start/n.html. If it is new, change its title.",
    ],
    [
        "a; n creating",
        "n file=a slug=a",
        "",
        "!! start/a.html: kbsync cannot tell whether this file is the article that was to be created from start/n.html or a new article: it has the same title and text. If it is that article, move it back to start/n.html. If it is new, change its title.",
    ],
    [
        "a; n creating",
        "a; n file=m slug=m title=X",
        "",
        "-> create start/m.html",
    ],
    // The article was created from a copy, which still has the id of the original.
    ["a; n creating", "a; n id=a", "", "-> create start/n.html"],
    [
        "a; n creating",
        "a file=m; n id=a",
        "",
        "-> move start/m.html (slug), was a.html; its public address changes from a to m; -> create start/n.html",
    ],
    [
        "a; n creating",
        "a -; n id=a",
        "",
        "!! start/n.html: kbsync cannot tell whether start/n.html is the file of article #a: remove the `id:` line if it is a new article, or move it to another name if it is the article's own",
    ],
];

#[test]
fn an_article_that_is_being_created_has_a_new_file() {
    table(CREATIONS);
}

/// Returns the number of actions and the problems, for a new file and a listed article with this content.
fn alike(file: &str, article: &str) -> (usize, Vec<String>) {
    let plan = Small::new("a", &format!("a; {file}"), &format!("a; {article}")).plan();
    let messages = plan.problems.iter().map(|problem| problem.message.clone());
    (plan.actions.len(), messages.collect())
}

#[test]
fn a_new_file_that_says_what_an_article_without_a_file_says_is_held() {
    let file = "n file=other title=T text=words";
    let (actions, problems) = alike(file, "n title=T text=words");
    assert_eq!(actions, 0, "neither is created");
    let [problem] = problems.as_slice() else {
        panic!("one problem, not {problems:?}");
    };
    assert!(problem.contains("add `id: "), "{problem}");
    // The file's article is created and the listed article is pulled, if title or text differ.
    for article in ["n title=U text=words", "n title=T text=others"] {
        assert_eq!(alike(file, article), (2, vec![]), "{article}");
    }
}
