//! The exceptions of the judges of a direction, and of two runs, and beside each the sharper case that they still find.

use super::database::binding;
use super::held;
use super::isolation::{self, Piece, Struck};
use super::judged::removal;
use super::kb::{By, Kb};
use super::mirror::Mirror;
use super::oracle;
use super::relations::{Relation, differ};
use super::run::{Bench, Ground, Outcome, Source};
use super::step::{
    At, Call, Colleague, Command, PLAIN, Probing, Rewriting, Save, Setup, Step, Writer,
};
use super::tree::Tree;
use super::world::{Side, World};
use kbsync::engine::report::Report;
use kbsync::model::ArticleId;
use kbsync::reconcile::plan::Problem;
use kbsync::service::NewArticle;
use kbsync::state::Store;

const A: At = At(0, 0);
const SYNC: Step = Step::Run {
    command: Command::Sync,
};

/// A world in which a push runs, with an article of kbsync's own.
pub(super) fn pushing() -> (World, ArticleId) {
    let mut world = World::new(PLAIN, Mirror::Memory(Box::new(Tree::new(0))), 0);
    world.colleague(Colleague::Found { folder: 0 });
    let new = NewArticle {
        category: world.kb.category_at("alpha").expect("it is there"),
        title: "A".to_owned(),
        slug: "a".to_owned(),
        text: "<p>first</p>".to_owned(),
        introtext: String::new(),
        keywords: "zq001z".to_owned(),
        enabled: true,
        draft: false,
    };
    let id = world.kb.create(&new, By::Us).expect("created").id;
    world.ledger.spared = Some(Side::Mirror);
    (world, id)
}

/// Returns whether a push that writes a file, or creates one, writes more than it may.
fn is_more(was: Option<&str>, is: &str) -> bool {
    let (mut world, id) = pushing();
    let text = |front: &str| {
        let front = front.replace("ID", &id.to_string());
        format!("---\n{front}title: A\n---\n<p>first</p>\n").into_bytes()
    };
    world
        .mirror
        .save(A.folder(), "b.html", Vec::new(), Save::RenameOver);
    if let Some(was) = was {
        world
            .mirror
            .save(A.folder(), &A.file(), text(was), Save::RenameOver);
    }
    world.pushes_more(A.folder(), &A.file(), &text(is))
}

/// The same for a colleague's article, over a copy: the file of its original exists, or is gone.
fn is_more_over_a_copy(original: bool) -> bool {
    let (mut world, id) = pushing();
    world.colleague(Colleague::Post {
        at: At(0, 2),
        token: 2,
        shown: true,
    });
    let own = world.kb.article_at("alpha", "c").expect("it is there");
    let text = |id: ArticleId| format!("---\nid: {id}\ntitle: A\n---\n").into_bytes();
    let mut save = |name: &str| {
        world
            .mirror
            .save(A.folder(), name, text(id), Save::RenameOver);
    };
    save("c.html");
    if original {
        save("a.html");
    }
    world.pushes_more(A.folder(), "c.html", &text(own))
}

#[test]
fn a_push_writes_the_id_of_the_article_whose_place_a_copy_took() {
    assert!(!is_more_over_a_copy(true));
    assert!(is_more_over_a_copy(false));
}

/// An article has no file, and the report has a problem with a file of that name.
fn told_at(name: &str) -> Option<&'static str> {
    let (mut world, _) = pushing();
    let store = Store::in_memory(&binding()).expect("a state");
    let mut report = Report::new(false);
    report.problems.push(Problem {
        path: format!("alpha/{name}"),
        id: None,
        message: "which article's it is cannot be told".to_owned(),
    });
    // The file's last address is another one.
    let article = world.kb.articles.values_mut().next().expect("it is there");
    article.slug = "b".to_owned();
    held::i12_told(&mut world, &store, &report);
    world.ledger.violation.map(|violation| violation.invariant)
}

#[test]
fn what_has_no_file_is_told_of_by_what_is_wrong_with_the_one_at_its_address() {
    assert_eq!(told_at("b.html"), None);
    assert_eq!(told_at("c.html"), Some("I12"));
}

#[test]
fn a_push_writes_the_id_into_a_file_that_has_none_or_that_of_its_original_and_nothing_else() {
    let other = "id: 00000000-0000-4000-8000-000000000001\n";
    assert!(!is_more(Some(""), "id: ID\n"));
    assert!(!is_more(Some(other), "id: ID\n"));
    assert!(!is_more(Some(""), other));
    assert!(is_more(None, "id: ID\n"));
    assert!(is_more(Some("id: ID\n"), other));
    let hidden = "id: ID\nenabled: false\n";
    assert!(is_more(Some("id: ID\n"), hidden));
    assert!(is_more(Some(hidden), "id: ID\n"));
}

#[test]
fn a_push_moves_no_file_and_takes_none_away() {
    let (mut world, _) = pushing();
    let tokens = world.mirror.tokens();
    let copy = "RenameFile alpha/b.conflict.html alpha/a.conflict.html";
    world.effect(Side::Mirror, &tokens, copy, None);
    assert_eq!(world.ledger.violation, None);
    let file = "RenameFile alpha/a.conflict.html alpha/a.html";
    world.effect(Side::Mirror, &tokens, file, None);
    assert!(world.ledger.violation.is_some());
    let (mut world, _) = pushing();
    assert_eq!(removal(&mut world, "a.conflict.html"), None);
    assert_eq!(removal(&mut world, "a.html"), Some("I4"));
}

/// A run that continues for a day, with an article that its writer sent hidden.
fn hidden(setup: Setup) -> (Outcome, ArticleId) {
    let deed = Writer::Write {
        at: A,
        token: 1,
        enabled: false,
    };
    let steps = [Step::Mirror { deed }, SYNC];
    let mut bench = Bench::new();
    bench.outlasts = true;
    let run = bench.run(setup, Source::Steps(&steps), Ground::Memory);
    assert_eq!(run.violation, None);
    let id = run.known.first().expect("it was created").0;
    (run, id)
}

#[test]
fn a_line_enabled_false_may_be_missing_only_where_a_process_died_over_the_post() {
    let setup = Setup {
        lists_disabled: true,
        probing: Probing::Off,
        ..PLAIN
    };
    let (first, id) = hidden(setup);
    let (mut second, _) = hidden(setup);
    let mut found = false;
    for line in &mut second.end {
        found |= line.contains("\nenabled: false\n");
        *line = line.replace("\nenabled: false\n", "\n");
    }
    assert!(found, "{:?}", second.end);
    let relation = Relation::Killed { after: 1 };
    let invariant = |second: &Outcome| {
        let violation = differ(relation, &first, second);
        violation.map(|violation| violation.invariant)
    };
    assert_eq!(invariant(&second), Some("I7"));
    second.died_over.insert(id);
    assert_eq!(invariant(&second), None);
}

#[test]
fn what_is_not_asked_for_once_a_day_does_not_wait_for_a_day() {
    let (first, id) = hidden(PLAIN);
    let (mut second, _) = hidden(PLAIN);
    let rested = second.rested.as_mut().expect("it went on for a day");
    assert_eq!(rested.hidden, [id]);
    for line in &mut rested.lines {
        *line = line.replace("zq001z", "zq002z");
    }
    let relation = Relation::Order;
    assert_eq!(differ(relation, &first, &second), None);
    let mut first = first;
    for run in [&mut first, &mut second] {
        let rested = run.rested.as_mut().expect("it went on for a day");
        rested.hidden.clear();
    }
    let found = differ(relation, &first, &second);
    assert_eq!(found.map(|violation| violation.invariant), Some("I15"));
}

#[test]
fn a_state_has_read_the_mirror_once_it_says_so_itself() {
    let pull = Step::Run {
        command: Command::Pull,
    };
    let began_new = |steps: &[Step]| {
        let mut bench = Bench::new();
        bench.run(PLAIN, Source::Steps(steps), Ground::Memory).first
    };
    assert!(began_new(&[pull]));
    assert!(!began_new(&[pull, SYNC]));
    assert!(began_new(&[SYNC, Step::LoseState, SYNC]));
}

/// Returns the id of the article `number`.
fn number(number: u8) -> ArticleId {
    let id = format!("00000000-0000-4000-8000-00000000000{number}");
    id.parse().expect("an id")
}

/// A fault strikes the first article. The second article comes to its address, or to another; by the state it had the
/// address of a third article before, and the third article differs.
fn beside(comes: &str) -> Option<&'static str> {
    let at = |slug: &str| ("alpha".to_owned(), slug.to_owned());
    let piece = |id: u8, slug: &str, words: &str| Piece {
        side: Side::Service,
        id: Some(number(id)),
        at: at(slug),
        words: words.to_owned(),
    };
    let run = |words: &str, slug: &str| {
        let mut bench = Bench::new();
        let mut run = bench.run(PLAIN, Source::Steps(&[]), Ground::Memory);
        run.halfway = vec![
            piece(1, "a", "one"),
            piece(2, slug, "two"),
            piece(3, "c", words),
        ];
        run.known = vec![(number(1), at("a")), (number(2), at("c"))];
        run.struck = Some(Struck {
            call: Call::Update,
            what: number(1).to_string(),
            id: None,
        });
        run
    };
    let found = isolation::differ(&run("three", comes), &run("other", comes));
    found.map(|violation| violation.invariant)
}

#[test]
fn what_once_had_an_address_in_the_books_waits_for_nobody() {
    assert_eq!(beside("a"), Some("I13"));
    assert_eq!(beside("c"), Some("I13"));
}

/// A fault strikes the article of one of two files, and without it the other file changes. One of the files wants the
/// address of the other article.
fn with_it_out_of_the_way(first_wants: bool, other_address: &str) -> Option<&'static str> {
    let file = |id: u8, name: &str, slug: &str| Piece {
        side: Side::Mirror,
        id: Some(number(id)),
        at: ("beta".to_owned(), name.to_owned()),
        words: format!("beta/{name}.html: ---\nslug: {slug}\n---\n"),
    };
    let article = |folder: &str| Piece {
        side: Side::Service,
        id: Some(number(2)),
        at: (folder.to_owned(), other_address.to_owned()),
        words: folder.to_owned(),
    };
    let run = |folder: &str| {
        let mut bench = Bench::new();
        let mut run = bench.run(PLAIN, Source::Steps(&[]), Ground::Memory);
        run.halfway = vec![
            file(1, "b", if first_wants { "a" } else { "b" }),
            file(3, "c", if first_wants { "c" } else { "a" }),
            article(folder),
        ];
        run.struck = Some(Struck {
            call: Call::Read,
            what: number(1).to_string(),
            id: None,
        });
        run
    };
    let found = isolation::differ(&run("alpha"), &run("beta"));
    found.map(|violation| violation.invariant)
}

#[test]
fn what_has_the_address_that_an_articles_file_wants_waits_for_it() {
    assert_eq!(with_it_out_of_the_way(true, "a"), None);
    assert_eq!(with_it_out_of_the_way(false, "a"), Some("I13"));
    assert_eq!(with_it_out_of_the_way(true, "d"), Some("I13"));
}

#[test]
fn an_empty_line_between_elements_is_the_writers_own_where_the_editor_closes_lines() {
    let says = |rewriting, file: &str| {
        let kb = Kb::new(Setup { rewriting, ..PLAIN });
        oracle::says_text(&kb, file, "<p>1</p><p>2</p><!-- -->")
    };
    assert!(says(Rewriting::Editor, "<p>1</p>\n\n<p>2</p>"));
    assert!(!says(Rewriting::Editor, "<p>1</p>\n\n<p>3</p>"));
    let marked = "<p>1</p>\n\n<p>2</p><!-- -->";
    assert!(!says(Rewriting::Trim, marked));
    assert!(!says(Rewriting::Nothing, marked));
}

/// A fault strikes an article, and the file of another article, which differs, wants this address.
fn wants_anothers(address: &str) -> Option<&'static str> {
    let run = |words: &str| {
        let mut bench = Bench::new();
        let mut run = bench.run(PLAIN, Source::Steps(&[]), Ground::Memory);
        run.halfway = vec![
            Piece {
                side: Side::Service,
                id: Some(number(1)),
                at: ("alpha".to_owned(), "a".to_owned()),
                words: "one".to_owned(),
            },
            Piece {
                side: Side::Mirror,
                id: Some(number(2)),
                at: ("alpha".to_owned(), "b".to_owned()),
                words: format!("alpha/b.html: ---\nslug: {address}\n---\n{words}"),
            },
        ];
        run.struck = Some(Struck {
            call: Call::Read,
            what: number(1).to_string(),
            id: None,
        });
        run
    };
    let found = isolation::differ(&run("two"), &run("other"));
    found.map(|violation| violation.invariant)
}

#[test]
fn what_wants_the_address_that_an_article_has_waits_for_it() {
    assert_eq!(wants_anothers("a"), None);
    assert_eq!(wants_anothers("c"), Some("I13"));
}
