// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many contexts of libfabric the VCIs of a process have.

use crate::identity::MOST_VCIS;

/// Descriptors that a context of a provider of sockets takes, without its connections.
const CONTEXT_FILES: u64 = 8;
/// Descriptors that are left to the program, and to the first context.
const OTHER_FILES: u64 = 64;
/// Providers whose contexts take a descriptor for each peer.
const WITH_FILES: [&str; 4] = ["tcp", "net", "tcp;ofi_rxm", "verbs;ofi_rxm"];

/// How VCIs share contexts of libfabric (`RANKPOINT_NET_SHARING`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// All VCIs of a process use one.
    Process,
    /// Each VCI has its own.
    #[default]
    Vci,
    /// VCIs take so many round-robin.
    AtMost(u8),
}

impl Sharing {
    /// The value of the setting; `None` when it is not understood.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "" | "vci" => Some(Self::Vci),
            "process" => Some(Self::Process),
            number => {
                let number = number.parse().ok()?;
                (1..=MOST_VCIS)
                    .contains(&usize::from(number))
                    .then_some(Self::AtMost(number))
            }
        }
    }

    /// The number that goes on the card of a process that may have so many descriptors open and has so many ranks on other nodes. Where
    /// descriptors are few, VCIs share contexts: a process that works with one context does not fail with several.
    pub fn contexts(self, provider: &str, open_files: Option<u64>, other_ranks: u32) -> u8 {
        let wanted = match self {
            Self::Process => 1,
            Self::Vci => MOST_VCIS as u8,
            Self::AtMost(count) => count,
        };
        let files = open_files.filter(|_| WITH_FILES.contains(&provider));
        let affordable = files.map_or(u64::MAX, |files| {
            files.saturating_sub(OTHER_FILES) / (CONTEXT_FILES + u64::from(other_ranks))
        });
        wanted
            .min(u8::try_from(affordable).unwrap_or(u8::MAX))
            .max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_understood() {
        let parsed = ["", " vci ", "process", "1", "64"].map(Sharing::parse);
        let expected = [
            Sharing::Vci,
            Sharing::Vci,
            Sharing::Process,
            Sharing::AtMost(1),
            Sharing::AtMost(64),
        ];
        assert_eq!(parsed, expected.map(Some));
        for wrong in ["0", "65", "-1", "domain", "2 3"] {
            assert_eq!(Sharing::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn few_descriptors_make_few_contexts_but_never_none() {
        let vci = |files, ranks| Sharing::Vci.contexts("tcp", files, ranks);
        assert_eq!(vci(None, 1_000_000), 64);
        assert_eq!(vci(Some(20_000), 4), 64);
        assert_eq!(vci(Some(1024), 8), 60);
        assert_eq!(vci(Some(1024), 2000), 1);
        assert_eq!(vci(Some(64), 1), 1);
        assert_eq!(vci(Some(0), 1), 1);
        assert_eq!(Sharing::AtMost(5).contexts("tcp", Some(20_000), 1), 5);
        assert_eq!(Sharing::AtMost(5).contexts("tcp", Some(100), 1), 4);
        assert_eq!(Sharing::Process.contexts("tcp", None, 1), 1);
        assert_eq!(Sharing::Vci.contexts("cxi", Some(100), 1000), 64);
    }
}
