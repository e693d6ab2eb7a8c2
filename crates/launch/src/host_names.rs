// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of hosts in what the launcher prints.

use crate::notices;
use crate::plan::Hosts;

/// The host of each rank.
#[derive(Clone, Debug)]
pub(crate) struct HostNames {
    names: Vec<String>,
    /// Empty where there is one name.
    node_of: Vec<u32>,
}

impl HostNames {
    /// All ranks are on this node.
    pub(crate) fn here() -> Self {
        Self {
            names: vec![notices::host_name()],
            node_of: Vec::new(),
        }
    }

    pub(crate) fn of(hosts: &Hosts) -> Self {
        Self {
            names: hosts.names.clone(),
            node_of: hosts.node_of.clone(),
        }
    }

    /// How many hosts.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// The host of a rank.
    pub(crate) fn get(&self, rank: usize) -> &str {
        let node = self.node_of.get(rank).map_or(0, |&node| node as usize);
        self.names.get(node).map_or("", String::as_str)
    }

    /// `on a`, or `on 2 hosts (a, b)`.
    pub(crate) fn text(&self) -> String {
        match &self.names[..] {
            [name] => format!("on {name}"),
            names => format!("on {} hosts ({})", names.len(), names.join(", ")),
        }
    }
}
