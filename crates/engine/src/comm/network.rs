// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transports of a process that may have peers on other nodes.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fabric::network::{NetPlan, Network};
use fabric::node::NodeHandle;
use fabric::ofi::Choice;
use fabric::transport::{Nodes, Shm, Transport};

use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{PeerIndex, VciIndex};
use crate::settings::NetworkChoice;
use crate::vci::cell::PAYLOAD_RULES;

/// The transport of a VCI: rings in the node segment, and in a job of several nodes the network of the process, which the first VCI opens.
pub(super) fn transport_between_nodes(
    node: &NodeHandle,
    me: PeerIndex,
    vci: VciIndex,
    choice: &NetworkChoice,
    contact_limit: Option<Duration>,
    opened: &OnceLock<Arc<Network>>,
) -> Result<Transport> {
    let shm = Shm::new(node.segment().clone(), me, vci);
    if !node.has_other_nodes() {
        return Ok(Transport::Shm(shm));
    }
    let network = match opened.get() {
        Some(network) => network,
        None => {
            let network = open_network(node, me, choice, contact_limit)
                .map_err(|error| Error::new(ErrorClass::ERR_OTHER, error.to_string()))?;
            opened.get_or_init(|| network)
        }
    };
    let nodes = Nodes::new(node.segment().clone(), vci, shm, network.clone());
    Ok(Transport::Nodes(nodes))
}

fn open_network(
    node: &NodeHandle,
    me: PeerIndex,
    choice: &NetworkChoice,
    contact_limit: Option<Duration>,
) -> std::io::Result<Arc<Network>> {
    let given = |text: &'_ str| (!text.is_empty()).then(|| text.to_owned());
    let (provider, interface) = (given(&choice.provider), given(&choice.interface));
    let library = given(&choice.library);
    let plan = NetPlan {
        library: library.as_deref().map(AsRef::as_ref),
        choice: Choice {
            provider: provider.as_deref(),
            interface: interface.as_deref(),
        },
        sharing: choice.sharing,
        payload_rules: PAYLOAD_RULES,
        contact_limit,
    };
    Network::open(node.segment().clone(), me, &plan)
}
