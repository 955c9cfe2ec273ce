//! Other programs that answer within a time limit: git, and a command that prints the token.
//!
//! The output is bounded. A program that is late is killed; one that it started may hold a pipe open for ever, so the
//! threads that read are then abandoned.

use std::{
    io::{self, Read as _, Write as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// The interval at which kbsync checks whether a program has ended; the program's output has ended before.
const PAUSE: Duration = Duration::from_millis(1);

/// The most bytes of error output that are kept.
const SAID: u64 = 4096;

/// The end of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its output.
    pub(crate) out: Vec<u8>,
    /// Its error output, without spaces around it. Empty if another program holds the error output open.
    pub(crate) said: String,
    pub(crate) status: ExitStatus,
}

/// The reasons why a program gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error(transparent)]
    Failed(#[from] io::Error),
    #[error("it did not answer in time")]
    Late,
    #[error("its output is too long")]
    TooMuch,
}

/// Runs a program with this input until the deadline. After the deadline, none is started. `None`: the program has
/// kbsync's own input, so it may ask a person.
pub(crate) fn run(
    mut command: Command,
    input: Option<&[u8]>,
    most: u64,
    deadline: Instant,
) -> Result<Ended, Unanswered> {
    if left(deadline).is_zero() {
        return Err(Unanswered::Late);
    }
    let stdin = input.map_or_else(Stdio::inherit, |_| Stdio::piped());
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.stdin(stdin).spawn()?;
    let ended = end(&mut child, input, most, deadline);
    if ended.is_err() {
        // A failure needs no remedy: the program has ended already, or cannot be stopped.
        let _gone = child.kill().and_then(|()| child.wait());
    }
    ended
}

/// Writes a program's input, reads its output and waits for its end.
fn end(
    child: &mut Child,
    input: Option<&[u8]>,
    most: u64,
    deadline: Instant,
) -> Result<Ended, Unanswered> {
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::Error::other("the program has no standard streams").into());
    };
    let out = in_thread(move || {
        let mut out = Vec::new();
        let read = stdout.take(most + 1).read_to_end(&mut out);
        read.map(|_length| out)
    });
    let said = in_thread(move || first_words(stderr));
    if let Some((mut stdin, input)) = child.stdin.take().zip(input)
        && let Err(error) = stdin.write_all(input)
        // A program that fails at once does not read its input; its error output has the reason.
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        return Err(error.into());
    }
    let out = out.recv_timeout(left(deadline));
    let out = out.map_err(|_elapsed| Unanswered::Late)??;
    if out.len() as u64 > most {
        return Err(Unanswered::TooMuch);
    }
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if left(deadline).is_zero() {
            return Err(Unanswered::Late);
        }
        thread::sleep(PAUSE);
    };
    let said = if status.success() {
        String::new()
    } else {
        said.recv_timeout(left(deadline)).unwrap_or_default()
    };
    Ok(Ended { out, said, status })
}

/// Does blocking work in a thread. After the time limit, nobody receives the result.
fn in_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> mpsc::Receiver<T> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let _told = tell.send(work());
    });
    told
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Returns the beginning of the error output, and reads the rest: a full pipe would stop the program.
fn first_words(mut stderr: impl io::Read) -> String {
    let mut said = Vec::new();
    // Unreadable error output is left out of the message.
    let _length = stderr.by_ref().take(SAID).read_to_end(&mut said);
    let _rest = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&said).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the output, or else the error output or the reason that there is none.
    fn shell(script: &str, patience: Duration) -> Result<String, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let deadline = Instant::now() + patience;
        let ended =
            run(command, Some(b"in\n"), 1000, deadline).map_err(|error| error.to_string())?;
        if ended.status.success() {
            Ok(String::from_utf8_lossy(&ended.out).into_owned())
        } else {
            Err(ended.said)
        }
    }

    #[test]
    fn a_stream_that_stays_open_is_not_waited_for() {
        let (short, long) = (Duration::from_millis(200), Duration::from_secs(30));
        let seconds = Duration::from_secs(5);
        let late = || Err("it did not answer in time".to_owned());
        let start = Instant::now();
        for (script, patience, expected) in [
            ("sleep 60", short, late()),
            ("exec >&- 2>&-; sleep 60", short, late()),
            ("sleep 60 >&- & exit 3", seconds, Err(String::new())),
            ("sleep 60 >&- & echo a", long, Ok("a\n".to_owned())),
            ("echo why >&2; exit 3", long, Err("why".to_owned())),
            (
                "yes | head -c 200000 >&2; echo a",
                long,
                Ok("a\n".to_owned()),
            ),
            (
                "yes | head -c 2000",
                long,
                Err("its output is too long".to_owned()),
            ),
            ("echo late", Duration::ZERO, late()),
            ("cat", long, Ok("in\n".to_owned())),
        ] {
            assert_eq!(shell(script, patience), expected, "{script}");
        }
        assert!(start.elapsed() < Duration::from_secs(50));
    }
}
