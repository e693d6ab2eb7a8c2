// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every way between two ranks promises, written once and run on shared memory (with and
//! without blocks) and on simulated networks.

use std::collections::VecDeque;
use std::ptr::NonNull;

use super::{PLACES, SHORT, poll, send_chunk, settings, take};
use crate::ring::{RingPlace, RingReceiver, RingSender, private_ring};
use crate::sim::{Port, SimNet};

/// A way from a rank to another one, in one thread.
struct Way {
    name: String,
    sender: RingSender,
    receiver: RingReceiver,
    /// The ring for the other direction.
    reverse: RingSender,
    port: Option<Port>,
    _memory: Vec<u128>,
}

impl Way {
    /// Rings as they lie in the node segment.
    fn shared_memory(cells: u32, payload_bytes: u32) -> Self {
        let bytes = RingPlace::bytes(cells, payload_bytes) as usize;
        let mut memory = vec![0u128; 2 * (bytes / 16 + 4)];
        let base = memory.as_mut_ptr().cast::<u8>();
        let base = NonNull::new(base.wrapping_add(base.align_offset(64))).unwrap();
        // SAFETY: both rings lie in the zeroed memory, one after the other, aligned because a
        // ring's length is a multiple of 64; nothing else uses them.
        let [there, back] = unsafe {
            [base, base.add(bytes)].map(|base| RingPlace::at(base, cells, payload_bytes))
        };
        Self {
            name: format!("shared memory, {cells} cells, {payload_bytes} bytes"),
            sender: RingSender::new(there),
            receiver: RingReceiver::new(there),
            reverse: RingSender::new(back),
            port: None,
            _memory: memory,
        }
    }

    /// Rings of one process, without blocks.
    fn private(cells: u32, payload_bytes: u32) -> Self {
        let (sender, receiver) = private_ring(cells, payload_bytes).unwrap();
        let (reverse, _) = private_ring(cells, payload_bytes).unwrap();
        Self {
            name: format!("private rings, {cells} cells, {payload_bytes} bytes"),
            sender,
            receiver,
            reverse,
            port: None,
            _memory: Vec::new(),
        }
    }

    /// A wire from a rank to itself.
    fn simulated(text: &str) -> Self {
        let net = SimNet::new(1, settings(text), PLACES).unwrap();
        let port = net.port(0).unwrap();
        let sender = port.connect(0).unwrap();
        let (_, receiver) = port.accept().unwrap();
        Self {
            name: format!("simulated network, {text}"),
            sender,
            receiver,
            reverse: RingSender::unconnected(),
            port: Some(port),
            _memory: Vec::new(),
        }
    }

    /// Gives the way an opportunity to move what is under way.
    fn pump(&self) {
        if let Some(port) = &self.port {
            poll(port);
        }
    }

    fn take(&mut self) -> Option<u64> {
        take(&mut self.receiver, &mut self.reverse)
    }
}

fn for_each_way(body: impl Fn(&mut Way)) {
    let mut ways = Vec::new();
    for cells in [1, 2, 8, 64] {
        for payload_bytes in [8 << 10, 16 << 10, 64 << 10] {
            ways.push(Way::shared_memory(cells, payload_bytes));
            ways.push(Way::private(cells, payload_bytes));
            for rest in [
                "latency=0,gap=0,bandwidth=0",
                "early=40,reorder=1,seed=5",
                "choices=",
            ] {
                let text = format!("cells={cells},payload={payload_bytes},{rest}");
                ways.push(Way::simulated(&text));
            }
        }
    }
    for way in &mut ways {
        body(way);
    }
}

/// Sends and takes messages in bursts until all have arrived in order.
fn exchange(way: &mut Way, messages: u64, send: impl Fn(&mut RingSender, u64) -> bool) {
    let (mut sent, mut taken, mut fruitless) = (0, 0, 0);
    while taken < messages {
        let before = sent + taken;
        while sent < messages && send(&mut way.sender, sent) {
            sent += 1;
        }
        way.pump();
        // Rings of one cell return their credit at once, others late: take all or a few.
        for _ in 0..1 + (taken * 7) % 23 {
            match way.take() {
                Some(number) => assert_eq!(number, taken, "{}", way.name),
                None => break,
            }
            taken += 1;
        }
        fruitless = if sent + taken == before {
            fruitless + 1
        } else {
            0
        };
        assert!(
            fruitless < 100,
            "{}: stuck at {sent} sent, {taken} taken",
            way.name
        );
    }
    assert!(way.receiver.peek().is_none());
    assert_eq!(
        way.sender.published(),
        way.receiver.consumed(),
        "{}",
        way.name
    );
}

#[test]
fn short_messages_arrive_whole_and_in_order() {
    for_each_way(|way| {
        exchange(way, 300, |sender, number| {
            sender.put_words(SHORT, 0, !number, &[number, 1, 2, 3, 4, 5])
        });
    });
}

#[test]
fn payload_of_all_lengths_arrives_whole_and_in_order() {
    for_each_way(|way| {
        let longest = way.sender.largest_payload() as usize;
        let lengths: Vec<_> = (0..=longest.min(200))
            .chain((0..40).map(|step| longest * step / 40))
            .chain([longest, longest, longest])
            .collect();
        exchange(way, lengths.len() as u64, |sender, number| {
            send_chunk(sender, number, lengths[number as usize])
        });
    });
}

#[test]
fn what_exceeds_a_ring_is_refused() {
    for_each_way(|way| {
        let longest = way.sender.largest_payload();
        assert!(way.sender.reserve(longest + 1, std::ptr::null()).is_none());
    });
}

#[test]
fn a_sender_without_credit_is_told_so() {
    for_each_way(|way| {
        let (mut sent, mut refused) = (VecDeque::new(), 0);
        for number in 0..500 {
            if way.sender.put_words(SHORT, 0, !number, &[number]) {
                sent.push_back(number);
            } else {
                refused += 1;
            }
            way.pump();
        }
        assert_ne!(refused, 0, "{}", way.name);
        while let Some(expected) = sent.pop_front() {
            let mut number = way.take();
            for _ in 0..10 {
                if number.is_none() {
                    way.pump();
                    number = way.take();
                }
            }
            assert_eq!(number, Some(expected), "{}", way.name);
        }
    });
}

#[test]
fn the_receivers_word_comes_back() {
    for_each_way(|way| {
        assert!(!way.sender.is_throttled() && way.sender.preferences() == 0);
        way.receiver.set_throttle(true);
        way.receiver.set_preferences(77);
        for _ in 0..5 {
            way.pump();
        }
        assert!(
            way.sender.is_throttled() && way.sender.preferences() == 77,
            "{}",
            way.name
        );
    });
}
