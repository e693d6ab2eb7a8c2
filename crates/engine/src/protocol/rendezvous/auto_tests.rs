// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which receives `auto` offers: each message is counted. The receiver is away longer than any transfer takes, and the order of posts is
//! forced, so no clock decides.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::sync::Barrier;
use std::time::Duration;

use super::offers_tests::{
    Buffer, LONG, TAG, counts, end, pattern, post, progress, send, settings,
};
use super::policy::note_copied;
use crate::comm::Process;
use crate::completion::{free, wait};
use crate::identity::LinkIndex;
use crate::p2p::Mode;
use crate::p2p::persistent::{recv_init, start};
use crate::request::RequestId;
use crate::settings::{Rendezvous, Settings};
use crate::testing::{on_ranks_with, shares_memory};

/// Longer than a transfer takes.
const AWAY: Duration = Duration::from_micros(300);
/// Announced messages of which the prices of both copy modes are known for certain.
const MOST_ANNOUNCED: usize = 40;
/// Announced messages after which the mean gain of a receiver that is always away is large enough: `1 - (7/8)^3 > 1/4 > 1 - (7/8)^2`.
const UNTIL_OFFERS: usize = 3;

fn auto(cma: u64) -> Settings {
    Settings {
        cma,
        ..settings(Rendezvous::Auto)
    }
}

/// How the receives of a test are started.
#[derive(Clone, Copy)]
enum Form {
    Once,
    Persistent,
    /// As `Once`, and the receiver has just copied something when it makes progress.
    Copying,
}

/// One rank of a test, whose receives have a buffer.
struct Away<'a> {
    process: &'static Process,
    meet: &'a Barrier,
    data: &'a [u8],
    buffer: Buffer,
    persistent: Option<RequestId>,
    /// Whether rank 1 was copying while it did not handle its messages.
    copies: bool,
}

impl<'a> Away<'a> {
    fn new(process: &'static Process, meet: &'a Barrier, data: &'a [u8], form: Form) -> Self {
        let mut buffer = Buffer::new(data.len());
        let memory = buffer.memory();
        // SAFETY: the request is freed before the buffer is dropped.
        let init = || unsafe { recv_init(process.world(), memory, 0, TAG) }.unwrap();
        let is_persistent = matches!(form, Form::Persistent) && process.rank() == 1;
        Self {
            process,
            meet,
            data,
            buffer,
            persistent: is_persistent.then(init),
            copies: matches!(form, Form::Copying),
        }
    }

    /// Sends so many messages from rank 0, each of which is complete, or announced, before rank 1 makes progress; whether rank 1 has offered
    /// the receive of each.
    fn messages(&mut self, count: usize) -> Vec<u64> {
        (0..count).filter_map(|_| self.message()).collect()
    }

    fn message(&mut self) -> Option<u64> {
        let process = self.process;
        self.meet.wait();
        if process.rank() == 0 {
            self.meet.wait();
            progress(process);
            let request = send(process, self.data, TAG, Mode::Standard);
            self.meet.wait();
            end(process, request).unwrap();
            return None;
        }
        let before = counts(process)[3];
        let mut request = match self.persistent {
            Some(request) => {
                start(process.vci(), request).unwrap();
                request
            }
            None => post(process, &mut self.buffer, TAG),
        };
        let offers = counts(process)[3] - before;
        self.meet.wait();
        self.meet.wait();
        std::thread::sleep(AWAY);
        if self.copies {
            note_copied(&mut process.vci().enter());
        }
        let status = wait(process.vci(), &mut request, "test").unwrap();
        assert_eq!(status.bytes, self.data.len() as u64);
        assert!(self.buffer.data() == self.data);
        Some(offers)
    }

    fn end(mut self) {
        if let Some(mut request) = self.persistent.take() {
            free(self.process.vci(), &mut request).unwrap();
        }
    }
}

/// Sends messages in one form; of each whether its receive was offered, and what both ranks counted.
fn play(settings: &Settings, form: Form, messages: usize) -> (Vec<u64>, [[u64; 8]; 2]) {
    let (meet, data) = (Barrier::new(2), pattern(LONG, 9));
    let mut both = on_ranks_with(settings, 2, |process| {
        let mut away = Away::new(process, &meet, &data, form);
        let offers = away.messages(messages);
        away.end();
        (offers, counts(process))
    });
    let counted = [both[0].1, both[1].1];
    (std::mem::take(&mut both[1].0), counted)
}

/// Messages without offers, if all that come later have one.
fn announced(offers: &[u64]) -> usize {
    let first = offers.iter().position(|&one| one == 1);
    let first = first.expect("no receive was offered");
    assert!(offers[first..].iter().all(|&one| one == 1), "{offers:?}");
    first
}

#[test]
fn auto_offers_the_receives_of_a_program_that_computes_and_goes_on_to_do_so() {
    if !shares_memory() {
        return;
    }
    for form in [Form::Once, Form::Persistent] {
        let (offers, counted) = play(&auto(1), form, 200);
        let first = announced(&offers);
        assert!((UNTIL_OFFERS..MOST_ANNOUNCED).contains(&first), "{first}");
        let written = (200 - first) as u64;
        let [sender, receiver] = counted;
        // Requests and offers used of the sender; offers made and landed messages of the receiver.
        assert_eq!([sender[0], sender[4]], [first as u64, written]);
        assert_eq!([receiver[3], receiver[7]], [written, written]);
    }
}

#[test]
fn auto_offers_nothing_where_copy_modes_are_not_measured() {
    if !shares_memory() {
        return;
    }
    for cma in [0, 2] {
        assert_eq!(play(&auto(cma), Form::Once, 60).0, [0; 60]);
    }
}

#[test]
fn auto_offers_nothing_to_a_rank_that_was_busy_with_other_messages() {
    if !shares_memory() {
        return;
    }
    let (offers, _) = play(&auto(1), Form::Copying, 100);
    // A rank that is kept from its core behind the copy looks as one that computes.
    assert!(offers.iter().sum::<u64>() < 30, "{offers:?}");
}

/// Written messages take neither copy mode. If they counted as messages of one, its price would be given up during their 256, and a
/// receiver whose offers end would have to measure it again, after as many messages as have come before.
#[test]
fn offers_that_ended_after_many_begin_again_with_what_was_known() {
    if !shares_memory() {
        return;
    }
    let (meet, data) = (Barrier::new(2), pattern(LONG, 9));
    let both = on_ranks_with(&auto(1), 2, |process| {
        let mut away = Away::new(process, &meet, &data, Form::Once);
        let first = away.messages(450);
        let known = process.vci().enter().copy_modes.prices(LONG as u64);
        let sender = LinkIndex::new(0);
        if process.rank() == 1 {
            // The receiver waits for messages for a while.
            let mut guard = process.vci().enter();
            while guard.offer_gains.pays(sender, LONG as u64) {
                let gain = guard.offer_gains.of(sender, LONG as u64);
                gain.unwrap().note_landed(0);
            }
        }
        let again = away.messages(20);
        away.end();
        (first, known.is_some(), again)
    });
    let (first, is_known, again) = &both[1];
    assert!(announced(first) < MOST_ANNOUNCED && *is_known);
    assert_eq!(announced(again), UNTIL_OFFERS);
}
