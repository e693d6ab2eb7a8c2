// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which host each rank runs on.

use super::hosts::Host;

/// In which order ranks take the slots of hosts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Order {
    /// All slots of a host, then those of the next one.
    #[default]
    Filled,
    /// One slot of each host after the other.
    Cyclic,
}

/// Hands out the slots of hosts. When all are taken, it begins anew: more ranks than slots need no permission.
#[derive(Debug)]
pub(crate) struct Slots {
    /// The index of each host in the job, its slots, and how many of these are taken.
    hosts: Vec<(u32, u32, u32)>,
    order: Order,
    next: usize,
}

impl Slots {
    /// For hosts with their indices in the job; `per_host` overrides their slots.
    pub(crate) fn new(hosts: &[(u32, &Host)], per_host: Option<u32>, order: Order) -> Self {
        let slots = |host: &Host| per_host.unwrap_or(host.slots).max(1);
        Self {
            hosts: hosts
                .iter()
                .map(|&(index, host)| (index, slots(host), 0))
                .collect(),
            order,
            next: 0,
        }
    }

    /// The host of the next rank.
    pub(crate) fn take(&mut self) -> u32 {
        if self.hosts.iter().all(|&(_, slots, taken)| taken >= slots) {
            self.hosts.iter_mut().for_each(|(_, _, taken)| *taken = 0);
            self.next = 0;
        }
        let count = self.hosts.len();
        while let Some((index, slots, taken)) = self.hosts.get_mut(self.next % count.max(1)) {
            if *taken >= *slots {
                self.next += 1;
                continue;
            }
            *taken += 1;
            self.next += usize::from(self.order == Order::Cyclic);
            return *index;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts_of(slots: &[u32], per_host: Option<u32>, order: Order, ranks: usize) -> Vec<u32> {
        let hosts: Vec<_> = slots
            .iter()
            .map(|&slots| Host {
                name: String::new(),
                slots,
            })
            .collect();
        let indexed: Vec<_> = (0..).zip(&hosts).collect();
        let mut slots = Slots::new(&indexed, per_host, order);
        (0..ranks).map(|_| slots.take()).collect()
    }

    #[test]
    fn ranks_fill_hosts_or_go_round_them() {
        let filled = |slots, ranks| hosts_of(slots, None, Order::Filled, ranks);
        assert_eq!(filled(&[2, 1], 3), [0, 0, 1]);
        assert_eq!(filled(&[2, 1], 7), [0, 0, 1, 0, 0, 1, 0]);
        assert_eq!(filled(&[1, 1, 1], 4), [0, 1, 2, 0]);
        let cyclic = |slots, ranks| hosts_of(slots, None, Order::Cyclic, ranks);
        assert_eq!(cyclic(&[3, 1, 2], 7), [0, 1, 2, 0, 2, 0, 0]);
        assert_eq!(hosts_of(&[9, 9], Some(2), Order::Filled, 4), [0, 0, 1, 1]);
        assert_eq!(hosts_of(&[9, 9], Some(1), Order::Cyclic, 3), [0, 1, 0]);
    }
}
