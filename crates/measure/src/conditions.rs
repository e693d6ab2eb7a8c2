// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conditions of a run: the processor, the command, and how much of the processors other programs take meanwhile, as the kernel
//! counts (proc(5)).

use std::fs;

/// Processor time since the system and this process started, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticks {
    /// Of all processors, also idle ones.
    all: u64,
    idle: u64,
    /// Of this process and the jobs that it has waited for.
    own: u64,
}

impl Ticks {
    /// Until now.
    pub fn now() -> Option<Self> {
        let read = |file| fs::read_to_string(file).ok();
        Self::parse(&read("/proc/stat")?, &read("/proc/self/stat")?)
    }

    fn parse(system: &str, process: &str) -> Option<Self> {
        let line = system.lines().next()?.strip_prefix("cpu ")?;
        let system: Option<Vec<u64>> = line.split_whitespace().map(|it| it.parse().ok()).collect();
        // User, nice, system, idle, waiting, interrupts twice; what follows is of other machines or contained in these.
        let system = system.filter(|times| times.len() >= 7)?;
        // After the name, which may contain anything, the third field of the manual's list comes first.
        let fields: Vec<&str> = process.rsplit_once(')')?.1.split_whitespace().collect();
        let own = fields.get(11..15)?.iter().map(|it| it.parse::<u64>());
        Some(Self {
            all: system[..7].iter().sum(),
            idle: system[3] + system[4],
            own: own.sum::<Result<u64, _>>().ok()?,
        })
    }

    /// The part of all processors that others took since `start`, from 0 to 1.
    pub fn others_since(self, start: Self) -> f64 {
        let all = self.all.saturating_sub(start.all);
        let idle = self.idle.saturating_sub(start.idle);
        let own = self.own.saturating_sub(start.own);
        all.saturating_sub(idle + own) as f64 / all.max(1) as f64
    }
}

/// The processor's name, as far as the kernel reports it.
pub fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line
        .and_then(|line| line.split_once(':'))
        .map(|(_, name)| name.trim().to_owned());
    name.unwrap_or_else(|| "unknown processor".to_owned())
}

/// The command line of this process, as a user would write it.
pub fn command_line() -> String {
    let words = std::env::args().skip(1);
    words.fold("rankpoint".to_owned(), |line, word| line + " " + &word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_idle_nor_own_is_of_others() {
        let system = |user, idle| format!("cpu  {user} 5 20 {idle} 50 1 2 0 0 0\ncpu0 1 2 3\n");
        let own = |ticks| format!("12 (a b) c) S 1 2 3 4 5 6 7 8 9 10 {ticks} 4 100 6 20 0\n");
        let start = Ticks::parse(&system(100, 1000), &own(10)).unwrap();
        let expected = Ticks {
            all: 1178,
            idle: 1050,
            own: 120,
        };
        assert_eq!(start, expected);
        let end = Ticks::parse(&system(300, 1800), &own(110)).unwrap();
        assert_eq!(end.others_since(start), 0.1);
        assert_eq!(start.others_since(start), 0.0);
    }

    #[test]
    fn the_kernel_tells() {
        assert!(Ticks::now().is_some());
        assert_eq!(Ticks::parse("cpu 1 2", "1 (x) S"), None);
    }
}
