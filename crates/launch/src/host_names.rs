// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of hosts: those in what the launcher prints, and which of them are this node.

use std::net::{IpAddr, UdpSocket};

use crate::plan::Hosts;
use crate::{notices, settings};

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

/// Whether a name is this node's.
pub(crate) fn is_here(name: &str) -> bool {
    let own = notices::host_name();
    let short = own.split('.').next().unwrap_or_default();
    // PRRTE calls the first host of an allocation +n0.
    ["localhost", "127.0.0.1", "::1", "+n0", &own, short].contains(&name)
        || settings::slurm_node().is_some_and(|node| node == name)
        // Only an address of this node can be bound.
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| UdpSocket::bind((address, 0)).is_ok())
}
