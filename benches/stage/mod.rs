//! The stage of the daemon's benchmarks: a sandbox in this process, a mirror in a temporary folder, and the real
//! command as a process with time and memory of its own.
//!
//! Cargo builds the command of a benchmark with the tests' fail points in it; `--binary PATH` measures another build,
//! such as the released one.

use anyhow::Context as _;
use kbsync::model::WorkspaceId;
use kbsync::sandbox::{Options, Running, Sandbox};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use uuid::Uuid;

/// Clock ticks per second in `/proc/PID/stat`; Linux shows users a hundred on every machine.
const TICKS: f64 = 100.0;

/// Longer than any cycle takes, so only a failure reaches this limit.
const BOUND: Duration = Duration::from_mins(3);

/// Returns the value of an option such as `--articles 10000`.
pub(crate) fn option<T: std::str::FromStr>(name: &str, default: T) -> T {
    let mut words = std::env::args().skip_while(|word| word != name).skip(1);
    words
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(default)
}

/// A service, a mirror and a daemon between them.
pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
    daemon: Child,
    lines: Receiver<String>,
    dir: TempDir,
    binary: PathBuf,
    workspace: WorkspaceId,
    running: Running,
    _runtime: Runtime,
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The daemon may have ended by itself.
        self.daemon.kill().ok();
        self.daemon.wait().ok();
    }
}

impl Stage {
    /// Fills a service with articles and starts a daemon on an empty mirror.
    pub(crate) fn start(articles: usize) -> anyhow::Result<Self> {
        let runtime = Runtime::new()?;
        let sandbox = Sandbox::new(Options::unlimited());
        let workspace = sandbox.seed(articles, 50);
        let running = runtime.block_on(sandbox.run())?;
        let dir = tempfile::tempdir()?;
        for name in ["mirror", "home", "state"] {
            std::fs::create_dir(dir.path().join(name))?;
        }
        std::fs::write(
            dir.path().join("mirror/kbsync.yaml"),
            format!(
                "service: {}\nworkspace: {workspace}\npoll: 12h\npush_interval: 0s\n\
                 budget: {{per_minute: 100000, per_day: 1000000}}\n",
                running.url
            ),
        )?;
        let binary = option("--binary", PathBuf::from(env!("CARGO_BIN_EXE_kbsync")));
        let mut daemon = command(&binary, dir.path(), &running.token())
            .arg("run")
            .stderr(Stdio::piped())
            .spawn()
            .context("failed to start the daemon")?;
        let (to, lines) = channel();
        if let Some(log) = daemon.stderr.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(log).lines().map_while(Result::ok) {
                    if to.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self {
            sandbox,
            daemon,
            lines,
            dir,
            binary,
            workspace: WorkspaceId::new(workspace),
            running,
            _runtime: runtime,
        })
    }

    /// The temporary folder: the mirror, the user's home, and the budget.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The mirror.
    pub(crate) fn mirror(&self) -> PathBuf {
        self.dir.path().join("mirror")
    }

    /// The daemon's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.daemon.id()
    }

    /// Processor time that the daemon has used.
    pub(crate) fn processor_seconds(&self) -> anyhow::Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()))?;
        // The process name before the fields may have spaces.
        let (_, fields) = stat.rsplit_once(") ").context("no fields")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let ticks = |at: usize| -> anyhow::Result<f64> {
            Ok(fields.get(at).context("too few fields")?.parse()?)
        };
        // `utime` and `stime` are fields 14 and 15; the first two fields were cut off.
        Ok((ticks(11)? + ticks(12)?) / TICKS)
    }

    /// Downloads the listing as fast as the service and this machine can, discards the bytes, and returns their number.
    pub(crate) fn download(&self) -> anyhow::Result<u64> {
        let host = self.running.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host)?;
        write!(
            stream,
            "GET /api/base/{}/articles HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
            self.workspace,
            self.sandbox.options().token
        )?;
        let (mut buffer, mut bytes) = (vec![0; 256 * 1024], 0);
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(bytes),
                read => bytes += read as u64,
            }
        }
    }

    /// Returns another command of kbsync, in the mirror.
    pub(crate) fn command(&self) -> Command {
        command(&self.binary, self.dir.path(), &self.sandbox.options().token)
    }

    /// Waits until no cycle follows any more: the writes of the first sync overflow the event queue, so a scan of all
    /// files follows.
    pub(crate) fn rest(&self) {
        while self.lines.recv_timeout(Duration::from_secs(5)).is_ok() {}
    }

    /// Waits for the end of a cycle whose line in the log has these words, such as `trigger=startup`.
    pub(crate) fn cycle(&self, words: &str) -> anyhow::Result<()> {
        loop {
            let line = self
                .lines
                .recv_timeout(BOUND)
                .with_context(|| format!("no cycle with {words}"))?;
            if !line.contains("a cycle is done") || !line.contains(&format!("{words} ")) {
                continue;
            }
            anyhow::ensure!(line.contains("outcome=done"), "a cycle failed: {line}");
            return Ok(());
        }
    }

    /// The file of every article.
    pub(crate) fn files(&self) -> anyhow::Result<BTreeMap<Uuid, PathBuf>> {
        files_of(&self.mirror())
    }
}

/// The file of every article of a mirror.
pub(crate) fn files_of(mirror: &Path) -> anyhow::Result<BTreeMap<Uuid, PathBuf>> {
    let mut files = BTreeMap::new();
    for folder in std::fs::read_dir(mirror)? {
        let folder = folder?.path();
        if !folder.join("_category.yaml").exists() {
            continue;
        }
        for file in std::fs::read_dir(folder)? {
            let file = file?.path();
            if file.extension().is_none_or(|ending| ending != "html") {
                continue;
            }
            let text = std::fs::read_to_string(&file)?;
            let id = text.lines().find_map(|line| line.strip_prefix("id: "));
            let id = id.context("a file without an id")?;
            files.insert(id.parse()?, file);
        }
    }
    Ok(files)
}

/// Returns a command of kbsync in the mirror below a folder, which has a home and a state folder as well.
pub(crate) fn command(binary: &Path, dir: &Path, token: &str) -> Command {
    let mut command = Command::new(binary);
    command
        .current_dir(dir.join("mirror"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir.join("home"))
        .env("KBSYNC_USER_STATE_DIR", dir.join("state"))
        .env("KBSYNC_TOKEN", token)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}
