// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages by two copies: into a ring of pieces and out of it, both at once where there are several pieces.

use machine_profile::Axis;
use measure::threads::{duo, sample_here};

use super::transfer::{QUICK_SIZES, SIZES};
use crate::entry::Entry;
use crate::kernels::keep;
use crate::memory::{Mapping, PAGE, memory_file};
use crate::session::{Outcome, Session, curve, time};

const PIECES: [usize; 5] = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];
/// Pieces that a ring has.
const SLOTS: usize = 4;

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    let entry = |piece: usize| {
        let kib = piece >> 10;
        let entry = Entry::new(
            format!("double/{kib}K"),
            format!("in and out of a ring of {SLOTS} pieces of {kib} KiB, over bytes"),
            move |session, name| measure(session, name, piece),
        );
        entry.quick_if(kib == 32 || kib == 128).two_ends()
    };
    PIECES.into_iter().map(entry).collect()
}

/// A message's buffers, and the ring as both threads map it.
struct Message {
    buffers: [Mapping; 2],
    rings: [Mapping; 2],
    bytes: usize,
    piece: usize,
}

impl Message {
    fn new(bytes: usize, piece: usize) -> Result<Self, String> {
        let file = memory_file(SLOTS * piece)?;
        let ring = || Mapping::shared(&file, SLOTS * piece);
        let rings = [ring()?, ring()?];
        rings.iter().for_each(|ring| ring.touch(PAGE));
        Ok(Self {
            buffers: [Mapping::touched(bytes)?, Mapping::touched(bytes)?],
            rings,
            bytes,
            piece,
        })
    }

    fn pieces(&self) -> u64 {
        self.bytes.div_ceil(self.piece) as u64
    }

    /// Copies piece `index` into slot `slot` of the ring, or out of it.
    fn copy(&self, is_in: bool, index: u64, slot: u64) {
        let place = index as usize * self.piece;
        let length = self.piece.min(self.bytes - place);
        let slot = slot as usize % SLOTS * self.piece;
        let end = usize::from(!is_in);
        // SAFETY: inside both; a slot is written only after it was read, and read only after it was written (the flags).
        unsafe {
            let buffer = self.buffers[end].start().add(place);
            let ring = self.rings[end].start().add(slot);
            let (from, to) = if is_in {
                (buffer, ring)
            } else {
                (ring, buffer)
            };
            std::ptr::copy_nonoverlapping(from, to, length);
        }
        keep(index);
    }
}

fn measure(session: &Session, name: &str, piece: usize) -> Outcome {
    let (places, spots) = session.two()?;
    let mut points = Vec::new();
    for bytes in session.sizes(&SIZES, &QUICK_SIZES) {
        let message = Message::new(bytes as usize, piece)?;
        let message = &message;
        let plan = session.plan();
        let found = duo(
            spots,
            |[to, from]| {
                // Pieces in and out since the begin. The follower's first word is 1, so all counts begin there.
                let mut sent = 1;
                sample_here(&plan, |repetitions| {
                    time(repetitions, || {
                        for index in 0..message.pieces() {
                            while from.number() + SLOTS as u64 <= sent {
                                std::hint::spin_loop();
                            }
                            message.copy(true, index, sent);
                            sent += 1;
                            to.publish(sent);
                        }
                        while from.number() < sent {
                            std::hint::spin_loop();
                        }
                    })
                })
            },
            |[from, to]| {
                let mut taken = 1;
                loop {
                    for index in 0..message.pieces() {
                        while from.number() <= taken {
                            std::hint::spin_loop();
                        }
                        if from.has_ended() {
                            return;
                        }
                        message.copy(false, index, taken);
                        taken += 1;
                        to.publish(taken);
                    }
                }
            },
        )?;
        points.push((bytes, session.count(found)));
    }
    curve(name, Axis::Bytes, Some(places), points)
}
