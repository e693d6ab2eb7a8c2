// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurement that a rank runs.

use measure::target::InitLevel;

use crate::measurement::Measurement;
use crate::repeat::Effort;

/// The measurement that a rank runs.
pub(crate) struct RankOptions {
    pub(crate) measurement: &'static Measurement,
    pub(crate) sizes: Vec<usize>,
    pub(crate) effort: Effort,
    pub(crate) verify: bool,
    pub(crate) threads: InitLevel,
    /// The file of the line between ranks 0 and 1, and nanoseconds that are not far.
    pub(crate) line: Option<String>,
    pub(crate) distance_limit_ns: u64,
}

impl RankOptions {
    /// From the measurement's name and `key=value` pairs.
    pub(crate) fn parse(name: &str, pairs: &[String]) -> Result<Self, String> {
        let measurement =
            Measurement::find(name).ok_or_else(|| format!("nothing is called {name}"))?;
        let mut options = Self {
            measurement,
            sizes: vec![8],
            effort: Effort::default(),
            verify: true,
            threads: InitLevel::Single,
            line: None,
            distance_limit_ns: u64::MAX,
        };
        for pair in pairs {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("{pair} is no key=value"))?;
            let wrong = |_| format!("{pair}: expected a number");
            let number = || value.parse::<u64>().map_err(wrong);
            match key {
                "sizes" => {
                    let sizes = value.split(',').map(str::parse);
                    options.sizes = sizes.collect::<Result<_, _>>().map_err(wrong)?;
                }
                "iterations" => options.effort.budget.iterations = number()?,
                "repetitions" => options.effort.budget.repetitions = number()?,
                "budget_us" => {
                    options.effort.budget.each = std::time::Duration::from_micros(number()?)
                }
                "limit_us" => {
                    options.effort.budget.limit = std::time::Duration::from_micros(number()?)
                }
                "line" => options.line = Some(value.to_owned()),
                "distance_limit_ns" => options.distance_limit_ns = number()?,
                "threads" if value == "multiple" => options.threads = InitLevel::Multiple,
                "threads" => return Err(format!("{pair}: expected threads=multiple")),
                "verify" => options.verify = number()? != 0,
                _ => return Err(format!("nothing is called {key}")),
            }
        }
        Ok(options)
    }
}
