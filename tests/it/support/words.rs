//! The words that people wrote, and the check that they are within reach: on a side, or in the history as a version of
//! an article or a category.
//!
//! Every word counts: titles, summaries and keywords as well as texts, the words of categories, and the writer's own
//! lines of a file. A body without a version is shown by no command, so it counts as lost.

use kbsync::mirror::document::{CategoryDocument, Document};
use kbsync::model::path::CATEGORY_FILE;
use kbsync::model::{ArticleId, CategoryId, Place, TextDigest};
use kbsync::sandbox::{Article, Category};
use kbsync::state::{Store, StoredVersion, Subject};
use std::collections::{BTreeMap, BTreeSet};

/// A piece of writing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Words {
    Article {
        title: String,
        introtext: String,
        keywords: String,
        text: String,
    },
    Category {
        name: String,
        description: String,
        meta_description: String,
    },
    /// A line of a file that the service does not store: a remark, or a key of the writer's own.
    Own(String),
}

/// Both sides at one moment.
pub(crate) struct Sides {
    /// The content of each file by its path.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) articles: Vec<Article>,
    pub(crate) categories: Vec<Category>,
}

impl Sides {
    /// Returns all words on either side.
    pub(crate) fn words(&self) -> BTreeSet<Words> {
        let files = self
            .files
            .iter()
            .flat_map(|(path, content)| in_file(path, content));
        let articles = self.articles.iter().map(of_article);
        let categories = self.categories.iter().map(of_category);
        files.chain(articles).chain(categories).collect()
    }

    fn subjects(&self) -> Vec<Subject> {
        let articles = self
            .articles
            .iter()
            .map(|one| Subject::Article(ArticleId::new(one.id)));
        let categories = self
            .categories
            .iter()
            .map(|one| Subject::category(CategoryId::new(one.id)));
        let places = self.files.keys().filter_map(|path| {
            let (folder, file) = path.split_once('/')?;
            Some(Subject::File(Place::new(folder, file)))
        });
        articles.chain(categories).chain(places).collect()
    }
}

/// The words written so far.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) words: BTreeSet<Words>,
    /// The subjects under which the history may have the words.
    subjects: Vec<Subject>,
}

impl Written {
    /// Adds the present words of both sides.
    pub(crate) fn add(&mut self, sides: &Sides) {
        self.words.extend(sides.words());
        self.subjects.extend(sides.subjects());
    }

    /// Returns the words that are neither on a side nor in the history any more.
    pub(crate) fn lost(&self, sides: &Sides, store: impl FnOnce() -> Option<Store>) -> Vec<Words> {
        let there = sides.words();
        let mut missing: Vec<_> = self.words.difference(&there).cloned().collect();
        if missing.is_empty() {
            return missing;
        }
        let Some(store) = store() else { return missing };
        let history = self.history(&store);
        missing.retain(|words| !history.contains(words));
        missing
    }

    /// Returns all words that the history can bring back.
    pub(crate) fn history(&self, store: &Store) -> BTreeSet<Words> {
        let mut subjects: Vec<_> = store
            .articles()
            .expect("read")
            .into_iter()
            .map(|row| Subject::Article(row.id))
            .collect();
        let deleted = store.deleted_articles().expect("read").into_iter();
        subjects.extend(deleted.map(|kept| kept.seen.subject));
        for subject in &self.subjects {
            if let Subject::File(place) = subject {
                subjects.extend(store.subjects_at(place).expect("read"));
            }
            subjects.push(subject.clone());
        }
        let mut known = Vec::new();
        let mut words = BTreeSet::new();
        for subject in subjects {
            if known.contains(&subject) {
                continue;
            }
            for kept in store.versions(&subject).expect("read") {
                words.extend(in_version(store, &kept));
            }
            known.push(subject);
        }
        words
    }
}

/// Returns the words that a version of the history can bring back.
pub(crate) fn in_version(store: &Store, kept: &StoredVersion) -> Vec<Words> {
    let body = |digest: TextDigest| store.body(digest).expect("read");
    let version = &kept.seen.version;
    let mut words = Vec::new();
    if kept.seen.subject.is_category() {
        words.push(Words::Category {
            name: version.title.clone(),
            description: version.introtext.clone(),
            meta_description: version.keywords.clone(),
        });
    } else if let Some(text) = body(version.text) {
        words.push(Words::Article {
            title: version.title.clone(),
            introtext: version.introtext.clone(),
            keywords: version.keywords.clone(),
            text,
        });
    }
    if let Some(whole) = kept.seen.file.and_then(body) {
        words.extend(in_file(&kept.seen.place.to_string(), &whole));
    }
    words
}

/// Returns the words of a file of the mirror. A file that is not ready has only the words of its own lines.
pub(crate) fn in_file(path: &str, content: &str) -> Vec<Words> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (head, words) = if name == CATEGORY_FILE {
        let words = CategoryDocument::parse(content.as_bytes())
            .ok()
            .and_then(|file| {
                Some(Words::Category {
                    name: file.name()?.to_owned(),
                    description: file.description().to_owned(),
                    meta_description: file.meta_description().to_owned(),
                })
            });
        (content, words)
    } else if let Ok(file) = Document::parse_leniently(content.as_bytes()) {
        let head = content.get(3..).and_then(|rest| rest.split("\n---").next());
        let words = Words::Article {
            title: file.title().to_owned(),
            introtext: file.introtext().to_owned(),
            keywords: file.keywords().to_owned(),
            text: file.text().to_owned(),
        };
        (head.unwrap_or_default(), Some(words))
    } else {
        ("", None)
    };
    let own = head
        .lines()
        .filter(|line| is_own(line))
        .map(|line| Words::Own(line.to_owned()));
    words.into_iter().chain(own).collect()
}

/// Returns whether a line of front matter is the writer's own.
fn is_own(line: &str) -> bool {
    const KEYS: [&str; 10] = [
        "id",
        "title",
        "slug",
        "enabled",
        "draft",
        "introtext",
        "keywords",
        "name",
        "description",
        "meta_description",
    ];
    let key = line.split(':').next().unwrap_or_default();
    line.starts_with('#') || line.contains(" #") || (line.contains(": ") && !KEYS.contains(&key))
}

pub(crate) fn of_article(article: &Article) -> Words {
    Words::Article {
        title: article.title.clone(),
        introtext: article.introtext.clone().unwrap_or_default(),
        keywords: article.keywords.clone().unwrap_or_default(),
        text: article.text.clone(),
    }
}

pub(crate) fn of_category(category: &Category) -> Words {
    Words::Category {
        name: category.name.clone(),
        description: category.description.clone().unwrap_or_default(),
        meta_description: category.meta_description.clone().unwrap_or_default(),
    }
}
