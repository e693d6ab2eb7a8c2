// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of many requests a poll tests, so that its cost is bounded: the last ones, and some of the others in turn.

use std::ops::Range;

/// Requests of each of the two parts.
const WIDTH: usize = 64;

/// Goes around requests that are numbered from 0.
#[derive(Default)]
pub struct Window {
    /// Where the next poll goes on.
    at: usize,
    is_round_over: bool,
}

impl Window {
    /// The requests that a poll tests, of so many: the last ones, then others before them.
    pub fn next(&mut self, number: usize) -> [Range<usize>; 2] {
        let last = number.saturating_sub(WIDTH);
        let from = if self.at < last { self.at } else { 0 };
        self.at = last.min(from + WIDTH);
        self.is_round_over = self.at == last;
        [last..number, from..self.at]
    }

    /// Whether the last poll was the end of a round: all have been tested.
    pub fn is_round_over(&self) -> bool {
        self.is_round_over
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_round_tests_all_requests_in_polls_of_bounded_cost() {
        for number in [0, 1, WIDTH, WIDTH + 1, 2 * WIDTH, 8000] {
            let mut window = Window::default();
            for _ in 0..3 {
                let mut tested = vec![false; number];
                let mut polls = 0;
                while polls == 0 || !window.is_round_over() {
                    let parts = window.next(number);
                    assert!(parts.iter().map(Range::len).sum::<usize>() <= 2 * WIDTH);
                    assert_eq!(parts[0].end, number);
                    parts.into_iter().flatten().for_each(|at| tested[at] = true);
                    polls += 1;
                }
                assert!(tested.into_iter().all(|it| it), "{number}");
                assert_eq!(polls, number.saturating_sub(WIDTH).div_ceil(WIDTH).max(1));
            }
        }
    }

    #[test]
    fn rounds_go_on_while_requests_end() {
        let mut window = Window::default();
        for number in (0..1000).rev() {
            let [last, others] = window.next(number);
            assert!(others.end <= last.start && last.end == number);
        }
        assert!(window.is_round_over());
    }
}
