// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hosts that ranks of a measured job run on, and how launchers are told.

use clap::Args;

/// Where ranks run.
#[derive(Args, Clone, Debug, Default)]
pub struct HostOptions {
    /// Hosts for the ranks, separated by commas: rank 0 runs on the first, rank 1 on the next, and so on, in turn (default: all on
    /// this one). Run this command on the first of them
    #[arg(long, value_delimiter = ',', value_parser = name)]
    pub hosts: Vec<String>,
    /// Command that reaches a host, for `mpiexec --launcher` (default: mpiexec's own choice)
    #[arg(long, requires = "hosts")]
    pub launcher: Option<String>,
}

/// Slots of a host for launchers that want a number: more than any measurement has ranks.
const SLOTS: u32 = 4096;

impl HostOptions {
    /// How many hosts a job of so many ranks has.
    pub fn count(&self, ranks: u32) -> u32 {
        let hosts = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        hosts.clamp(1, ranks)
    }

    /// A launcher's words with the names of the hosts in place of `{hosts}`, and with their slots in place of `{slots}`.
    pub fn fill(&self, words: &[String]) -> Vec<String> {
        words.iter().map(|word| self.filled(word)).collect()
    }

    fn filled(&self, word: &str) -> String {
        let slots = self.hosts.iter().map(|host| format!("{host}:{SLOTS}"));
        let slots: Vec<String> = slots.collect();
        word.replace("{hosts}", &self.hosts.join(","))
            .replace("{slots}", &slots.join(","))
    }
}

fn name(text: &str) -> Result<String, String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    match !text.is_empty() && text.chars().all(is_name) {
        true => Ok(text.to_owned()),
        false => Err("expected the name or the address of a host, without slots".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> HostOptions {
        HostOptions {
            hosts: vec!["a".to_owned(), "b".to_owned()],
            launcher: Some("rsh -l me".to_owned()),
        }
    }

    #[test]
    fn launchers_are_told_the_hosts() {
        let words = ["x", "--host={slots}", "-hosts", "{hosts}"].map(str::to_owned);
        assert_eq!(
            two().fill(&words),
            ["x", "--host=a:4096,b:4096", "-hosts", "a,b"]
        );
    }

    #[test]
    fn a_job_has_no_more_hosts_than_ranks() {
        assert_eq!([1, 2, 5].map(|ranks| two().count(ranks)), [1, 2, 2]);
        assert_eq!(HostOptions::default().count(5), 1);
    }

    #[test]
    fn hosts_are_names() {
        assert!(name("node-1.cluster").is_ok());
        assert!(name("a:4").is_err() && name("").is_err());
    }
}
