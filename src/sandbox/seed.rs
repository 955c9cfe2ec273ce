//! Generated content: a realistic help centre, the same for the same seed, with every article different.
//!
//! Sizes vary as in a real help centre: most articles are short, some are very long, about 7 KB on average.

use super::{fields::slug_from, handle::Sandbox, store::NewSeed};
use std::fmt::Write as _;
use uuid::Uuid;

const AREAS: [&str; 16] = [
    "Getting started",
    "Billing",
    "Account and profile",
    "Integrations",
    "Troubleshooting",
    "Security",
    "Reports",
    "Notifications",
    "Mobile app",
    "Team settings",
    "Imports and exports",
    "Workflows",
    "Developer guide",
    "Desktop agent",
    "Privacy",
    "Release notes",
];

const VERBS: [&str; 14] = [
    "Install", "Connect", "Change", "Export", "Share", "Schedule", "Review", "Restore", "Invite",
    "Archive", "Verify", "Rename", "Migrate", "Cancel",
];

const THINGS: [&str; 18] = [
    "the agent",
    "an invoice",
    "a webhook",
    "your password",
    "a report",
    "a team member",
    "a backup",
    "the calendar",
    "a custom domain",
    "an API key",
    "a project",
    "the mobile app",
    "a payment method",
    "single sign-on",
    "a template",
    "the audit log",
    "a shared inbox",
    "your data",
];

const SENTENCES: [&str; 20] = [
    "Open the settings and choose the entry that belongs to {thing}.",
    "Only owners and administrators can do this; ask one of them if the button is grey.",
    "The change takes effect at once, but cached pages may show the old state for some minutes.",
    "If you work with several workspaces, check the name at the top left first.",
    "You can undo this for thirty days; after that {thing} is removed for good.",
    "We send a confirmation to the address in your profile.",
    "On a slow connection this can take a little while, so please keep the window open.",
    "Everyone who has access to {thing} sees the new state the next time they sign in.",
    "The limit is counted per month and starts anew on the first day.",
    "A yellow mark beside {thing} means that something still waits for you.",
    "Names may have up to 255 characters, and letters of every language are welcome: Zürich, 東京, São Paulo.",
    "If you see error {number}, sign out and in again, then repeat the last step.",
    "Larger teams do this once a quarter and keep a note of who did it.",
    "The same is possible on the phone: tap the three dots and look for {thing}.",
    "Nothing is shared with others until you press the blue button.",
    "You find the result below Reports, sorted by date &amp; owner.",
    "Settings of the workspace win over your own where both say something.",
    "Write to support with the number {number} if it does not work as described.",
    "Older versions call this step by another name, but it does the same.",
    "It costs nothing extra, whatever your plan is.",
];

/// Mixes a number, so that neighbouring numbers give very different results.
pub(super) fn scramble(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A reproducible stream of numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(1);
        let limit = limit.max(1) as u64;
        usize::try_from(scramble(self.0) % limit).unwrap_or(0)
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of.get(self.below(of.len())).copied().unwrap_or_default()
    }
}

impl Sandbox {
    /// Fills the first workspace, or a new workspace, with `articles` published articles in `categories` categories.
    /// Returns the workspace's id.
    pub fn seed(&self, articles: usize, categories: usize) -> Uuid {
        let workspace = match self.workspaces().first() {
            Some(first) => first.id,
            None => self.add_workspace("Help centre"),
        };
        let mut world = self.lock();
        let categories: Vec<(Uuid, &str)> = (0..categories.max(1))
            .map(|number| {
                let area = AREAS[number % AREAS.len()];
                let name = numbered(area, number / AREAS.len());
                let slug = slug_from(&name);
                (world.add_category(workspace, &name, &slug), area)
            })
            .collect();
        for number in 0..articles {
            let (category, area) = categories[number % categories.len()];
            world.add_article(article(category, area, number, number / categories.len()));
        }
        workspace
    }
}

/// Makes article `number`, which is the `nth` of its category.
fn article(category: Uuid, area: &str, number: usize, nth: usize) -> NewSeed {
    let mut dice = Dice(scramble(number as u64));
    let pairs = VERBS.len() * THINGS.len();
    // Steps of 5 reach every pair once, because 5 does not divide the number of pairs.
    let pair = (nth * 5) % pairs;
    let thing = THINGS[pair % THINGS.len()];
    let title = numbered(
        &format!("{} {thing}", VERBS[pair / THINGS.len()]),
        nth / pairs,
    );
    let introtext =
        (!number.is_multiple_of(3)).then(|| format!("How to: {}.", title.to_lowercase()));
    let keywords = (number % 4 == 1).then(|| format!("{}, {thing}", area.to_lowercase()));
    NewSeed {
        slug: slug_from(&title),
        text: body(&mut dice, &title, thing, number),
        title,
        introtext,
        keywords,
        ..NewSeed::new(category, "", "", "")
    }
}

fn numbered(name: &str, round: usize) -> String {
    match round {
        0 => name.to_owned(),
        round => format!("{name} {}", round + 1),
    }
}

fn body(dice: &mut Dice, title: &str, thing: &str, number: usize) -> String {
    // The product of two dice: mostly short, sometimes very long.
    let sections = 1 + dice.below(6) * dice.below(6) * 4 / 5;
    let mut text = format!("<h1>{title}</h1>\n<p>");
    paragraph(dice, thing, number, &mut text);
    text.push_str("</p>\n");
    for section in 1..=sections {
        let heading = dice.one(&["Before you start", "Step by step", "Good to know", "Next"]);
        push(&mut text, format_args!("<h2>{section}. {heading}</h2>\n"));
        for _ in 0..=dice.below(4) {
            text.push_str("<p>");
            paragraph(dice, thing, number, &mut text);
            text.push_str("</p>\n");
        }
        match dice.below(4) {
            0 => list(dice, thing, number, &mut text),
            1 => push(
                &mut text,
                format_args!(
                    "<pre><code>agent configure --id {number} --step {section}</code></pre>\n"
                ),
            ),
            2 => push(
                &mut text,
                format_args!(
                    "<p><img src=\"/images/{number}-{section}.png\" alt=\"{heading}\"></p>\n"
                ),
            ),
            _ => {}
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn list(dice: &mut Dice, thing: &str, number: usize, text: &mut String) {
    text.push_str("<ol>\n");
    for _ in 0..3 + dice.below(4) {
        let sentence = sentence(dice, thing, number);
        push(text, format_args!("  <li>{sentence}</li>\n"));
    }
    text.push_str("</ol>\n");
}

fn paragraph(dice: &mut Dice, thing: &str, number: usize, text: &mut String) {
    for nth in 0..3 + dice.below(5) {
        if nth > 0 {
            text.push(' ');
        }
        let sentence = sentence(dice, thing, number);
        text.push_str(&sentence);
    }
}

fn sentence(dice: &mut Dice, thing: &str, number: usize) -> String {
    dice.one(&SENTENCES)
        .replace("{thing}", thing)
        .replace("{number}", &(1000 + number).to_string())
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("a String takes everything that is written to it");
}
