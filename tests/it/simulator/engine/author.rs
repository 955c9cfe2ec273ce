//! Makes up traces: the people of a world, their deeds, and the faults.
//!
//! Swarm: each seed enables only a part of all deeds and faults, so that rare combinations are not drowned by the
//! others. The authors look at the world, so that each deed has an object. Every actor has a random stream of its own.

use super::random::Random;
use super::step::{
    At, Colleague, Command, Kept, NAMES, Part, Probing, Rewriting, Save, Setup, Step, Writer,
};
use super::token::MOST;
use super::world::{World, is_article};

/// Makes up one trace.
pub(crate) struct Author {
    clock: Random,
    pub(super) writer: Random,
    pub(super) colleague: Random,
    commands: Random,
    pub(super) faults: Random,
    /// The stream of git and of editors that save without end.
    git: Random,
    token: u16,
    left: usize,
    /// Steps that come before the next step is made up.
    queue: Vec<Step>,
    pub(super) swarm: Swarm,
    since_run: usize,
}

/// The deeds and faults of a world, as weights.
#[derive(Clone, Debug)]
pub(super) struct Swarm {
    writer: Vec<u8>,
    colleague: Vec<u8>,
    pub(super) faults: Vec<Fault>,
    /// The number of faults in a hundred cycles.
    fault_rate: usize,
    kill_rate: usize,
    commands: bool,
    writer_share: usize,
    rare: bool,
    folders: u8,
    names: u8,
    /// Of a hundred cycles, the number in which HEAD was moved or a file is in motion.
    moving: usize,
}

/// The kinds of faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Network,
    Refusal,
    Page,
    Stale,
    Listing,
    Disk,
    Race,
    Slow,
}

const FAULTS: [Fault; 8] = [
    Fault::Network,
    Fault::Refusal,
    Fault::Page,
    Fault::Stale,
    Fault::Listing,
    Fault::Disk,
    Fault::Race,
    Fault::Slow,
];

/// The number of kinds of the writer's deeds.
const WRITER: u8 = 23;
/// The number of kinds of a colleague's deeds.
const COLLEAGUE: u8 = 10;

/// The behaviour of the service, and the settings, in the world of a seed.
pub(crate) fn setup(seed: u64) -> Setup {
    let mut random = Random::stream(seed, "setup");
    let bodies = random.percent(70);
    Setup {
        bodies,
        etag: random.percent(25),
        by_category: random.percent(8),
        lists_disabled: random.percent(20),
        rewriting: Some(Rewriting::ALL)
            .filter(|_| random.percent(50))
            .and_then(|all| random.pick(all).copied())
            .unwrap_or(Rewriting::Nothing),
        probing: Some(Probing::ALL)
            .filter(|_| random.percent(45))
            .and_then(|all| random.pick(all).copied())
            .unwrap_or(Probing::Allowed),
        one_line: random.percent(40),
        no_window: random.percent(25),
        commands: random.percent(40),
        max_deletes: if random.percent(70) { 10 } else { 3 },
        thrifty: Random::stream(seed, "budget").percent(12),
        fine: Random::stream(seed, "times").percent(60),
    }
}

impl Author {
    /// The author of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::stream(seed, "swarm");
        let some = |random: &mut Random, all: u8, chance: usize| -> Vec<u8> {
            let mut kinds: Vec<u8> = (0..all).filter(|_| random.percent(chance)).collect();
            // Edits are possible in every world.
            kinds.extend([1, 1]);
            kinds
        };
        let faulty = random.percent(70);
        let rate = [20, 60, 95][random.below(3)];
        let kills = [0, 0, 10, 40][random.below(4)];
        let swarm = Swarm {
            writer: some(&mut random, WRITER, 40),
            colleague: some(&mut random, COLLEAGUE, 50),
            faults: FAULTS.into_iter().filter(|_| random.percent(40)).collect(),
            fault_rate: if faulty { rate } else { 0 },
            kill_rate: kills,
            commands: random.percent(50),
            writer_share: [20, 50, 50, 80][random.below(4)],
            rare: random.percent(10),
            folders: 1 + random.small(3),
            names: 2 + random.small(6),
            moving: [0, 0, 0, 25][Random::stream(seed, "moving").below(4)],
        };
        let left = 20 + random.below(16);
        let mut author = Self {
            clock: Random::stream(seed, "time"),
            writer: Random::stream(seed, "writer"),
            colleague: Random::stream(seed, "colleague"),
            commands: Random::stream(seed, "commands"),
            faults: Random::stream(seed, "faults"),
            git: Random::stream(seed, "git"),
            token: 0,
            left,
            queue: Vec::new(),
            swarm,
            since_run: 0,
        };
        author.begin(&mut random);
        author
    }

    /// Most worlds begin with a few articles that both sides know.
    fn begin(&mut self, random: &mut Random) {
        let mut steps = Vec::new();
        for _ in 0..random.below(6) {
            let at = At(
                random.small(self.swarm.folders),
                random.small(self.swarm.names),
            );
            let token = self.token();
            steps.push(if random.percent(70) {
                let shown = random.percent(85);
                let deed = Colleague::Post { at, token, shown };
                Step::Service { deed }
            } else {
                let enabled = random.percent(85);
                let deed = Writer::Write { at, token, enabled };
                Step::Mirror { deed }
            });
        }
        if random.percent(85) {
            let command = Command::Sync;
            steps.push(Step::Run { command });
        }
        steps.reverse();
        self.queue = steps;
    }

    pub(super) fn token(&mut self) -> u16 {
        self.token = (self.token + 1).min(MOST);
        self.token
    }

    /// Makes up the next step in the present world.
    pub(crate) fn next(&mut self, world: &World) -> Option<Step> {
        if let Some(step) = self.queue.pop() {
            return Some(step);
        }
        if self.left == 0 || self.token == MOST {
            return None;
        }
        self.left -= 1;
        self.since_run += 1;
        let due = self.clock.below(100);
        if self.since_run > 1 && due < 30 {
            self.since_run = 0;
            return Some(self.cycle(world));
        }
        if due < 38 {
            let waits = [1, 10, 20, 90, 600, 4_000, 90_000];
            let seconds = waits[self.clock.below(waits.len())];
            return Some(Step::Wait { seconds });
        }
        if due < 41 {
            return Some(Step::Restart);
        }
        if due < 43 && self.swarm.rare {
            return Some(match self.clock.below(3) {
                0 => Step::SaveState,
                1 => Step::RestoreState,
                _ => Step::LoseState,
            });
        }
        Some(self.person(world))
    }

    fn person(&mut self, world: &World) -> Step {
        if self.clock.percent(self.swarm.writer_share) {
            let deed = self.writes(world);
            Step::Mirror { deed }
        } else {
            let deed = self.edits(world);
            Step::Service { deed }
        }
    }

    /// Makes up a cycle, preceded by its faults.
    fn cycle(&mut self, world: &World) -> Step {
        let asked = self.command(world);
        let command = self.moving(world).unwrap_or(asked);
        let mut steps = vec![Step::Run { command }];
        if self.commands.percent(20) {
            // Two cycles in a row, with nothing between them.
            let command = Command::Sync;
            steps.insert(0, Step::Run { command });
        }
        if self.faults.percent(self.swarm.fault_rate) {
            for _ in 0..=self.faults.below(2) {
                self.fault(world, &mut steps);
            }
        }
        if self.faults.percent(self.swarm.kill_rate) {
            let after = u16::try_from(self.faults.below(90)).unwrap_or_default();
            steps.push(if self.faults.percent(50) {
                Step::Kill { after }
            } else {
                let keep = [0, 50, 100][self.faults.below(3)];
                Step::PowerLoss { after, keep }
            });
        }
        let first = steps.pop().unwrap_or(Step::Restart);
        self.queue = steps;
        first
    }

    /// Makes up a cycle that git or an editor interferes with, in some worlds.
    fn moving(&mut self, world: &World) -> Option<Command> {
        if !self.git.percent(self.swarm.moving) {
            return None;
        }
        if self.git.percent(40) {
            return Some(Command::Moved);
        }
        let places = files(world);
        let at = self.git.pick(&places).copied()?;
        Some(Command::InMotion { at })
    }

    fn command(&mut self, world: &World) -> Command {
        let sync = Command::Sync;
        if !self.swarm.commands || self.commands.percent(50) {
            return sync;
        }
        match self.commands.below(14) {
            0 => Command::Poll,
            1 => Command::Pull,
            2 => Command::Push,
            3 => Command::One {
                at: self.file(world),
            },
            4 => Command::Folder {
                folder: self.commands.small(self.swarm.folders),
            },
            5 => Command::PreferLocal,
            6 => Command::PreferRemote,
            7 => Command::AllowDeletes,
            8 | 9 => Command::Resolve {
                at: conflict(world, &mut self.commands).unwrap_or(At(0, 0)),
                keep: *self.commands.pick(Kept::ALL).unwrap_or(&Kept::Local),
            },
            10 => Command::Approve,
            11 | 12 => Command::Glance {
                at: self.file(world),
            },
            _ => Command::DryThenSync,
        }
    }

    fn anywhere(&mut self) -> At {
        At(
            self.writer.small(self.swarm.folders),
            self.writer.small(self.swarm.names),
        )
    }

    /// A file that exists in most cases.
    fn file(&mut self, world: &World) -> At {
        let there = self.writer.pick(&files(world)).copied();
        let anywhere = self.anywhere();
        there
            .filter(|_| self.writer.percent(95))
            .unwrap_or(anywhere)
    }

    /// An article that exists in most cases.
    fn article(&mut self, world: &World) -> At {
        let places: Vec<At> = world
            .kb
            .articles
            .values()
            .filter_map(|article| {
                let category = world.kb.categories.get(&article.category)?;
                place(&category.version.slug, &format!("{}.html", article.slug))
            })
            .collect();
        let there = self.colleague.pick(&places).copied();
        let anywhere = At(
            self.colleague.small(self.swarm.folders),
            self.colleague.small(self.swarm.names),
        );
        there
            .filter(|_| self.colleague.percent(95))
            .unwrap_or(anywhere)
    }

    pub(super) fn writes(&mut self, world: &World) -> Writer {
        let kind = self.swarm.writer[self.writer.below(self.swarm.writer.len())];
        let token = self.token();
        let at = self.file(world);
        match kind {
            0 => Writer::Write {
                at: self.anywhere(),
                token,
                enabled: self.writer.percent(80),
            },
            2 => Writer::Remove { at },
            3 => Writer::Move {
                from: at,
                to: self.anywhere(),
            },
            4 => Writer::Swap {
                one: at,
                other: self.file(world),
            },
            5 => Writer::Copy {
                from: at,
                to: self.anywhere(),
            },
            6 => Writer::Enable {
                at,
                on: self.writer.percent(50),
            },
            7 => Writer::Slug {
                at,
                name: self.writer.small(self.swarm.names),
            },
            8 => Writer::RemoveFolder { folder: at.0 },
            9 if self.writer.percent(40) => Writer::RemoveAll,
            10 => Writer::RenameFolder {
                from: at.0,
                to: self.writer.small(4),
            },
            11 => Writer::Break { at },
            12 => Writer::Mark { at },
            13 | 14 => Writer::Mend { at },
            15 if self.writer.percent(50) => Writer::Empty { at },
            16 => Writer::Hide { at },
            17 => Writer::Unhide {
                at: self.anywhere(),
            },
            18 => Writer::Name {
                folder: at.0,
                token,
            },
            19 => Writer::DropCopy {
                at: conflict(world, &mut self.writer).unwrap_or(at),
            },
            20 => Writer::Stash,
            21 => Writer::Checkout,
            22 => Writer::Unname { folder: at.0 },
            _ => Writer::Edit {
                at,
                part: *self.writer.pick(Part::ALL).unwrap_or(&Part::First),
                token,
                save: *self.writer.pick(Save::ALL).unwrap_or(&Save::InPlace),
            },
        }
    }

    pub(super) fn edits(&mut self, world: &World) -> Colleague {
        let kind = self.swarm.colleague[self.colleague.below(self.swarm.colleague.len())];
        let token = self.token();
        let at = self.article(world);
        let anywhere = At(
            self.colleague.small(self.swarm.folders),
            self.colleague.small(self.swarm.names),
        );
        match kind {
            0 => Colleague::Post {
                at: anywhere,
                token,
                shown: self.colleague.percent(80),
            },
            2 => Colleague::Revert { at },
            3 => Colleague::Touch { at },
            4 => Colleague::Delete { at },
            5 => Colleague::Show {
                at,
                on: self.colleague.percent(60),
            },
            6 => Colleague::Readdress {
                from: at,
                to: anywhere,
            },
            7 => Colleague::Rename {
                folder: at.0,
                token,
            },
            8 => Colleague::Reslug {
                from: at.0,
                to: self.colleague.small(4),
            },
            9 => Colleague::Found {
                folder: self.colleague.small(4),
            },
            _ => Colleague::Change {
                at,
                part: *self.colleague.pick(Part::ALL).unwrap_or(&Part::First),
                token,
            },
        }
    }
}

/// Returns the place of a path, if it has one.
pub(super) fn place(folder: &str, name: &str) -> Option<At> {
    let folder = super::step::FOLDERS
        .iter()
        .position(|known| *known == folder)?;
    let stem = name.strip_suffix(".html")?.to_lowercase();
    let name = NAMES
        .iter()
        .position(|known| known.to_lowercase() == stem)?;
    Some(At(u8::try_from(folder).ok()?, u8::try_from(name).ok()?))
}

/// Returns a file in conflict.
fn conflict(world: &World, random: &mut Random) -> Option<At> {
    let mut places = Vec::new();
    world.mirror.each(&mut |folder, name, _, _| {
        if let Some(stem) = name.strip_suffix(".conflict.html") {
            places.extend(place(folder, &format!("{stem}.html")));
        }
    });
    random.pick(&places).copied()
}

/// Returns the places of the article files.
fn files(world: &World) -> Vec<At> {
    let mut places = Vec::new();
    world.mirror.each(&mut |folder, name, _, _| {
        if is_article(folder, name) {
            places.extend(place(folder, name));
        }
    });
    places
}
