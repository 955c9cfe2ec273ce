//! The input of every command: the global flags, the environment, the current folder, the output.

use super::{Global, failure::Failure, print::Output};
use crate::config::{Config, Need, Request};
use std::path::PathBuf;

/// Looks up an environment variable.
pub type Variables = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The environment of one command.
pub struct Context {
    /// The global flags.
    pub global: Global,
    /// The output.
    pub out: Output,
    /// The current folder.
    pub current: PathBuf,
    /// The environment variables.
    pub env: Variables,
}

impl Context {
    /// Returns the sources of the settings.
    pub fn request(&self) -> Request<'_> {
        Request {
            env: &*self.env,
            current: &self.current,
            dir: self.global.dir.as_deref(),
            file: self.global.config.as_deref(),
            insecure_http: self.global.insecure_http,
        }
    }

    /// Reads the settings.
    pub fn config(&self, need: Need) -> Result<Config, Failure> {
        Ok(Config::load(&self.request(), need)?)
    }
}
