// SPDX-License-Identifier: MIT OR Apache-2.0
//! The identity of a machine.

use serde::Serialize;

/// What is done with the profile of another machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Foreign {
    /// It is an error: the default everywhere.
    Refuse,
    /// It is used, because the user asked for it.
    Allow,
}

/// A machine, as far as it decides what communication costs.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Host {
    /// The processor's name, as the system tells it.
    pub cpu: String,
    /// The instruction set, such as `x86_64`.
    pub architecture: String,
    /// Processors of the host, not only those that a process may use.
    pub cores: u64,
    /// Bytes of a cache of the last level; 0 if the system does not tell.
    pub l3_bytes: u64,
    /// NUMA nodes; at least 1.
    pub numa_nodes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Whether the host is a virtual machine.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// Release of the kernel. It is no part of the identity: the same machine has another one after an update.
    pub kernel: String,
}

impl Host {
    /// The name of the identity: 16 hexadecimal digits that are equal for equal machines. A file name can have it.
    pub fn fingerprint(&self) -> String {
        let Self {
            cpu,
            architecture,
            cores,
            l3_bytes,
            numa_nodes,
            page_bytes,
            is_virtual,
            kernel: _,
        } = self;
        let identity = format!(
            "{cpu}\n{architecture}\n{cores}\n{l3_bytes}\n{numa_nodes}\n{page_bytes}\n{is_virtual}"
        );
        format!("{:016x}", fnv(identity.as_bytes()))
    }

    /// In which parts of the identity two machines differ, each as `name: this, other`.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let shown = |(key, this, that): (&str, String, String)| {
            let name = if key == "cpu" { "processor" } else { key };
            format!("{name}: {this}, {that}")
        };
        self.differing(other).map(shown).collect()
    }

    /// The key, in a file's `[host]`, of the first part of the identity in which two machines differ.
    pub(crate) fn first_differing_key(&self, other: &Self) -> Option<&'static str> {
        self.differing(other).next().map(|(key, ..)| key)
    }

    fn differing(&self, other: &Self) -> impl Iterator<Item = (&'static str, String, String)> {
        let rows = |host: &Self| {
            [
                ("cpu", host.cpu.clone()),
                ("architecture", host.architecture.clone()),
                ("cores", host.cores.to_string()),
                ("l3_bytes", host.l3_bytes.to_string()),
                ("numa_nodes", host.numa_nodes.to_string()),
                ("page_bytes", host.page_bytes.to_string()),
                ("virtual", host.is_virtual.to_string()),
            ]
        };
        let pairs = rows(self).into_iter().zip(rows(other));
        let pairs = pairs.map(|((key, this), (_, that))| (key, this, that));
        pairs.filter(|(_, this, that)| this != that)
    }
}

/// Fowler, Noll and Vo's hash 1a of 64 bits: the same in every build, which the standard library's does not promise.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
