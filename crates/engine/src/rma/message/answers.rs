// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers of a service that are under way.
//!
//! A queue for each receiver keeps them in the order in which they were sent. Only the first answer of a queue is polled: the service
//! asks whether anything is under way to a receiver, for which the first one that is not sent is enough. So a pass costs one poll for
//! each receiver and one for each answer that is sent, however many wait.

use std::collections::VecDeque;

/// Room that an empty queue keeps.
const KEPT_ROOM: usize = 16;

/// Answers under way, by receiver.
pub(super) struct Answers<T> {
    to: Box<[VecDeque<T>]>,
    /// Receivers whose queues are not empty.
    receivers: Vec<u32>,
}

impl<T> Answers<T> {
    /// None, of a window with so many members.
    pub(super) fn new(members: usize) -> Self {
        Self {
            to: (0..members).map(|_| VecDeque::new()).collect(),
            receivers: Vec::new(),
        }
    }

    /// Keeps an answer to a member until it is sent.
    pub(super) fn push(&mut self, receiver: u32, answer: T) {
        let queue = &mut self.to[receiver as usize];
        if queue.is_empty() {
            self.receivers.push(receiver);
        }
        queue.push_back(answer);
    }

    /// Drops answers that are sent, of each receiver up to the first one that is not.
    pub(super) fn drop_sent(&mut self, mut is_sent: impl FnMut(&T) -> bool) {
        let to = &mut self.to;
        self.receivers.retain(|&receiver| {
            let queue = &mut to[receiver as usize];
            while queue.front().is_some_and(&mut is_sent) {
                queue.pop_front();
            }
            if queue.is_empty() {
                queue.shrink_to(KEPT_ROOM);
            }
            !queue.is_empty()
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.receivers.is_empty()
    }

    /// Whether an answer to a member is under way.
    pub(super) fn has_any_for(&self, receiver: u32) -> bool {
        !self.to[receiver as usize].is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Answers;

    #[test]
    fn a_pass_polls_one_answer_for_each_receiver_and_those_that_are_sent() {
        const EACH: u32 = 100_000;
        let mut answers = Answers::new(4);
        for number in 0..EACH {
            for receiver in [3, 0, 2] {
                answers.push(receiver, (receiver, number));
            }
        }
        let mut polls = 0u32;
        // The first `sent` answers of each receiver are sent.
        let mut pass = |answers: &mut Answers<_>, sent| {
            answers.drop_sent(|&(_, number)| {
                polls += 1;
                number < sent
            });
            std::mem::take(&mut polls)
        };
        assert_eq!(pass(&mut answers, 0), 3);
        assert_eq!(pass(&mut answers, 10), 3 * 11);
        assert_eq!(pass(&mut answers, 10), 3);
        // One pass for each answer: as many polls as for all in one pass, and one more for each pass and receiver.
        let total: u32 = (11..EACH).map(|sent| pass(&mut answers, sent)).sum();
        assert_eq!(total, 3 * 2 * (EACH - 11));
        assert!(answers.has_any_for(2) && !answers.is_empty());
        assert!(!answers.has_any_for(1));
        assert_eq!(pass(&mut answers, EACH), 3);
        assert!(answers.is_empty() && !answers.has_any_for(2));
        assert_eq!(pass(&mut answers, EACH), 0);
    }

    #[test]
    fn an_answer_that_is_not_sent_keeps_its_receiver_busy() {
        let mut answers = Answers::new(2);
        answers.push(1, 'a');
        answers.push(1, 'b');
        answers.push(0, 'c');
        answers.drop_sent(|&answer| answer != 'a');
        assert!(answers.has_any_for(1) && !answers.has_any_for(0));
        answers.drop_sent(|_| true);
        assert!(answers.is_empty());
        answers.push(0, 'd');
        assert!(answers.has_any_for(0));
    }
}
