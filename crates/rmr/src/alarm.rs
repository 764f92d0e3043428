//! When the alarm manager is told that messages are dropped, and that they no longer are. Sans-IO.
//!
//! As the C library does: once when it begins, and once when for a minute there was none.

use std::time::{Duration, Instant};

/// The message type of an alarm.
pub const ALARM: i32 = 110;

/// Without a drop for as long, it is over.
pub const QUIET: Duration = Duration::from_secs(60);

/// Something to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a driver writes each field")]
pub struct Alarm {
    /// Which problem of this process; the same when it is over.
    pub problem: u32,
    /// Whether it begins, or is over.
    pub raised: bool,
}

impl Alarm {
    /// The message's payload: what the C library writes, field by field.
    #[must_use]
    pub fn text(&self, program: &str, unix_millis: u128) -> String {
        let (action, info) = if self.raised {
            (
                "RAISE",
                "application running slow; RMR is dropping messages",
            )
        } else {
            ("CLEAR", "RMR message dropping has stopped")
        };
        // A program's name may hold anything, and this is JSON.
        let program: String = program
            .chars()
            .filter(|c| !c.is_control() && !['"', '\\'].contains(c))
            .collect();
        format!(
            "{{  \"managedObjectId\": null, \"applicationId\": \"{program}\", \
             \"specificProblem\": {}, \"perceivedSeverity\": \"WARNING\", \
             \"identifyingInfo\": \"{info}\", \"additionalInfo\": null, \
             \"AlarmAction\": \"{action}\", \"AlarmTime\": {unix_millis} }}",
            self.problem
        )
    }
}

/// Watches how many messages were dropped.
#[derive(Debug, Default)]
pub struct DropAlarm {
    problem: u32,
    seen: u64,
    /// Since when there was no more drop; there is a problem while it is set.
    last: Option<Instant>,
}

impl DropAlarm {
    /// Looks at the count of drops, now and then.
    pub fn look(&mut self, now: Instant, drops: u64) -> Option<Alarm> {
        let is_new = drops > self.seen;
        self.seen = drops;
        let problem = self.problem;
        match self.last {
            _ if is_new => {
                let raised = self.last.replace(now).is_none();
                raised.then_some(Alarm { problem, raised })
            }
            Some(last) if now.saturating_duration_since(last) >= QUIET => {
                self.last = None;
                self.problem += 1;
                let raised = false;
                Some(Alarm { problem, raised })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    fn it_is_told_once_when_drops_begin_and_once_when_they_end() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut watch = DropAlarm::default();
        let alarm = |problem, raised| Some(Alarm { problem, raised });
        assert_eq!(watch.look(at(0), 0), None);
        assert_eq!(watch.look(at(1), 5), alarm(0, true));
        assert_eq!(watch.look(at(2), 9), None);
        assert_eq!(watch.look(at(61), 9), None);
        assert_eq!(watch.look(at(62), 9), alarm(0, false));
        assert_eq!(watch.look(at(200), 9), None);
        assert_eq!(watch.look(at(201), 10), alarm(1, true));
    }

    #[test]
    fn the_text_is_json_whatever_the_program_is_called() {
        let alarm = Alarm {
            problem: 3,
            raised: true,
        };
        let text = alarm.text("an \"xapp\\", 1234);
        assert!(text.contains("\"applicationId\": \"an xapp\""), "{text}");
        assert!(text.contains("\"specificProblem\": 3"));
        assert!(text.contains("\"AlarmAction\": \"RAISE\", \"AlarmTime\": 1234 }"));
        assert_eq!(text.matches('"').count() % 2, 0);
    }
}
