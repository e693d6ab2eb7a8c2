// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening the objects that an endpoint consists of.
#![expect(unsafe_code, reason = "objects of a C library")]

use std::ffi::c_int;
use std::io;
use std::mem::offset_of;
use std::ptr::{self, NonNull};

use super::Library;
use super::abi::{
    Av, AvAttr, Cq, CqAttr, CqEntry, Domain, DomainOps, Ep, EpOps, FI_AV_TABLE, FI_CQ_FORMAT_DATA,
    FI_ENABLE, FI_MULTI_RECV, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, FI_RECV, FI_TRANSMIT,
    FI_WAIT_NONE, FabricOps, Fid, FidOps, Roomy, function,
};
use super::choose::Chosen;
use super::puts::is_of_sockets;

/// Receive buffers of an endpoint.
pub(super) const BUFFERS: usize = 4;
/// Bytes of one receive buffer, which takes many messages.
pub(super) const BUFFER_BYTES: usize = 128 << 10;
/// Receive buffers of an endpoint where each takes one message.
pub(super) const SINGLE_BUFFERS: usize = 16;

/// Most bytes of the receive buffers of an endpoint whose messages have at most this many bytes.
pub const fn receive_bytes(message_bytes: usize) -> usize {
    let (many, single) = (BUFFERS * BUFFER_BYTES, SINGLE_BUFFERS * message_bytes);
    if many > single { many } else { single }
}

/// Whether messages may share receive buffers. Over sockets libfabric before 1.20 releases a buffer while messages in it are incomplete
/// (github.com/ofiwg/libfabric/pull/9420), and connections that wait for a buffer are not all served by one with room for them (pull/8937).
fn shares_buffers(library: &Library, provider: &str) -> bool {
    !is_of_sockets(provider) || library.is_at_least(1, 20)
}

/// Completions that may wait in a queue: those of all sends, and of as many messages of at least so many bytes as the receive buffers hold.
/// A queue with more of them than it has room for may lose some, and is of no use from then on.
const fn most_completions(takes_many: bool, least_bytes: usize, sends: u32) -> usize {
    let receives = if takes_many {
        BUFFERS * BUFFER_BYTES.div_ceil(least_bytes)
    } else {
        SINGLE_BUFFERS
    };
    receives + sends as usize
}

/// Memory of the completion queue of such an endpoint.
pub const fn queue_bytes(least_bytes: usize, sends: u32) -> usize {
    most_completions(true, least_bytes, sends).next_power_of_two() * size_of::<CqEntry>()
}

pub(super) fn missing(what: &str) -> io::Error {
    io::Error::other(format!("libfabric has no {what}"))
}

/// The objects of an endpoint.
pub(super) struct Opened {
    pub(super) domain: NonNull<Domain>,
    pub(super) cq: NonNull<Cq>,
    pub(super) av: NonNull<Av>,
    pub(super) ep: NonNull<Ep>,
    pub(super) takes_many: bool,
    /// All objects, each before those that it uses.
    pub(super) all: Vec<NonNull<Fid>>,
}

impl Opened {
    pub(super) fn new(
        library: &Library,
        chosen: &Chosen<'_>,
        least_bytes: usize,
        sends: u32,
    ) -> io::Result<Self> {
        let check = |call: &str, code: c_int| match code {
            0 => Ok(()),
            code => Err(library.error(call, code as isize)),
        };
        let none = ptr::null_mut();
        // SAFETY: the calls follow man fi_fabric, fi_domain, fi_cq, fi_av and fi_endpoint: each object is made by a function of its
        // parent's table with attributes of the right layout.
        unsafe {
            let info = chosen.info();
            let mut fabric = ptr::null_mut();
            check(
                "fi_fabric",
                (library.fabric)((*info).fabric_attr, &raw mut fabric, none),
            )?;
            let open = function!((*fabric).ops, FabricOps, domain);
            let open = open.ok_or_else(|| missing("fi_domain"))?;
            let mut domain: *mut Domain = ptr::null_mut();
            check("fi_domain", open(fabric, info, &raw mut domain, none))?;
            let ops = (*domain).ops;

            let takes_many = (*info).caps & FI_MULTI_RECV != 0
                && shares_buffers(library, &chosen.offer.provider);
            let open = function!(ops, DomainOps, cq_open).ok_or_else(|| missing("fi_cq_open"))?;
            let mut cq = ptr::null_mut();
            let mut attr = Roomy::new(CqAttr {
                size: most_completions(takes_many, least_bytes, sends),
                flags: 0,
                format: FI_CQ_FORMAT_DATA,
                wait_obj: FI_WAIT_NONE,
            });
            check("fi_cq_open", open(domain, &raw mut attr, &raw mut cq, none))?;

            let open = function!(ops, DomainOps, av_open).ok_or_else(|| missing("fi_av_open"))?;
            let mut av = ptr::null_mut();
            let mut attr = Roomy::new(AvAttr {
                kind: FI_AV_TABLE,
                rx_ctx_bits: 0,
                count: 0,
            });
            check("fi_av_open", open(domain, &raw mut attr, &raw mut av, none))?;

            let open = function!(ops, DomainOps, endpoint).ok_or_else(|| missing("fi_endpoint"))?;
            let mut ep = ptr::null_mut();
            check("fi_endpoint", open(domain, info, &raw mut ep, none))?;
            let fids: [*mut Fid; 5] = [
                ep.cast(),
                cq.cast(),
                av.cast(),
                domain.cast(),
                fabric.cast(),
            ];
            Ok(Self {
                all: fids.into_iter().filter_map(NonNull::new).collect(),
                domain: NonNull::new(domain).ok_or_else(|| missing("domain"))?,
                cq: NonNull::new(cq).ok_or_else(|| missing("completion queue"))?,
                av: NonNull::new(av).ok_or_else(|| missing("address vector"))?,
                ep: NonNull::new(ep).ok_or_else(|| missing("endpoint"))?,
                takes_many,
            })
        }
    }

    /// Joins the objects, so that messages can be sent and received.
    pub(super) fn enable(&self, library: &Library, message_bytes: usize) -> io::Result<()> {
        let check = |call: &str, code: c_int| match code {
            0 => Ok(()),
            code => Err(library.error(call, code as isize)),
        };
        let (ep, fid) = (self.ep.as_ptr(), self.ep.as_ptr().cast::<Fid>());
        // SAFETY: open objects, which are bound before the endpoint is enabled (man fi_endpoint).
        unsafe {
            let bind = function!((*fid).ops, FidOps, bind).ok_or_else(|| missing("fi_ep_bind"))?;
            check("fi_ep_bind", bind(fid, self.av.as_ptr().cast(), 0))?;
            let queue = self.cq.as_ptr().cast();
            check("fi_ep_bind", bind(fid, queue, FI_TRANSMIT | FI_RECV))?;
            if self.takes_many
                && let Some(set) = function!((*ep).ops, EpOps, setopt)
            {
                let value = (&raw const message_bytes).cast();
                let size = size_of::<usize>();
                // Where the option is unknown the provider's own minimum is in force, and messages that do not fit fail.
                let _ = set(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, value, size);
            }
            let enable =
                function!((*fid).ops, FidOps, control).ok_or_else(|| missing("fi_enable"))?;
            check("fi_enable", enable(fid, FI_ENABLE, ptr::null_mut()))
        }
    }
}
