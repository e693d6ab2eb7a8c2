// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which provider and interface of those that libfabric offers are used.
//!
//! Providers are tried in the order of [`PREFERRED`]. Others are used only when the user names them: they reach no other
//! node, lose messages, or have been seen to hang. Of one provider's interfaces the first one with an address that other hosts
//! can reach is taken, or the one that the user names.
#![expect(unsafe_code, reason = "lists of a C library")]

use std::ffi::{CStr, c_char, c_int};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr::{self, NonNull};

use sys::signals;

use super::Library;
use super::abi::{
    FI_ASYNC_IOV, FI_AV_TABLE, FI_CONTEXT, FI_CONTEXT2, FI_EP_RDM, FI_MR_ALLOCATED, FI_MR_ENDPOINT,
    FI_MR_LOCAL, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_MSG, FI_ORDER_SAS, FI_ORDER_SAW,
    FI_PROGRESS_MANUAL, FI_RMA, FI_RX_CQ_DATA, FI_SOCKADDR_IN, FI_SOCKADDR_IN6, FI_THREAD_DOMAIN,
    Info,
};

/// Providers in the order of preference. `net` is the name of `tcp` for datagrams before libfabric 1.18.
const PREFERRED: [&str; 8] = [
    "cxi",
    "efa",
    "verbs;ofi_rxm",
    "psm2",
    "opx",
    "tcp",
    "net",
    "tcp;ofi_rxm",
];

/// The user's choice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice<'a> {
    /// The provider's name (`RANKPOINT_PROVIDER`).
    pub provider: Option<&'a str>,
    /// The name or an address of the interface (`RANKPOINT_INTERFACE`).
    pub interface: Option<&'a str>,
}

/// One provider on one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The provider's name.
    pub provider: String,
    /// The interface, or the provider's name for it.
    pub interface: String,
    /// Its address, where it is one of the internet protocol.
    pub address: Option<IpAddr>,
    /// Why it is not used by itself; `None` when it may be.
    pub refused: Option<&'static str>,
}

impl Offer {
    /// Rank in the order of preference, lower is better; `None` when it does not fit the choice.
    fn preference(&self, choice: &Choice<'_>) -> Option<usize> {
        let is_named = |wanted: &str| {
            wanted == self.interface
                || wanted
                    .parse()
                    .is_ok_and(|ip: IpAddr| Some(ip) == self.address)
        };
        match choice.interface {
            Some(wanted) if !is_named(wanted) => return None,
            None if self.refused.is_some() && choice.provider.is_none() => return None,
            None if self.address.is_some_and(|ip| !is_reachable(ip)) => return None,
            _ => {}
        }
        // An address of the older protocol first: both ends have one more often.
        let family = usize::from(self.address.is_some_and(|ip| ip.is_ipv6()));
        let rank = match choice.provider {
            Some(wanted) if wanted == self.provider => 0,
            Some(_) => return None,
            None => PREFERRED.iter().position(|name| *name == self.provider)?,
        };
        Some(2 * rank + family)
    }
}

/// Whether other hosts can reach an address.
fn is_reachable(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local() && !ip.is_unspecified(),
    }
}

/// A list of attributes that libfabric made.
pub(super) struct InfoList<'a> {
    library: &'a Library,
    first: *mut Info,
}

// SAFETY: the list belongs to its owner, and the library ties it to no thread.
unsafe impl Send for InfoList<'_> {}

impl Drop for InfoList<'_> {
    fn drop(&mut self) {
        // SAFETY: made by this library, and freed once.
        unsafe { (self.library.freeinfo)(self.first) };
    }
}

impl<'a> InfoList<'a> {
    /// All reliable datagram endpoints that keep messages in order; if `with_puts`, those that also write the memory of others before the
    /// messages that follow.
    fn new(library: &'a Library, with_puts: bool) -> io::Result<Self> {
        Self::with_threading(library, with_puts, FI_THREAD_DOMAIN)
    }

    /// The same with another level of threading.
    pub(super) fn with_threading(
        library: &'a Library,
        with_puts: bool,
        threading: c_int,
    ) -> io::Result<Self> {
        // SAFETY: null makes an empty one (man fi_getinfo).
        let hints = unsafe { (library.dupinfo)(ptr::null()) };
        let hints = InfoList {
            library,
            first: NonNull::new(hints)
                .ok_or(io::ErrorKind::OutOfMemory)?
                .as_ptr(),
        };
        // SAFETY: an empty one has all its parts.
        unsafe {
            let info = &mut *hints.first;
            let (caps, order) = match with_puts {
                false => (FI_MSG, FI_ORDER_SAS),
                true => (FI_MSG | FI_RMA, FI_ORDER_SAS | FI_ORDER_SAW),
            };
            info.caps = caps;
            info.mode = FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV | FI_RX_CQ_DATA;
            (*info.ep_attr).kind = FI_EP_RDM;
            (*info.tx_attr).msg_order = order;
            (*info.rx_attr).msg_order = order;
            let domain = &mut *info.domain_attr;
            domain.threading = threading;
            domain.data_progress = FI_PROGRESS_MANUAL;
            domain.av_type = FI_AV_TABLE;
            domain.mr_mode =
                FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
        }
        let mut first = ptr::null_mut();
        let (node, service) = (ptr::null(), ptr::null());
        // The first call loads and initialises the providers.
        let code = signals::keeping_actions(|| {
            // SAFETY: valid hints and a place for the result.
            unsafe {
                (library.getinfo)(
                    library.version(),
                    node,
                    service,
                    0,
                    hints.first,
                    &raw mut first,
                )
            }
        });
        if code != 0 {
            return Err(library.error("fi_getinfo", code as isize));
        }
        Ok(InfoList { library, first })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = NonNull<Info>> {
        let next = |info: &NonNull<Info>| {
            // SAFETY: a member of the list, which lives as long as `self`.
            NonNull::new(unsafe { info.as_ref() }.next)
        };
        std::iter::successors(NonNull::new(self.first), next)
    }
}

/// The offer that a member of a list describes.
///
/// # Safety
/// `info` is a member of a list that libfabric made and that exists.
pub(super) unsafe fn offer_of(info: NonNull<Info>) -> Offer {
    // SAFETY: members of a list have all their parts (man fi_getinfo), and texts end with zero.
    unsafe {
        let info = info.as_ref();
        let provider = text((*info.fabric_attr).prov_name);
        let refused = match provider.as_str() {
            name if PREFERRED.contains(&name) => None,
            "shm" | "sm2" | "off_coll" => Some("it reaches no other node"),
            "sockets" => Some("a thread of its own keeps a core busy"),
            "udp" | "udp;ofi_rxd" => Some("it loses messages, or is slow"),
            "psm3" => Some("it has been seen to hang on plain Ethernet"),
            _ => Some("it is not known"),
        };
        Offer {
            provider,
            interface: text((*info.domain_attr).name),
            address: address_of(info),
            refused,
        }
    }
}

/// The text at an address.
///
/// # Safety
/// It is null or ends with zero.
unsafe fn text(start: *const c_char) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(start) }
        .to_string_lossy()
        .into_owned()
}

/// The source address, where it is one of the internet protocol.
///
/// # Safety
/// `src_addr` is null, or has `src_addrlen` bytes.
unsafe fn address_of(info: &Info) -> Option<IpAddr> {
    if info.src_addr.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(info.src_addr.cast::<u8>(), info.src_addrlen) };
    // As in sockaddr_in and sockaddr_in6.
    match info.addr_format {
        FI_SOCKADDR_IN => {
            let ip: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            Some(Ipv4Addr::from(ip).into())
        }
        FI_SOCKADDR_IN6 => {
            let ip: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            Some(Ipv6Addr::from(ip).into())
        }
        _ => None,
    }
}

/// All that the library offers on this host, each once, for reports.
///
/// # Errors
/// The library's.
pub fn offers(library: &Library) -> io::Result<Vec<Offer>> {
    let list = InfoList::new(library, false)?;
    let mut found = Vec::new();
    for info in list.iter() {
        // SAFETY: a member of the list.
        let offer = unsafe { offer_of(info) };
        if !found.contains(&offer) {
            found.push(offer);
        }
    }
    Ok(found)
}

/// The result of [`choose`]: the attributes for opening an endpoint.
pub struct Chosen<'a> {
    info: InfoList<'a>,
    /// The provider and the interface.
    pub offer: Offer,
}

impl Chosen<'_> {
    pub(super) const fn info(&self) -> *mut Info {
        self.info.first
    }
}

/// Chooses a provider and an interface.
///
/// # Errors
/// When none fits: the error lists what there is.
pub fn choose<'a>(library: &'a Library, choice: &Choice<'_>) -> io::Result<Chosen<'a>> {
    let list = InfoList::new(library, false)?;
    // SAFETY: members of the list.
    let offered = || list.iter().map(|info| (info, unsafe { offer_of(info) }));
    let best = offered()
        .filter_map(|(info, offer)| Some((offer.preference(choice)?, info, offer)))
        .min_by_key(|(preference, ..)| *preference);
    let Some((_, info, offer)) = best else {
        let mut names: Vec<String> = offered()
            .map(|(_, offer)| format!("{} on {}", offer.provider, offer.interface))
            .collect();
        names.dedup();
        let wanted = match (choice.provider, choice.interface) {
            (None, None) => String::new(),
            (provider, interface) => {
                let provider = provider.map(|name| format!(" RANKPOINT_PROVIDER={name}"));
                let interface = interface.map(|name| format!(" RANKPOINT_INTERFACE={name}"));
                [provider, interface].into_iter().flatten().collect()
            }
        };
        return Err(io::Error::other(format!(
            "libfabric {} ({}) offers no network that can be used{}{wanted}; it has {}",
            library.version_text(),
            library.path().display(),
            if wanted.is_empty() { "" } else { " with" },
            if names.is_empty() {
                "nothing".to_owned()
            } else {
                names.join(", ")
            },
        )));
    };
    // The same provider and interface with access to memory, where it has that.
    let able = InfoList::new(library, true).ok();
    // SAFETY: a member of the list.
    let is_same = |info: &NonNull<Info>| unsafe { offer_of(*info) } == offer;
    let info = able
        .as_ref()
        .and_then(|able| able.iter().find(is_same))
        .unwrap_or(info);
    // SAFETY: a member of a list that still exists; the duplicate is a list of one.
    let copy = unsafe { (library.dupinfo)(info.as_ptr()) };
    let first = NonNull::new(copy)
        .ok_or(io::ErrorKind::OutOfMemory)?
        .as_ptr();
    Ok(Chosen {
        info: InfoList { library, first },
        offer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(provider: &str, interface: &str, address: Option<&str>) -> Offer {
        Offer {
            provider: provider.to_owned(),
            interface: interface.to_owned(),
            address: address.and_then(|text| text.parse().ok()),
            refused: (!PREFERRED.contains(&provider)).then_some("for a reason"),
        }
    }

    #[test]
    fn faster_networks_and_reachable_addresses_come_first() {
        let any = Choice::default();
        let best = |offers: &[Offer], choice: &Choice<'_>| {
            let fitting = offers
                .iter()
                .filter_map(|o| Some((o.preference(choice)?, o)));
            fitting
                .min_by_key(|(rank, _)| *rank)
                .map(|(_, o)| o.interface.clone())
        };
        let offers = [
            offer("shm", "shm", None),
            offer("tcp", "lo", Some("127.0.0.1")),
            offer("tcp", "link", Some("fe80::1")),
            offer("tcp", "eth6", Some("2001:db8::1")),
            offer("tcp", "eth0", Some("10.0.0.1")),
            offer("cxi", "cxi0", None),
        ];
        assert_eq!(best(&offers, &any).unwrap(), "cxi0");
        assert_eq!(best(&offers[..5], &any).unwrap(), "eth0");
        assert_eq!(best(&offers[..4], &any).unwrap(), "eth6");
        assert_eq!(best(&offers[..3], &any), None);
        let named = |provider, interface| Choice {
            provider,
            interface,
        };
        assert_eq!(
            best(&offers, &named(None, Some("127.0.0.1"))).unwrap(),
            "lo"
        );
        assert_eq!(best(&offers, &named(None, Some("lo"))).unwrap(), "lo");
        assert_eq!(best(&offers, &named(Some("shm"), None)).unwrap(), "shm");
        assert_eq!(best(&offers, &named(Some("efa"), None)), None);
    }
}
