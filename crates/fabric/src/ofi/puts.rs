// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether an endpoint writes the memory of others, and how.
#![expect(unsafe_code, reason = "objects of a C library")]

use std::mem::offset_of;
use std::ptr::NonNull;

use super::abi::{
    Ep, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_ORDER_SAW, FI_RMA, MsgRma, RmaOps, function,
};
use super::choose::Chosen;

/// Whether a provider sends through the kernel's sockets; layers above it follow after a semicolon.
pub(super) fn is_of_sockets(provider: &str) -> bool {
    let core = provider.split(';').next();
    core.is_some_and(|core| ["tcp", "net", "sockets"].contains(&core))
}

/// How an endpoint puts.
pub(super) struct Puts {
    pub(super) writemsg: unsafe extern "C" fn(*mut Ep, *const MsgRma, u64) -> isize,
    /// Whether addresses of regions are those of the memory; else they begin at 0.
    pub(super) has_addresses: bool,
    /// Longest put, in bytes.
    pub(super) most_bytes: usize,
    /// Whether the kernel's sockets carry them.
    pub(super) through_sockets: bool,
}

impl Puts {
    /// `None` where the provider has no puts, does not keep them and messages in order, or has keys that can be guessed.
    ///
    /// # Safety
    /// An endpoint that was opened with these attributes.
    pub(super) unsafe fn of(chosen: &Chosen<'_>, ep: NonNull<Ep>) -> Option<Self> {
        // SAFETY: attributes have all their parts, and the tables are those of their kinds.
        unsafe {
            let info = &*chosen.info();
            let (domain, ep_attr) = (&*info.domain_attr, &*info.ep_attr);
            let is_ordered = (*info.tx_attr).msg_order & FI_ORDER_SAW != 0;
            let has_long_keys =
                domain.mr_mode & FI_MR_PROV_KEY != 0 || domain.mr_key_size == size_of::<u64>();
            if info.caps & FI_RMA == 0 || !is_ordered || !has_long_keys {
                return None;
            }
            Some(Self {
                writemsg: function!((*ep.as_ptr()).rma, RmaOps, writemsg)?,
                has_addresses: domain.mr_mode & FI_MR_VIRT_ADDR != 0,
                most_bytes: ep_attr.max_msg_size,
                through_sockets: is_of_sockets(&chosen.offer.provider),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_of_sockets;

    #[test]
    fn layers_do_not_hide_sockets() {
        for provider in ["tcp", "net", "sockets", "tcp;ofi_rxm", "net;ofi_rxm"] {
            assert!(is_of_sockets(provider), "{provider}");
        }
        for provider in ["verbs;ofi_rxm", "cxi", "efa", "psm3", "", "tcpx"] {
            assert!(!is_of_sockets(provider), "{provider}");
        }
    }
}
