//! What operations did, line by line: what was tried, why it waited, why it
//! stopped.

use std::fmt::{self, Display};
use std::time::Duration;

use retry_core::observe::Event;
use retry_core::{Decision, OperationId, Wait};

/// The operations of one subject, in the order in which they began.
pub(crate) struct Timeline<'a> {
    pub(crate) subject: &'a str,
    pub(crate) events: &'a [(OperationId, Event)],
}

impl Display for Timeline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.subject)?;
        let mut last = None;
        for (operation, event) in self.events {
            let name = operation.name().trim_start_matches("payments.");
            let shown = if last == Some(operation) { "" } else { name };
            match event {
                Event::AttemptFailed { attempt, elapsed, failure, error, decision } => {
                    let error = error.as_deref().unwrap_or("cut, no answer in time");
                    line(f, shown, *elapsed, format_args!("attempt {attempt}: {error}"))?;
                    below(f, format_args!("{failure}"))?;
                    if let Decision::ScheduleRetry(wait) = decision {
                        below(f, format_args!("waits {}", Waits(wait)))?;
                    }
                }
                Event::Succeeded { attempts, elapsed } => {
                    line(f, shown, *elapsed, format_args!("attempt {attempts}: done"))?;
                }
                Event::Stopped { elapsed, stop, .. } => {
                    line(f, shown, *elapsed, format_args!("stopped: {}", stop.reason()))?;
                    below(f, format_args!("because {stop}"))?;
                }
                // The end of an attempt says that it began.
                _ => continue,
            }
            last = Some(operation);
        }
        Ok(())
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    operation: &str,
    at: Duration,
    what: fmt::Arguments<'_>,
) -> fmt::Result {
    writeln!(f, "  {operation:<11} {:>6} ms  {what}", at.as_millis())
}

fn below(f: &mut fmt::Formatter<'_>, what: fmt::Arguments<'_>) -> fmt::Result {
    writeln!(f, "{:25}{what}", "")
}

struct Waits<'a>(&'a Wait);

impl Display for Waits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_millis();
        write!(f, "{} ms, ", ms(self.0.delay()))?;
        match asked(self.0) {
            Some(hint) => write!(f, "because the gateway asked for {} ms", ms(hint)),
            None => write!(f, "of at most {} ms", ms(self.0.ceiling())),
        }
    }
}

/// What the other side asked for, where that is why the wait is as long as it
/// is.
pub(crate) fn asked(wait: &Wait) -> Option<Duration> {
    wait.hint().filter(|hint| *hint > wait.computed())
}
