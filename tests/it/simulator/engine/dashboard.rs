//! The colleagues' deeds in the dashboard. A deed without its object does nothing.

use super::kb::{By, workspace};
use super::step::{At, Colleague, Part, folder_name};
use super::token::word;
use super::world::World;
use kbsync::model::{ArticleId, CategoryId, CategoryVersion};
use kbsync::service::{ArticlePatch, CategoryPatch, NewArticle, NewCategory};

impl World {
    pub(super) fn dashboard(&mut self, deed: Colleague) {
        match deed {
            Colleague::Found { folder } => {
                self.found(folder_name(folder));
            }
            Colleague::Post { at, token, shown } => self.post(at, token, shown),
            Colleague::Change { at, part, token } => self.change(at, part, token),
            Colleague::Revert { at } => {
                let before = self.remote(at).and_then(|id| {
                    let article = self.kb.articles.get(&id)?;
                    Some((id, article.before.clone()?))
                });
                if let Some((id, (title, text))) = before {
                    self.patch(
                        id,
                        &ArticlePatch {
                            title: Some(title),
                            text: Some(text),
                            ..ArticlePatch::default()
                        },
                    );
                }
            }
            Colleague::Touch { at } => {
                if let Some(id) = self.remote(at) {
                    self.patch(id, &ArticlePatch::default());
                }
            }
            Colleague::Delete { at } => {
                if let Some(id) = self.remote(at) {
                    self.ledger.lately_gone.insert(id);
                    let sent = self.kb.articles.get(&id).map(|article| article.sent);
                    self.ledger.deleted_there.extend(sent);
                    let gone = self.kb.delete(id, By::Colleague);
                    self.note(&format!("  {}", gone.is_ok()));
                }
            }
            Colleague::Show { at, on } => {
                if let Some(id) = self.remote(at) {
                    if let Some(article) = self.kb.articles.get_mut(&id).filter(|_| on) {
                        article.draft = false;
                    }
                    self.patch(
                        id,
                        &ArticlePatch {
                            enabled: Some(on),
                            ..ArticlePatch::default()
                        },
                    );
                }
            }
            Colleague::Readdress { from, to } => {
                if let (Some(id), Some(category)) =
                    (self.remote(from), self.kb.category_at(to.folder()))
                {
                    self.patch(
                        id,
                        &ArticlePatch {
                            slug: Some(to.slug().to_owned()),
                            category: Some(category),
                            ..ArticlePatch::default()
                        },
                    );
                }
            }
            Colleague::Rename { folder, token } => {
                let patch = CategoryPatch {
                    name: Some(word(token)),
                    ..CategoryPatch::default()
                };
                self.ledger.aside.insert(token);
                self.patch_category(folder, &patch);
            }
            Colleague::Reslug { from, to } => {
                let patch = CategoryPatch {
                    slug: Some(folder_name(to).to_owned()),
                    ..CategoryPatch::default()
                };
                self.patch_category(from, &patch);
            }
        }
    }

    fn remote(&self, at: At) -> Option<ArticleId> {
        self.kb.article_at(at.folder(), at.slug())
    }

    fn found(&mut self, slug: &str) -> Option<CategoryId> {
        if let Some(id) = self.kb.category_at(slug) {
            return Some(id);
        }
        let new = NewCategory {
            workspace: workspace(),
            version: CategoryVersion {
                name: format!("Category {slug}"),
                slug: slug.to_owned(),
                ..CategoryVersion::default()
            },
        };
        self.kb.create_category(&new).ok().map(|made| made.id)
    }

    fn post(&mut self, at: At, token: u16, shown: bool) {
        let Some(category) = self.found(at.folder()) else {
            return;
        };
        let new = NewArticle {
            category,
            title: format!("Posted {}", at.slug()),
            slug: at.slug().to_owned(),
            text: self.body(token),
            introtext: String::new(),
            keywords: String::new(),
            enabled: true,
            draft: !shown,
        };
        if self.kb.create(&new, By::Colleague).is_ok() {
            self.owe(token, false);
        }
    }

    fn change(&mut self, at: At, part: Part, token: u16) {
        let Some(id) = self.remote(at) else {
            return;
        };
        let Some(article) = self.kb.articles.get(&id) else {
            return;
        };
        let word = word(token);
        let patch = match part {
            Part::First | Part::Second | Part::Third | Part::More => ArticlePatch {
                text: Some(self.with_part(&article.text, part, &word)),
                ..ArticlePatch::default()
            },
            Part::Title => ArticlePatch {
                title: Some(word),
                ..ArticlePatch::default()
            },
            Part::Introtext | Part::Owner => ArticlePatch {
                introtext: Some(word),
                ..ArticlePatch::default()
            },
            Part::Keywords => ArticlePatch {
                keywords: Some(word),
                ..ArticlePatch::default()
            },
        };
        self.owe(token, false);
        self.patch(id, &patch);
    }

    fn patch(&mut self, id: ArticleId, patch: &ArticlePatch) {
        self.ledger.edited.insert(id, self.now);
        let done = self.kb.update(id, patch, By::Colleague).is_ok();
        self.note(&format!("  {done}"));
    }

    fn patch_category(&mut self, folder: u8, patch: &CategoryPatch) {
        if let Some(id) = self.kb.category_at(folder_name(folder)) {
            let done = self.kb.update_category(id, patch).is_ok();
            self.note(&format!("  {done}"));
        }
    }
}
