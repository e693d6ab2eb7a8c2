// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a step has found.

/// Passes and failures, or why there are none.
pub(super) enum Found {
    /// Numbers of tests, and what they were.
    Tests {
        passed: usize,
        failed: usize,
        skipped: usize,
        what: String,
        /// What each failure printed: told after the summary, where a reader looks first.
        wrong: Vec<String>,
    },
    /// Nothing, for a reason that is no fault of the code.
    Skipped(String),
}

impl Found {
    /// One thing that is as it should be.
    pub(super) fn one(what: String) -> Self {
        Self::counted(1, what)
    }

    /// So many of them.
    pub(super) fn counted(passed: usize, what: String) -> Self {
        Self::Tests {
            passed,
            failed: 0,
            skipped: 0,
            what,
            wrong: Vec::new(),
        }
    }

    /// All of several runs, whose names stand before what failed in them.
    pub(super) fn sum(
        runs: impl IntoIterator<Item = (String, Result<Self, String>)>,
        what: &str,
    ) -> Result<Self, String> {
        let (mut sums, mut told) = ([0; 3], Vec::new());
        for (name, run) in runs {
            if let Self::Tests {
                passed,
                failed,
                skipped,
                wrong,
                ..
            } = run.map_err(|error| format!("{name}: {error}"))?
            {
                for (sum, count) in sums.iter_mut().zip([passed, failed, skipped]) {
                    *sum += count;
                }
                told.extend(wrong.into_iter().map(|text| format!("{name}: {text}")));
            }
        }
        let [passed, failed, skipped] = sums;
        Ok(Self::Tests {
            passed,
            failed,
            skipped,
            what: what.to_owned(),
            wrong: told,
        })
    }

    /// Passes and failures; nothing at all is a failure too.
    pub(super) fn runs(passed: usize, wrong: Vec<String>, what: &str) -> Result<Self, String> {
        if passed == 0 && wrong.is_empty() {
            return Err(format!("no {what} ran"));
        }
        Ok(Self::Tests {
            passed,
            failed: wrong.len(),
            skipped: 0,
            what: what.to_owned(),
            wrong,
        })
    }
}
