// SPDX-License-Identifier: MIT OR Apache-2.0
//! Offers where a protocol that writes into receives goes wrong: a context id that comes back, lengths of more than 32 bits, a receive that is
//! cancelled or freed when its sender writes, a send that is called back, and cells that no peer may send.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::ptr::NonNull;
use std::sync::{Arc, Barrier};

use fabric::claim::{ClaimTable, MOST_OFFERS};
use sys::memory::{map_private, unmap};

use super::offers_tests::{
    Buffer, LONG, TAG, counts, end, pattern, post, progress, send, settings,
};
use crate::ErrorClass;
use crate::comm::{Comm, Process};
use crate::completion::{cancel, free, wait};
use crate::create::dup;
use crate::identity::LinkIndex;
use crate::p2p::{Memory, Mode, irecv, isend};
use crate::request::RequestId;
use crate::settings::Rendezvous;
use crate::testing::{on_ranks_with, shares_memory};
use crate::vci::cell;

/// A receive of rank 1 on a communicator; callers keep the buffer until it is complete.
fn post_on(comm: &Comm, buffer: &mut Buffer) -> RequestId {
    // SAFETY: the caller's promise.
    unsafe { irecv(comm, buffer.memory(), 0, TAG) }.unwrap()
}

/// Cancels a receive that no message has met.
fn take_back(process: &'static Process, mut request: RequestId) {
    cancel(process.vci(), request).unwrap();
    let status = wait(process.vci(), &mut request, "test").unwrap();
    assert!(status.cancelled);
}

fn is_untouched(buffer: &Buffer) -> bool {
    buffer.data().iter().all(|&byte| byte == Buffer::CANARY)
}

/// Makes communicators, and frees them, until one has a context id again.
fn dup_with(process: &'static Process, context: u32) -> Arc<Comm> {
    loop {
        let comm = dup(process.world(), "test").unwrap();
        if comm.context() == context {
            return comm;
        }
        comm.free();
    }
}

#[test]
fn offers_of_a_freed_communicator_do_not_meet_messages_of_the_next_one_with_its_context() {
    if !shares_memory() {
        return;
    }
    let (meet, data) = (Barrier::new(2), pattern(LONG, 11));
    on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        let receives = process.rank() == 1;
        let (mut old, mut new) = (Buffer::new(LONG), Buffer::new(LONG));
        let first = dup(process.world(), "test").unwrap();
        if receives {
            take_back(process, post_on(&first, &mut old));
        }
        // The offer arrives while communicators are made.
        let context = first.context();
        first.free();
        let second = dup_with(process, context);
        meet.wait();
        let request = receives.then(|| post_on(&second, &mut new));
        meet.wait();
        if let Some(request) = request {
            assert_eq!(end(process, request), Ok(LONG as u64));
            assert!(new.data() == data && is_untouched(&old));
            assert_eq!((counts(process)[3], counts(process)[7]), (2, 1));
        } else {
            progress(process);
            let memory = Memory::contiguous(data.as_ptr().cast_mut(), LONG);
            // SAFETY: the data live until the request is complete.
            let request = unsafe { isend(&second, memory, 1, TAG, Mode::Standard) };
            end(process, request.unwrap()).unwrap();
            // No RTS: the offer of the second communicator was used.
            assert_eq!((counts(process)[0], counts(process)[4]), (0, 1));
        }
        meet.wait();
        second.free();
    });
}

/// Zeroed memory of which hardly any page exists.
struct Sparse(NonNull<u8>, usize);

impl Sparse {
    fn new(bytes: usize) -> Self {
        Self(map_private(bytes).unwrap(), bytes)
    }

    fn memory(&mut self) -> Memory<'static> {
        Memory::contiguous(self.0.as_ptr(), self.1)
    }

    fn first(&self, bytes: usize) -> &[u8] {
        assert!(bytes <= self.1);
        // SAFETY: inside the mapping (checked), which nothing writes while this test looks at it.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), bytes) }
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        // SAFETY: from `map_private`; requests on it are complete (tests).
        unsafe { unmap(self.0, self.1) };
    }
}

#[test]
fn lengths_of_more_than_32_bits_are_offered_and_landed_whole() {
    const HUGE: usize = (5 << 30) + 77;
    if !shares_memory() {
        return;
    }
    let (meet, data) = (Barrier::new(2), pattern(LONG, 12));
    on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        let mut huge = Sparse::new(HUGE);
        if process.rank() == 0 {
            for memory in [
                huge.memory(),
                Memory::contiguous(data.as_ptr().cast_mut(), LONG),
            ] {
                meet.wait();
                progress(process);
                // SAFETY: `huge` and `data` live until the request is complete.
                let request = unsafe { isend(process.world(), memory, 1, TAG, Mode::Standard) };
                end(process, request.unwrap()).unwrap();
                meet.wait();
            }
            assert_eq!((counts(process)[0], counts(process)[4]), (0, 2));
            return;
        }
        // A receive that is shorter than its message by several GiB.
        let mut buffer = Buffer::new(LONG);
        let request = post(process, &mut buffer, TAG);
        meet.wait();
        meet.wait();
        assert_eq!(end(process, request), Err(ErrorClass::ERR_TRUNCATE));
        assert!(buffer.data().iter().all(|&byte| byte == 0));
        // A message that is shorter than its receive by as much.
        // SAFETY: `huge` lives until the request is complete.
        let request = unsafe { irecv(process.world(), huge.memory(), 0, TAG) }.unwrap();
        meet.wait();
        meet.wait();
        assert_eq!(end(process, request), Ok(LONG as u64));
        let (start, rest) = huge.first(LONG + 4096).split_at(LONG);
        assert!(start == data && rest.iter().all(|&byte| byte == 0));
        assert_eq!(counts(process)[7], 2);
    });
}

/// Rank 0's part: sends when the receiver has offered its receive, and meets it when the data are there.
fn send_to_offer(process: &'static Process, meet: &Barrier, data: &[u8]) {
    meet.wait();
    progress(process);
    end(process, send(process, data, TAG, Mode::Standard)).unwrap();
    meet.wait();
}

#[test]
fn a_receive_that_its_sender_has_claimed_is_not_cancelled() {
    if !shares_memory() {
        return;
    }
    let (meet, data) = (Barrier::new(2), pattern(LONG, 13));
    on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        if process.rank() == 0 {
            send_to_offer(process, &meet, &data);
            return;
        }
        let mut buffer = Buffer::new(LONG);
        let mut request = post(process, &mut buffer, TAG);
        meet.wait();
        meet.wait();
        // LANDED lies in the ring.
        cancel(process.vci(), request).unwrap();
        let status = wait(process.vci(), &mut request, "test").unwrap();
        assert_eq!((status.cancelled, status.bytes), (false, LONG as u64));
        assert!(buffer.data() == data);
    });
}

#[test]
fn a_freed_receive_stays_offered_and_gets_its_message() {
    if !shares_memory() {
        return;
    }
    let (meet, data) = (Barrier::new(2), pattern(LONG, 14));
    on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        if process.rank() == 0 {
            send_to_offer(process, &meet, &data);
            return;
        }
        let mut buffer = Buffer::new(LONG);
        let mut request = post(process, &mut buffer, TAG);
        free(process.vci(), &mut request).unwrap();
        meet.wait();
        meet.wait();
        progress(process);
        assert!(buffer.data() == data);
        assert_eq!((counts(process)[3], counts(process)[7]), (1, 1));
    });
}

/// The receiver has not seen the RTS when it offers the receive. The offer would meet the send, but RECALL is on its way.
#[test]
fn an_offer_does_not_meet_a_send_that_is_called_back() {
    if !shares_memory() {
        return;
    }
    let (meet, data) = (Barrier::new(2), pattern(LONG, 15));
    on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        // Both rings exist.
        let mut word = Buffer::new(8);
        let other = post(process, &mut word, 1);
        end(process, send(process, &[0; 8], 1, Mode::Standard)).unwrap();
        end(process, other).unwrap();
        meet.wait();
        if process.rank() == 0 {
            let mut request = send(process, &data, TAG, Mode::Standard);
            cancel(process.vci(), request).unwrap();
            meet.wait();
            meet.wait();
            progress(process);
            meet.wait();
            let status = wait(process.vci(), &mut request, "test").unwrap();
            assert!(!status.cancelled);
            assert_eq!((counts(process)[0], counts(process)[4]), (1, 0));
            return;
        }
        let mut buffer = Buffer::new(LONG);
        meet.wait();
        let request = post(process, &mut buffer, TAG);
        meet.wait();
        meet.wait();
        assert_eq!(end(process, request), Ok(LONG as u64));
        assert!(buffer.data() == data);
        assert_eq!((counts(process)[2], counts(process)[3]), (1, 1));
    });
}

#[test]
fn offers_that_cannot_be_are_faults_of_their_sender() {
    if !shares_memory() {
        return;
    }
    const CAPACITY: usize = 1;
    const PLACE: usize = 2;
    const TABLE: usize = 4;
    const CONSUMED: usize = 5;
    let meet = Barrier::new(2);
    // A word of the cell, and what it is instead, or, of the last one, by how much it is too large.
    let wrong = [
        (CAPACITY, 0),
        // An offset of the node segment, far behind its end.
        (PLACE, 1 << 63 | 1 << 62),
        (TABLE, u64::MAX << 6),
        (CONSUMED, u64::MAX),
        (TABLE, MOST_OFFERS as u64),
    ];
    for (number, (word, value)) in wrong.into_iter().enumerate() {
        let texts = on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
            meet.wait();
            if process.rank() == 0 {
                let node = process.node();
                let claims = ClaimTable::at(node, node.allocate_spare(4096).unwrap()).unwrap();
                let offer = claims.word(0).offer();
                let mut target = Buffer::new(LONG);
                let address = target.memory().base as u64;
                let mut guard = process.vci().enter();
                let state = &mut *guard;
                let peer = LinkIndex::new(1);
                state.links.connect(&mut state.transport, peer).unwrap();
                let mut words = [7, LONG as u64, address, address, claims.offset(), 0];
                words[word] = match value == MOST_OFFERS as u64 {
                    true => words[word] + value,
                    false => value,
                };
                let sender = &mut state.links[peer].sender;
                assert!(sender.put_words(cell::Offer::KIND, offer.0, 5, &words));
                drop(guard);
                meet.wait();
                meet.wait();
                return None;
            }
            meet.wait();
            progress(process);
            let fault = process.vci().enter().fault.take();
            meet.wait();
            fault.map(|fault| fault.to_string())
        });
        let text = texts[1].as_deref().unwrap_or_default();
        let expected = "offered memory that it cannot have";
        assert!(
            text.starts_with("rank 0 ") && text.contains(expected),
            "{number}: {text}"
        );
    }
}
