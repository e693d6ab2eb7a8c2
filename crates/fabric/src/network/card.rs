// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cards: what a rank publishes about itself.

use std::io;

use crate::board::CARD_BYTES;

/// Version of cards and frames; processes of one job must agree.
const WIRE_VERSION: u16 = 2;
/// Begins every card; read with the other byte order it is another number.
const MAGIC: u32 = 0x5250_4e31;
/// Where the parts of a card begin.
const VCIS: usize = 6;
const NONCE: usize = 8;
const PROVIDER: usize = 16;
const ADDRESS: usize = 34;
/// Longest name of a provider.
const PROVIDER_BYTES: usize = 16;

/// How a rank is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Card {
    /// A random number, of which tokens are made.
    pub(super) nonce: u64,
    /// How many VCIs communicators of processes take round-robin there.
    pub(super) vcis: u16,
    /// The provider of its endpoint.
    pub(super) provider: String,
    /// The address of its endpoint.
    pub(super) address: Vec<u8>,
}

impl Card {
    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; ADDRESS];
        bytes[0..4].copy_from_slice(&MAGIC.to_ne_bytes());
        bytes[4..6].copy_from_slice(&WIRE_VERSION.to_ne_bytes());
        bytes[VCIS..NONCE].copy_from_slice(&self.vcis.to_ne_bytes());
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
        let vcis: [u8; 2] = part(VCIS, NONCE)?.try_into().map_err(|_| cut())?;
        let nonce: [u8; 8] = part(NONCE, NONCE + 8)?.try_into().map_err(|_| cut())?;
        let name = part(PROVIDER, PROVIDER + PROVIDER_BYTES)?;
        let end = name.iter().position(|&byte| byte == 0);
        let provider = String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]);
        let length: [u8; 2] = part(32, 34)?.try_into().map_err(|_| cut())?;
        let address = part(ADDRESS, ADDRESS + usize::from(u16::from_ne_bytes(length)))?;
        Ok(Self {
            nonce: u64::from_ne_bytes(nonce),
            vcis: u16::from_ne_bytes(vcis),
            provider: provider.into_owned(),
            address: address.to_vec(),
        })
    }
}
