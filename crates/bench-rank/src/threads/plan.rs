// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the ranks of one job do.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum as _;

use super::{Mode, Operation};

/// What the ranks of one job do. Threads of the first half of the ranks send to those of the second half.
#[derive(Clone, Debug, PartialEq)]
pub struct RatePlan {
    /// What threads start.
    pub operation: Operation,
    /// How they communicate.
    pub mode: Mode,
    /// Threads that send.
    pub threads: usize,
    /// Bytes of a message.
    pub size_bytes: usize,
    /// Messages between two waits.
    pub window: usize,
    /// Values.
    pub repetitions: u64,
    /// Time of a repetition.
    pub budget: Duration,
    /// Whether data is verified.
    pub verify: bool,
    /// Where processes meet that cannot communicate: the fabric carries nothing, and all ranks send.
    pub meet: Option<PathBuf>,
}

impl RatePlan {
    /// Numbers of ranks.
    pub fn ranks(&self) -> u32 {
        let ranks = match (self.mode, &self.meet) {
            (Mode::Processes, None) => 2 * self.threads,
            (Mode::Processes, Some(_)) => self.threads,
            (_, None) => 2,
            (_, Some(_)) => 1,
        };
        u32::try_from(ranks).unwrap_or(u32::MAX)
    }

    /// Threads of a rank.
    pub fn threads_of_rank(&self) -> usize {
        match self.mode {
            Mode::Processes => 1,
            _ => self.threads,
        }
    }

    /// Threads of all ranks.
    pub fn all_threads(&self) -> usize {
        self.ranks() as usize * self.threads_of_rank()
    }

    /// The words that [`Self::parse`] reads; the mode comes first, which decides the thread level.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![
            format!("mode={}", self.mode.name()),
            format!("op={}", self.operation.name()),
            format!("count={}", self.threads),
            format!("sizes={}", self.size_bytes),
            format!("window={}", self.window),
            format!("repetitions={}", self.repetitions),
            format!("budget_us={}", self.budget.as_micros()),
            format!("verify={}", u8::from(self.verify)),
        ];
        if let Some(meet) = &self.meet {
            words.push(format!("meet={}", meet.display()));
        }
        words
    }

    /// From `key=value` words.
    ///
    /// # Errors
    /// A word that says nothing.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let mut plan = Self {
            operation: Operation::Isend,
            mode: Mode::Serial,
            threads: 1,
            size_bytes: 8,
            window: 1,
            repetitions: 1,
            budget: Duration::ZERO,
            verify: true,
            meet: None,
        };
        for word in words {
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| format!("{word} is no key=value"))?;
            let number = || {
                let number = value.parse::<u64>();
                number.map_err(|_| format!("{word}: expected a number"))
            };
            match key {
                "op" => plan.operation = Operation::from_str(value, false)?,
                "mode" => plan.mode = Mode::from_str(value, false)?,
                "count" => plan.threads = number()? as usize,
                "sizes" => plan.size_bytes = number()? as usize,
                "window" => plan.window = number()? as usize,
                "repetitions" => plan.repetitions = number()?,
                "budget_us" => plan.budget = Duration::from_micros(number()?),
                "verify" => plan.verify = number()? != 0,
                "meet" => plan.meet = Some(PathBuf::from(value)),
                _ => return Err(format!("nothing is called {key}")),
            }
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_everything() {
        let plan = RatePlan {
            operation: Operation::Put,
            mode: Mode::Endpoints,
            threads: 3,
            size_bytes: 64,
            window: 32,
            repetitions: 5,
            budget: Duration::from_millis(2),
            verify: false,
            meet: Some(PathBuf::from("/tmp/x")),
        };
        assert_eq!(RatePlan::parse(&plan.words()), Ok(plan.clone()));
        assert_eq!((plan.ranks(), plan.all_threads()), (1, 3));
        let processes = RatePlan {
            mode: Mode::Processes,
            meet: None,
            ..plan
        };
        assert_eq!((processes.ranks(), processes.all_threads()), (6, 6));
        assert!(RatePlan::parse(&["mode=x".to_owned()]).is_err());
    }
}
