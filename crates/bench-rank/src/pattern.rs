// SPDX-License-Identifier: MIT OR Apache-2.0
//! The data of messages, which are checked.

use crate::mpi::Mpi;

/// The byte at a place of the message with a number: every message differs from its neighbours, in every byte.
pub(crate) fn pattern(message: u64, place: usize) -> u8 {
    (message.wrapping_mul(151) as u8) ^ (place.wrapping_mul(31) as u8) ^ ((place >> 8) as u8)
}

pub(crate) fn fill(data: &mut [u8], message: u64) {
    for (place, byte) in data.iter_mut().enumerate() {
        *byte = pattern(message, place);
    }
}

/// Ends the job when a message is not the one with this number.
pub(crate) fn check(mpi: &Mpi, data: &[u8], message: u64) {
    let wrong = |&(place, byte): &(usize, &u8)| *byte != pattern(message, place);
    if let Some((place, byte)) = data.iter().enumerate().find(wrong) {
        mpi.abort(&format!(
            "wrong data: message {message} of {} bytes has {byte} instead of {} at byte {place}",
            data.len(),
            pattern(message, place)
        ));
    }
}
