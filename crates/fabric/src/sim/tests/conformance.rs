// SPDX-License-Identifier: MIT OR Apache-2.0
//! The properties of every channel between two ranks, written once and run on shared memory (with and
//! without blocks) and on simulated networks.

use std::collections::VecDeque;
use std::ptr::NonNull;

use super::messages::{INJECT, PAYLOAD_RULES, poll, send_chunk, settings, take};
use crate::identity::LinkIndex;
use crate::ring::{RingReceiver, RingSender, RingView, private_ring};
use crate::sim::{Port, SimNet};

/// A channel from a rank to another one, in one thread.
struct Channel {
    name: String,
    sender: RingSender,
    receiver: RingReceiver,
    /// The ring for the other direction.
    reverse: RingSender,
    port: Option<Port>,
    _memory: Vec<u128>,
}

impl Channel {
    /// Rings as they lie in the node segment.
    fn shared_memory(cells: u32, payload_bytes: u32) -> Self {
        let bytes = RingView::bytes(cells, payload_bytes) as usize;
        let mut memory = vec![0u128; 2 * (bytes / 16 + 4)];
        let base = memory.as_mut_ptr().cast::<u8>();
        let base = NonNull::new(base.wrapping_add(base.align_offset(64))).unwrap();
        // SAFETY: both rings lie in the zeroed memory, one after the other, aligned because a
        // ring's length is a multiple of 64; nothing else uses them.
        let [there, back] =
            unsafe { [base, base.add(bytes)].map(|base| RingView::at(base, cells, payload_bytes)) };
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
        let net = SimNet::new(1, settings(text), PAYLOAD_RULES).unwrap();
        let port = net.port(0).unwrap();
        let sender = port.connect(LinkIndex::new(0)).unwrap();
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

    /// Gives the channel an opportunity to move what is under way.
    fn pump(&self) {
        if let Some(port) = &self.port {
            poll(port);
        }
    }

    fn take(&mut self) -> Option<u64> {
        take(&mut self.receiver, &mut self.reverse)
    }
}

fn for_each_channel(body: impl Fn(&mut Channel)) {
    let mut channels = Vec::new();
    for cells in [1, 2, 8, 64] {
        for payload_bytes in [8 << 10, 16 << 10, 64 << 10] {
            channels.push(Channel::shared_memory(cells, payload_bytes));
            channels.push(Channel::private(cells, payload_bytes));
            for rest in [
                "latency=0,gap=0,bandwidth=0",
                "early=40,reorder=1,seed=5",
                "choices=",
            ] {
                let text = format!("cells={cells},payload={payload_bytes},{rest}");
                channels.push(Channel::simulated(&text));
            }
        }
    }
    for channel in &mut channels {
        body(channel);
    }
}

/// Sends and takes messages in bursts until all have arrived in order.
fn exchange(channel: &mut Channel, messages: u64, send: impl Fn(&mut RingSender, u64) -> bool) {
    let (mut sent, mut taken, mut fruitless) = (0, 0, 0);
    while taken < messages {
        let before = sent + taken;
        while sent < messages && send(&mut channel.sender, sent) {
            sent += 1;
        }
        channel.pump();
        // Rings of one cell return their credit at once, others late: take all or a few.
        for _ in 0..1 + (taken * 7) % 23 {
            match channel.take() {
                Some(number) => assert_eq!(number, taken, "{}", channel.name),
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
            channel.name
        );
    }
    assert!(channel.receiver.peek().is_none());
    assert_eq!(
        channel.sender.published(),
        channel.receiver.consumed(),
        "{}",
        channel.name
    );
}

#[test]
fn injected_messages_arrive_whole_and_in_order() {
    for_each_channel(|channel| {
        exchange(channel, 300, |sender, number| {
            sender.put_words(INJECT, 0, !number, &[number, 1, 2, 3, 4, 5])
        });
    });
}

#[test]
fn payload_of_all_lengths_arrives_whole_and_in_order() {
    for_each_channel(|channel| {
        let longest = channel.sender.largest_payload() as usize;
        let lengths: Vec<_> = (0..=longest.min(200))
            .chain((0..40).map(|step| longest * step / 40))
            .chain([longest, longest, longest])
            .collect();
        exchange(channel, lengths.len() as u64, |sender, number| {
            send_chunk(sender, number, lengths[number as usize])
        });
    });
}

#[test]
fn what_exceeds_a_ring_is_refused() {
    for_each_channel(|channel| {
        let longest = channel.sender.largest_payload();
        assert!(
            channel
                .sender
                .reserve(longest + 1, std::ptr::null())
                .is_none()
        );
    });
}

#[test]
fn a_sender_without_credit_is_told_so() {
    for_each_channel(|channel| {
        let (mut sent, mut refused) = (VecDeque::new(), 0);
        for number in 0..500 {
            if channel.sender.put_words(INJECT, 0, !number, &[number]) {
                sent.push_back(number);
            } else {
                refused += 1;
            }
            channel.pump();
        }
        assert_ne!(refused, 0, "{}", channel.name);
        while let Some(expected) = sent.pop_front() {
            let mut number = channel.take();
            for _ in 0..10 {
                if number.is_none() {
                    channel.pump();
                    number = channel.take();
                }
            }
            assert_eq!(number, Some(expected), "{}", channel.name);
        }
    });
}

#[test]
fn the_receivers_word_comes_back() {
    for_each_channel(|channel| {
        assert!(!channel.sender.is_throttled() && channel.sender.preferences() == 0);
        channel.receiver.set_throttle(true);
        channel.receiver.set_preferences(77);
        for _ in 0..5 {
            channel.pump();
        }
        assert!(
            channel.sender.is_throttled() && channel.sender.preferences() == 77,
            "{}",
            channel.name
        );
    });
}
