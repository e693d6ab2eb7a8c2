// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many objects a provider offers, for plans of VCIs.
#![expect(unsafe_code, reason = "lists of a C library")]

use super::Library;
use super::abi::{FI_THREAD_COMPLETION, FI_THREAD_DOMAIN, FI_THREAD_SAFE};
use super::choose::{Chosen, InfoList, offer_of};

/// Numbers of objects, with the names that `fi_domain` gives them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Limits {
    /// Endpoints of a domain.
    pub ep_cnt: usize,
    /// Completion queues of a domain.
    pub cq_cnt: usize,
    /// Transmit contexts of a domain.
    pub tx_ctx_cnt: usize,
    /// Receive contexts of a domain.
    pub rx_ctx_cnt: usize,
    /// Transmit contexts of an endpoint.
    pub max_ep_tx_ctx: usize,
    /// Receive contexts of an endpoint.
    pub max_ep_rx_ctx: usize,
    /// Transmit contexts that endpoints share.
    pub max_ep_stx_ctx: usize,
    /// Whether `FI_THREAD_SAFE` is offered.
    pub has_thread_safe: bool,
    /// Whether `FI_THREAD_COMPLETION` is offered.
    pub has_thread_completion: bool,
    /// Whether `FI_THREAD_DOMAIN` is offered.
    pub has_thread_domain: bool,
}

impl Chosen<'_> {
    /// What the chosen provider offers.
    pub fn limits(&self, library: &Library) -> Limits {
        let offers = |threading| {
            let list = InfoList::with_threading(library, false, threading);
            list.is_ok_and(|list| {
                // SAFETY: a member of the list.
                list.iter()
                    .any(|info| unsafe { offer_of(info) } == self.offer)
            })
        };
        // SAFETY: a list of one with all its parts (man fi_getinfo); the library fills what it knows.
        let domain = unsafe { &*(*self.info()).domain_attr };
        Limits {
            ep_cnt: domain.ep_cnt,
            cq_cnt: domain.cq_cnt,
            tx_ctx_cnt: domain.tx_ctx_cnt,
            rx_ctx_cnt: domain.rx_ctx_cnt,
            max_ep_tx_ctx: domain.max_ep_tx_ctx,
            max_ep_rx_ctx: domain.max_ep_rx_ctx,
            max_ep_stx_ctx: domain.max_ep_stx_ctx,
            has_thread_safe: offers(FI_THREAD_SAFE),
            has_thread_completion: offers(FI_THREAD_COMPLETION),
            has_thread_domain: offers(FI_THREAD_DOMAIN),
        }
    }
}
