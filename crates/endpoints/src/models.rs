// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of a queue and a slot between a program and a proxy, in the orders of their steps with two preemptions, or all: two
//! commands through a queue of one, with a consumer that sleeps when it finds nothing.

use std::time::Duration;

use loom::sync::Arc;

use crate::command::Command;
use crate::completion::{Completion, Slot};
use crate::queue::Queue;

fn command(count: u64) -> Command {
    Command {
        count,
        offset: count * 3,
        ..Command::default()
    }
}

#[test]
fn model_commands_arrive_in_order_and_wake_the_proxy() {
    let mut bounded = loom::model::Builder::new();
    bounded.preemption_bound = Some(2);
    bounded.check(|| {
        let queue = Arc::new(Queue::new());
        let consumer = queue.clone();
        let proxy = loom::thread::spawn(move || {
            let mut taken = 0;
            while taken < 2 {
                match consumer.pop() {
                    Some(found) => {
                        assert_eq!(found, command(taken));
                        taken += 1;
                    }
                    None => consumer.sleep(Duration::MAX, || false),
                }
            }
        });
        for count in 0..2 {
            while !queue.push(&command(count)) {
                loom::thread::yield_now();
            }
        }
        proxy.join().unwrap();
    });
}

#[test]
fn model_the_end_of_an_operation_wakes_who_waits_for_it() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let end = Completion {
            code: 0,
            value: 5,
            second: 6,
            status: [1, 2, 3, 4],
        };
        let proxy = slot.clone();
        let proxy = loom::thread::spawn(move || proxy.finish(&end));
        let found = loop {
            match slot.poll() {
                Some(found) => break found,
                None => slot.sleep(Duration::MAX),
            }
        };
        assert_eq!(found, end);
        proxy.join().unwrap();
    });
}
