// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cards: what a rank publishes about itself.

use std::io;
use std::ops::Range;

use crate::board::CARD_BYTES;
use crate::identity::MOST_VCIS;

/// Version of cards and frames; processes of one job must agree.
const WIRE_VERSION: u16 = 4;
/// Begins every card; read with the other byte order it is another number.
const MAGIC: u32 = 0x5250_4e31;
/// Where the parts of a card begin.
const VCIS: usize = 6;
const CONTEXTS: usize = 7;
const NONCE: usize = 8;
const PROVIDER: usize = 16;
const ADDRESS: usize = 34;
/// Longest name of a provider.
const PROVIDER_BYTES: usize = 16;
/// Bytes of an address of the internet protocol that tell the port (`sockaddr_in`, `sockaddr_in6`).
const PORT: Range<usize> = 2..4;

/// How a rank is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Card {
    /// A random number, of which tokens are made.
    pub(super) nonce: u64,
    /// How many VCIs communicators of processes take round-robin there.
    pub(super) vcis: u8,
    /// Contexts of libfabric there, at least one: VCI `v` uses number `v` modulo this.
    pub(super) contexts: u8,
    /// The provider of its contexts.
    pub(super) provider: String,
    /// The address of its context 0.
    pub(super) address: Vec<u8>,
}

impl Card {
    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; ADDRESS];
        bytes[0..4].copy_from_slice(&MAGIC.to_ne_bytes());
        bytes[4..6].copy_from_slice(&WIRE_VERSION.to_ne_bytes());
        (bytes[VCIS], bytes[CONTEXTS]) = (self.vcis, self.contexts);
        bytes[NONCE..NONCE + 8].copy_from_slice(&self.nonce.to_ne_bytes());
        let name = &self.provider.as_bytes()[..self.provider.len().min(PROVIDER_BYTES)];
        bytes[PROVIDER..PROVIDER + name.len()].copy_from_slice(name);
        let length = u16::try_from(self.address.len()).unwrap_or(u16::MAX);
        bytes[32..34].copy_from_slice(&length.to_ne_bytes());
        bytes.extend_from_slice(&self.address);
        if bytes.len() > CARD_BYTES {
            return Err(io::Error::other(format!(
                "the network addresses of provider {} have {} bytes, at most {} are supported",
                self.provider,
                self.address.len(),
                CARD_BYTES - ADDRESS
            )));
        }
        Ok(bytes)
    }

    /// Reads a card.
    ///
    /// # Errors
    /// With what does not fit, without the rank, which the caller knows.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let cut = || "its card is too small".to_owned();
        let part = |from: usize, to: usize| bytes.get(from..to).ok_or_else(cut);
        let magic: [u8; 4] = part(0, 4)?.try_into().map_err(|_| cut())?;
        if u32::from_ne_bytes(magic) != MAGIC {
            return Err("it runs on another kind of processor or another library".to_owned());
        }
        let version: [u8; 2] = part(4, 6)?.try_into().map_err(|_| cut())?;
        let version = u16::from_ne_bytes(version);
        if version != WIRE_VERSION {
            return Err(format!(
                "its Rankpoint speaks version {version} of the wire protocol, this one version {WIRE_VERSION}"
            ));
        }
        let [vcis, contexts] = part(VCIS, NONCE)?.try_into().map_err(|_| cut())?;
        if !(1..=MOST_VCIS).contains(&usize::from(contexts)) {
            return Err(format!(
                "its card tells of {contexts} contexts of libfabric, expected 1 to {MOST_VCIS}"
            ));
        }
        let nonce: [u8; 8] = part(NONCE, NONCE + 8)?.try_into().map_err(|_| cut())?;
        let name = part(PROVIDER, PROVIDER + PROVIDER_BYTES)?;
        let end = name.iter().position(|&byte| byte == 0);
        let provider = String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]);
        let length: [u8; 2] = part(32, 34)?.try_into().map_err(|_| cut())?;
        let address = part(ADDRESS, ADDRESS + usize::from(u16::from_ne_bytes(length)))?;
        Ok(Self {
            nonce: u64::from_ne_bytes(nonce),
            vcis,
            contexts,
            provider: provider.into_owned(),
            address: address.to_vec(),
        })
    }

    /// The address of another context of the same process, as a frame names it; `None` when it cannot be one. Of an address of the internet
    /// protocol (`is_internet`) only the port may differ; of others nothing is known but the length.
    pub(super) fn address_of_context(&self, named: &[u8], is_internet: bool) -> Option<Vec<u8>> {
        if named.len() != self.address.len() {
            return None;
        }
        if !is_internet {
            return Some(named.to_vec());
        }
        let mut address = self.address.clone();
        address.get_mut(PORT)?.copy_from_slice(named.get(PORT)?);
        (address == named).then_some(address)
    }
}
