//! The faults of a made-up world, and the deeds of people in the middle of a cycle.

use super::author::{Author, Fault, place};
use super::step::{At, Call, Colleague, Part, Save, Step, What, Writer};
use super::world::{World, id_of, is_article};

impl Author {
    /// In most cases the writer edits a file that kbsync is about to write.
    fn disturbs(&mut self, world: &World) -> Writer {
        let (mut busy, mut hidden) = (Vec::new(), Vec::new());
        world.mirror.each(&mut |folder, name, bytes, _| {
            let waits = id_of(bytes).is_some_and(|id| {
                world.ledger.edited.contains_key(&id) || !world.kb.articles.contains_key(&id)
            });
            if waits && is_article(folder, name) {
                busy.extend(place(folder, name));
            }
            if let Some(name) = name.strip_suffix('~') {
                hidden.extend(place(folder, name));
            }
        });
        if let Some(at) = self.writer.pick(&hidden).copied()
            && self.writer.percent(50)
        {
            // A hidden file comes back.
            return Writer::Unhide { at };
        }
        match self.writer.pick(&busy).copied() {
            Some(at) if self.writer.percent(70) => Writer::Edit {
                at,
                part: *self.writer.pick(Part::ALL).unwrap_or(&Part::First),
                token: self.token(),
                save: *self.writer.pick(Save::ALL).unwrap_or(&Save::InPlace),
            },
            Some(_) | None => self.writes(world),
        }
    }

    /// In most cases a colleague edits the article that the writer has edited.
    fn interrupts(&mut self, world: &World) -> Colleague {
        let busy: Vec<At> = world
            .ledger
            .touched
            .iter()
            .filter_map(|id| world.kb.articles.get(id))
            .filter_map(|article| {
                let category = world.kb.categories.get(&article.category)?;
                place(&category.version.slug, &format!("{}.html", article.slug))
            })
            .collect();
        match self.colleague.pick(&busy).copied() {
            Some(at) if self.colleague.percent(70) => Colleague::Change {
                at,
                part: *self.colleague.pick(Part::ALL).unwrap_or(&Part::First),
                token: self.token(),
            },
            Some(_) | None => self.edits(world),
        }
    }

    /// Adds a fault of the next cycle, and perhaps a second fault that belongs to it.
    pub(super) fn fault(&mut self, world: &World, steps: &mut Vec<Step>) {
        let kind = self.faults.pick(&self.swarm.faults).copied();
        let Some((call, nth, what)) = kind.and_then(|kind| self.one_fault(kind, world)) else {
            return;
        };
        steps.push(Step::Fault { call, nth, what });
        let lost = matches!(what, What::LostBefore | What::LostAfter);
        if lost && call.writes() && self.faults.percent(50) {
            // The read after a lost response may find another person's words.
            let deed = self.interrupts(world);
            let (nth, what) = (nth + 1, What::ByColleague { deed });
            steps.push(Step::Fault { call, nth, what });
        }
        if what == (What::HtmlNotFound) && call == Call::Read {
            // A proxy's page answers every request.
            let call = Call::Probe;
            steps.push(Step::Fault { call, nth, what });
        }
    }

    fn one_fault(&mut self, kind: Fault, world: &World) -> Option<(Call, u8, What)> {
        let (requests, on_disk): (Vec<Call>, Vec<Call>) =
            Call::ALL.iter().partition(|call| call.is_request());
        let often = [Call::Update, Call::Update, Call::Delete, Call::Create];
        let request = if self.faults.percent(30) {
            *self.faults.pick(&often)?
        } else {
            *self.faults.pick(&requests)?
        };
        let file = *self.faults.pick(&on_disk)?;
        let first = self.faults.percent(60);
        let nth = if first { 0 } else { self.faults.small(3) };
        let (call, what) = match kind {
            Fault::Network => {
                let what = match self.faults.below(4) {
                    0 => What::LostBefore,
                    1 | 2 => What::LostAfter,
                    _ => What::Down {
                        requests: 1 + self.faults.small(8),
                    },
                };
                (request, what)
            }
            Fault::Refusal => {
                let what = match self.faults.below(4) {
                    0 => What::Refused,
                    1 => What::Forbidden,
                    2 => What::TooMany,
                    _ => What::Unauthorized,
                };
                (request, what)
            }
            Fault::Page => {
                let what = if self.faults.percent(40) {
                    What::Html
                } else {
                    What::HtmlNotFound
                };
                let asking = [Call::Read, Call::Read, Call::Probe];
                let call = if self.faults.percent(60) {
                    *self.faults.pick(&asking)?
                } else {
                    request
                };
                (call, what)
            }
            Fault::Stale => (
                *self
                    .faults
                    .pick(&[Call::List, Call::List, Call::Read, Call::ReadCategory])?,
                What::Stale,
            ),
            Fault::Listing => {
                let entry = self.faults.small(5);
                let what = if self.faults.percent(60) {
                    What::Skip { entry }
                } else {
                    What::Garbled { entry }
                };
                (Call::List, what)
            }
            Fault::Disk => {
                let what = match self.faults.below(3) {
                    0 => What::Denied,
                    1 => What::Full,
                    _ => What::Broken,
                };
                (file, what)
            }
            Fault::Race if self.faults.percent(50) => {
                let between = [
                    Call::List,
                    Call::Probe,
                    Call::Stage,
                    Call::Look,
                    Call::Publish,
                ];
                let call = if self.faults.percent(75) {
                    *self.faults.pick(&between)?
                } else {
                    file
                };
                let deed = self.disturbs(world);
                (call, What::ByWriter { deed })
            }
            Fault::Race => {
                let call = if self.faults.percent(70) {
                    request
                } else {
                    file
                };
                let deed = self.interrupts(world);
                (call, What::ByColleague { deed })
            }
            Fault::Slow => (request, What::Slow { seconds: 20 }),
        };
        Some((call, nth, what))
    }
}
