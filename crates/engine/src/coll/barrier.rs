// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barrier, and the small agreements that communicator creation needs.

use std::sync::Arc;

use super::primitives::Round;
use crate::comm::Comm;
use crate::errors::Result;

/// Nobody leaves before everybody entered: dissemination, ceil(log2 p) rounds of one empty message each way.
///
/// # Errors
/// Those of the messages.
pub async fn barrier(comm: Arc<Comm>) -> Result<()> {
    let round = Round::new(comm);
    let mut distance = 1;
    while distance < round.size {
        let to = (round.rank + distance) % round.size;
        let from = (round.rank + round.size - distance) % round.size;
        round.exchange_bytes(&[], to, &mut [], from).await?;
        distance *= 2;
    }
    Ok(())
}

/// Every rank's word, in rank order, at every rank: Bruck's doubling, ceil(log2 p) rounds.
///
/// # Errors
/// Those of the messages.
pub async fn gather_words(comm: Arc<Comm>, word: u64) -> Result<Vec<u64>> {
    let round = Round::new(comm);
    let size = round.size as usize;
    let mut words = vec![word];
    while words.len() < size {
        let distance = words.len();
        let count = distance.min(size - distance);
        let to = (round.rank as usize + size - distance) % size;
        let from = (round.rank as usize + distance) % size;
        let out: Vec<u8> = words[..count]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        let mut into = vec![0u8; out.len()];
        round
            .exchange_bytes(&out, to as u32, &mut into, from as u32)
            .await?;
        words.extend(into.chunks_exact(8).map(|eight| {
            let mut bytes = [0u8; 8];
            bytes.copy_from_slice(eight);
            u64::from_ne_bytes(bytes)
        }));
    }
    words.rotate_right(round.rank as usize);
    Ok(words)
}

/// Sets `word` to the maximum over all ranks (of both groups of an intercommunicator's local side).
///
/// # Errors
/// Those of the messages.
pub async fn agree_max(comm: Arc<Comm>, word: &mut u64) -> Result<()> {
    let words = gather_words(comm, *word).await?;
    *word = words.into_iter().max().unwrap_or(*word);
    Ok(())
}
