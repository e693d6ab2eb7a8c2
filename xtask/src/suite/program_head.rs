// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the head of a C program of tests/c says of how it runs.

/// Settings of a run: names and values.
pub(super) type Environment<'a> = Vec<(&'a str, &'a str)>;

/// The head of a program.
#[derive(Debug, PartialEq)]
pub(super) struct Head<'a> {
    /// Numbers of ranks: `RANKS: 1 2 4`.
    pub(super) ranks: Vec<&'a str>,
    /// Settings, each those of one run: lines `ENV: NAME=VALUE NAME=VALUE`. One without settings if there is no line.
    pub(super) environments: Vec<Environment<'a>>,
    /// Settings with which the program says READY and then never ends: `HANGS: NAME=VALUE`.
    pub(super) hangs: Option<Environment<'a>>,
    /// Whether it has no meaning where arguments are trusted: `NEEDS: checked arguments`.
    pub(super) checked_only: bool,
    /// Whether it asks MPI_Init_thread for MPI_THREAD_MULTIPLE whatever its settings.
    needs_threads: bool,
}

impl<'a> Head<'a> {
    /// The head of a program; none of a file that is no program.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let after = |mark: &'static str| text.lines().filter_map(move |it| it.split(mark).nth(1));
        let ranks = after("RANKS:").next()?.split_whitespace();
        let ranks = ranks.filter(|word| word.parse::<u32>().is_ok());
        let mut environments: Vec<_> = after("ENV: ").map(settings).collect();
        if environments.is_empty() {
            environments.push(Vec::new());
        }
        Some(Self {
            ranks: ranks.collect(),
            environments,
            hangs: after("HANGS: ").next().map(settings),
            checked_only: text.contains("NEEDS: checked arguments"),
            needs_threads: text.contains("MPI_THREAD_MULTIPLE, &"),
        })
    }

    /// Keeps the runs that a library without threads has; false if there are none.
    pub(super) fn leave_threads_out(&mut self) -> bool {
        let has_none = |setting: &(&str, &str)| setting.0 != "RANKPOINT_PROGRESS_THREAD";
        self.environments
            .retain(|settings| settings.iter().all(has_none));
        !self.needs_threads && !self.environments.is_empty()
    }
}

fn settings(words: &str) -> Environment<'_> {
    let words = words.split_whitespace();
    words.filter_map(|word| word.split_once('=')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_settings_is_a_run() {
        let text = "/* A\n * RANKS: 1 2\n * ENV: A=1 B=2\n * ENV: A=3\n * HANGS: A=4 */\n";
        let head = Head::of(text).unwrap();
        assert_eq!(head.ranks, ["1", "2"]);
        assert_eq!(
            head.environments,
            [vec![("A", "1"), ("B", "2")], vec![("A", "3")]]
        );
        assert_eq!(head.hangs, Some(vec![("A", "4")]));
        assert!(!head.checked_only);
    }

    #[test]
    fn a_library_without_threads_runs_what_needs_none() {
        let text = "/* RANKS: 1\n * ENV: A=1\n * ENV: RANKPOINT_PROGRESS_THREAD=1 */";
        let mut head = Head::of(text).unwrap();
        assert!(head.leave_threads_out());
        assert_eq!(head.environments, [[("A", "1")]]);
        let text = "/* RANKS: 1 */ MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);";
        assert!(!Head::of(text).unwrap().leave_threads_out());
    }

    #[test]
    fn a_program_without_settings_has_one_run() {
        let head = Head::of("/* RANKS: 1\n * NEEDS: checked arguments */").unwrap();
        assert_eq!(head.environments, [[]]);
        assert!(head.checked_only && head.hangs.is_none());
        assert_eq!(Head::of("int main(void) {}"), None);
    }
}
