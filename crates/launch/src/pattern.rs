// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of files and labels of lines that differ from rank to rank: texts with places such as `%r`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A text with places that are filled in for each rank. The letters are Hydra's, and some that its flags lack.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pattern(Vec<Part>);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Part {
    Text(Vec<u8>),
    Rank,
    /// With zeros in front, as long as the highest rank, so that names sort.
    PaddedRank,
    Host,
    Stream,
    Seconds,
    Pid,
    Clock,
}

/// Letters that a pattern for names of files may have behind `%`.
pub(crate) const FILE_LETTERS: &str = "%r (rank), %R (rank with zeros in front), %h (host), %s (stdout or stderr), %g (group, always 0), \
     %p (proxy, always 0), %t (seconds, 0 at the start), %%";

/// Values for the fields of a pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatternValues<'a> {
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    pub(crate) pid: u32,
    pub(crate) host: &'a str,
    /// 0 for standard output, 1 for standard error.
    pub(crate) which: usize,
    /// Since the job began.
    pub(crate) elapsed: Duration,
}

impl Pattern {
    /// A pattern in the form that users write. `None` when a letter behind `%` means nothing.
    pub fn parse(text: impl AsRef<OsStr>) -> Option<Self> {
        let mut parts = Vec::new();
        let mut bytes = text.as_ref().as_bytes().iter();
        let mut plain = Vec::new();
        while let Some(&byte) = bytes.next() {
            if byte != b'%' {
                plain.push(byte);
                continue;
            }
            let part = match bytes.next()? {
                b'%' => Part::Text(b"%".to_vec()),
                // There is one process group, and one node.
                b'g' | b'p' => Part::Text(b"0".to_vec()),
                b'r' => Part::Rank,
                b'R' => Part::PaddedRank,
                b'h' => Part::Host,
                b's' => Part::Stream,
                b't' => Part::Seconds,
                b'P' => Part::Pid,
                b'c' => Part::Clock,
                _ => return None,
            };
            parts.push(Part::Text(std::mem::take(&mut plain)));
            parts.push(part);
        }
        parts.push(Part::Text(plain));
        Some(Self(parts))
    }

    /// Whether it asks for nothing that is known only once ranks run.
    pub(crate) fn names_files(&self) -> bool {
        !self.0.contains(&Part::Pid) && !self.0.contains(&Part::Clock)
    }

    /// The text for one rank's stream.
    pub(crate) fn fill(&self, values: &PatternValues<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        for part in &self.0 {
            let filled = match part {
                Part::Text(bytes) => {
                    text.extend_from_slice(bytes);
                    continue;
                }
                Part::Rank => values.rank.to_string(),
                Part::PaddedRank => {
                    let digits = values.ranks.saturating_sub(1).to_string().len();
                    format!("{:0digits$}", values.rank)
                }
                Part::Host => values.host.to_owned(),
                Part::Stream => ["stdout", "stderr"][values.which].to_owned(),
                Part::Seconds => values.elapsed.as_secs().to_string(),
                Part::Pid => values.pid.to_string(),
                Part::Clock => clock(SystemTime::now()),
            };
            text.extend_from_slice(filled.as_bytes());
        }
        text
    }
}

/// A time as ISO 8601 has it, in UTC.
pub fn clock(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (mut days, seconds) = (since.as_secs() / 86400, since.as_secs() % 86400);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [
        31,
        28 + u64::from(is_leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!(
        "{year}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        month + 1,
        days + 1,
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        since.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(pattern: &str) -> String {
        let values = PatternValues {
            rank: 7,
            ranks: 101,
            pid: 42,
            host: "node",
            which: 1,
            elapsed: Duration::from_millis(2900),
        };
        String::from_utf8(Pattern::parse(pattern).unwrap().fill(&values)).unwrap()
    }

    #[test]
    fn places_are_filled_in() {
        assert_eq!(filled("out.%r"), "out.7");
        assert_eq!(filled("%R-%h/%s%%%g%p+%t~%P"), "007-node/stderr%00+2~42");
        assert_eq!(filled(""), "");
        assert_eq!(Pattern::parse("a%x"), None);
        assert_eq!(Pattern::parse("a%"), None);
        assert!(Pattern::parse("%r%R%g%p%h%s%t").unwrap().names_files());
        assert!(!Pattern::parse("%P").unwrap().names_files());
    }

    #[test]
    fn times_have_dates() {
        let at = |seconds: u64, text| {
            let time = UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 5);
            assert_eq!(clock(time), text);
        };
        at(0, "1970-01-01T00:00:00.005Z");
        at(951_782_399, "2000-02-28T23:59:59.005Z");
        at(951_782_400, "2000-02-29T00:00:00.005Z");
        at(4_107_542_400, "2100-03-01T00:00:00.005Z");
    }
}
