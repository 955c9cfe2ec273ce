//! The settings that decide what a cycle does: a daemon carries out only the commands of clients that have the same.
//!
//! A dry run is planned by the command itself. With other settings in the daemon, the command would then do something
//! else than the person saw, even on another service. The settings are compared when the command's turn comes.

use super::control::Refusal;
use crate::config::Config;
use crate::engine::open;
use crate::model::{Digest, WorkspaceId};

/// The settings of a process that decide what a cycle does.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct SettingsMark {
    /// The service's address.
    service: String,
    /// The folders below the mirror, with their workspaces.
    workspaces: Vec<(String, WorkspaceId)>,
    /// The digest of all others.
    others: Digest,
}

impl SettingsMark {
    /// Returns the mark of checked settings.
    pub fn of(config: &Config) -> Self {
        let roots = config.roots();
        let each = roots.iter().map(|root| {
            let mut settings = open::settings(config, root);
            // The consent of the client may differ from the daemon's although both have the same settings.
            settings.max_deletes = config.ignored_limit.unwrap_or(settings.max_deletes);
            settings
        });
        let each: Vec<_> = each.collect();
        let others = format!("{each:?} {:?}", config.options.git_branch);
        Self {
            service: config.service.clone(),
            workspaces: each
                .iter()
                .map(|settings| (settings.prefix.clone(), settings.workspace))
                .collect(),
            others: Digest::of_parts(&[others.as_bytes()]),
        }
    }

    /// Returns why this daemon refuses the command of a client with other settings.
    pub fn refusal(&self, client: &Self) -> Option<Refusal> {
        const RESTART: &str = "nothing was done; restart the daemon with the settings of this command, and run the \
                               command again";
        let (message, help) = if self.service != client.service {
            let message = format!(
                "the daemon syncs with {}, and this command is for {}",
                self.service, client.service
            );
            (message, RESTART.to_owned())
        } else if self.workspaces != client.workspaces {
            let message = "the daemon has other workspaces or folders than this command";
            (message.to_owned(), RESTART.to_owned())
        } else if self.others != client.others {
            let message = "the daemon has other settings than this command, such as `max_deletes`, `on_conflict`, \
                           `categories` or `git`";
            let help = format!(
                "nothing was done; let the daemon read the settings again (`kill -HUP {}`) or restart it, and run the \
                 command again",
                std::process::id()
            );
            (message.to_owned(), help)
        } else {
            return None;
        };
        Some(Refusal {
            code: 2,
            message,
            help,
            ..Refusal::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_the_settings_that_differ() {
        let of = |service: &str, folder: &str, others: &str| SettingsMark {
            service: service.to_owned(),
            workspaces: vec![(folder.to_owned(), WorkspaceId::new(uuid::Uuid::nil()))],
            others: Digest::of_parts(&[others.as_bytes()]),
        };
        let daemon = of("https://kb.example.com", "en", "3");
        assert_eq!(daemon.refusal(&daemon), None);
        for (client, message, help) in [
            (
                of("https://staging.example.com", "en", "3"),
                "for https://staging",
                "restart",
            ),
            (
                of("https://kb.example.com", "de", "3"),
                "folders",
                "restart",
            ),
            (
                of("https://kb.example.com", "en", "4"),
                "`max_deletes`",
                "kill -HUP",
            ),
        ] {
            let refusal = daemon.refusal(&client).expect("refused");
            assert!(refusal.message.contains(message), "{refusal}");
            assert!(refusal.help.contains(help), "{refusal}");
            assert_eq!(refusal.code, 2);
        }
    }
}
