// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cores that belong to a job while it runs, so that two jobs of one node do not share cores while others idle.
//!
//! A claim is a socket with an abstract name: only one process can have it, it is no file, and it is gone with its owner,
//! however that ends. Jobs in different network namespaces (containers) do not see each other's claims.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A claimed core. Dropped, it is free again.
#[derive(Debug)]
pub(crate) struct Claim {
    _name: Option<UnixDatagram>,
}

/// The first `wanted` cores that no other job has claimed, and the claims on them. Nothing is claimed when there are
/// fewer.
pub(crate) fn free_cores(cores: Vec<Vec<u32>>, wanted: u32) -> (Vec<Vec<u32>>, Vec<Claim>) {
    let wanted = wanted as usize;
    if cores.len() < wanted {
        return (Vec::new(), Vec::new());
    }
    let claimed = cores
        .into_iter()
        .filter_map(|core| Some((claim(*core.first()?)?, core)));
    let (claims, free): (Vec<_>, Vec<_>) = claimed.take(wanted).unzip();
    if free.len() < wanted {
        (Vec::new(), Vec::new())
    } else {
        (free, claims)
    }
}

/// Claims the core with this first processor, unless somebody has. Where sockets are forbidden everything is free to all.
fn claim(processor: u32) -> Option<Claim> {
    let address = SocketAddr::from_abstract_name(format!("rankpoint-core-{processor}"));
    match address.and_then(|address| UnixDatagram::bind_addr(&address)) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => None,
        bound => Some(Claim { _name: bound.ok() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_given_once_until_they_are_returned() {
        // Numbers that no node has, so that jobs of this node do not matter.
        let cores = || {
            (1_000_000..1_000_004)
                .map(|core| vec![core])
                .collect::<Vec<_>>()
        };
        let (first, claims) = free_cores(cores(), 3);
        assert_eq!(first, [[1_000_000], [1_000_001], [1_000_002]]);
        assert_eq!(free_cores(cores(), 2).0.len(), 0);
        let (second, _more) = free_cores(cores(), 1);
        assert_eq!(second, [[1_000_003]]);
        drop(claims);
        assert_eq!(free_cores(cores(), 3).0, first);
        assert_eq!(free_cores(cores(), 5).0.len(), 0);
    }
}
