// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that the launcher adds to a running job, as far as it has room for them ([`capacity`](crate::capacity)).
//!
//! Writers: the launcher alone writes `added`, and the location of a process before it counts the process.

use std::io;
use std::mem::offset_of;

use sys::sync::Ordering;

use crate::board::{JobHeader, RankLocation};
use crate::observe::NodeFile;
use crate::segment::Segment;

impl Segment {
    /// Processes of the job so far: those that it started with, and those that the launcher has added since.
    pub fn processes(&self) -> u32 {
        let job = self.job();
        // Relaxed: the launcher writes by system calls, and a process is heard of after it was counted, from a rank or from its ring.
        let added = self.header().added.load(Ordering::Relaxed);
        // Any rank may have written anything there.
        job.job_ranks + added.min(job.capacity - job.job_ranks)
    }
}

impl NodeFile {
    /// Adds processes to the running job: each element is the node of one. Returns the number of the first; the others follow. A process
    /// can attach, and be sent to from this node, when this returns. In a job of several nodes the launcher adds the same processes to
    /// the segment of each node, and carries their cards before anybody sends to them.
    ///
    /// The launcher alone adds processes, one call at a time.
    ///
    /// # Errors
    /// When the job has no room for them, a node has no ranks yet, or what the kernel says.
    pub fn add_processes(&self, node_of: &[u32]) -> io::Result<u32> {
        let offset = offset_of!(JobHeader, added) as u64;
        let mut word = [0; 4];
        self.read_at(offset, &mut word)?;
        let added = u32::from_ne_bytes(word).min(self.capacity().saturating_sub(self.job_ranks()));
        let first = self.job_ranks() + added;
        let room = self.capacity().saturating_sub(first);
        let wanted = u32::try_from(node_of.len()).unwrap_or(u32::MAX);
        if wanted > room {
            return Err(io::Error::other(format!(
                "{wanted} processes cannot be added to a job of {first}, which has room for {room} more"
            )));
        }
        let has_nodes = self.job_ranks() > self.local_ranks();
        let mut nodes = 1;
        if has_nodes {
            for rank in 0..self.job_ranks() {
                nodes = nodes.max(1 + self.node_of(rank)?);
            }
        }
        if let Some(node) = node_of.iter().find(|&&node| node >= nodes) {
            return Err(io::Error::other(format!(
                "a process cannot be added on node {node} of a job of {nodes} nodes"
            )));
        }
        for (process, node) in (first..).zip(node_of).filter(|_| has_nodes) {
            let field = self.checked_location(process, offset_of!(RankLocation, node))?;
            self.write_at(field, &node.to_ne_bytes())?;
        }
        // The locations are written before, by system calls of this thread.
        self.write_at(offset, &(added + wanted).to_ne_bytes())?;
        Ok(first)
    }

    fn node_of(&self, rank: u32) -> io::Result<u32> {
        let mut word = [0; 4];
        let field = self.checked_location(rank, offset_of!(RankLocation, node))?;
        self.read_at(field, &mut word)?;
        Ok(u32::from_ne_bytes(word))
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::board::PAGE_BYTES;
    use crate::capacity::MOST_RESERVE;
    use crate::directory::RingKey;
    use crate::identity::{PeerIndex, VciIndex};
    use crate::nodes::{NodePlan, create_on_node};
    use crate::segment::SegmentPlan;
    use crate::segment::create_with;

    const PLAN: SegmentPlan = SegmentPlan {
        local_ranks: 2,
        job_ranks: 2,
        reserve: 3,
        cores: 2,
        launcher_pid: 7,
    };

    fn attach(file: &File) -> Segment {
        Segment::attach(file.try_clone().unwrap().into()).unwrap()
    }

    /// A ring from one process to the first VCI of another.
    fn connect(segment: &Segment, source: u32, target: u32) {
        let key = RingKey {
            source: PeerIndex::new(source),
            source_vci: VciIndex::FIRST,
            target_vci: VciIndex::FIRST,
        };
        let (ring, _) = segment.make_ring().unwrap();
        segment.publish_ring(PeerIndex::new(target), ring, key);
    }

    #[test]
    fn processes_are_added_until_there_is_no_room() {
        let file = File::from(create_with(&PLAN, 64 << 20).unwrap());
        let launcher = NodeFile::new(file.try_clone().unwrap().into()).unwrap();
        let segment = attach(&file);
        assert_eq!((segment.processes(), segment.job().capacity), (2, 5));
        let rings = |target| segment.rings_since(PeerIndex::new(target), VciIndex::FIRST, 0);
        connect(&segment, 2, 0);
        assert!(rings(0).is_err(), "of a process that is not there");
        assert_eq!(launcher.add_processes(&[0]).unwrap(), 2);
        assert_eq!(rings(0).unwrap().1.len(), 1);
        assert_eq!(launcher.add_processes(&[0, 0]).unwrap(), 3);
        let full = launcher.add_processes(&[0]).unwrap_err().to_string();
        assert!(full.contains("has room for 0 more"), "{full}");
        assert_eq!(segment.processes(), 5);
        connect(&segment, 0, 4);
        assert_eq!(
            attach(&file)
                .board(PeerIndex::new(4))
                .pid
                .load(Ordering::Relaxed),
            0
        );
        assert_eq!(rings(4).unwrap().1.len(), 1);
        // Any rank may have written anything there.
        segment.header().added.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(segment.processes(), 5);
        assert!(launcher.add_processes(&[0]).is_err());
    }

    #[test]
    fn added_processes_have_the_nodes_that_the_launcher_says() {
        let plan = SegmentPlan {
            job_ranks: 4,
            ..PLAN
        };
        let hosts = ["first", "second"].map(str::to_owned);
        let nodes = NodePlan {
            node: 1,
            node_of: &[0, 0, 1, 1],
            hosts: &hosts,
            secret: [1, 2],
        };
        let launcher = NodeFile::new(create_on_node(&plan, &nodes).unwrap()).unwrap();
        assert!(
            launcher.add_processes(&[2]).is_err(),
            "on no node of the job"
        );
        assert_eq!(launcher.add_processes(&[1, 0]).unwrap(), 4);
        launcher.put_card(5, &[7]).unwrap();
        let segment = Segment::attach(launcher.into_file()).unwrap();
        let process = PeerIndex::new;
        assert!(segment.is_here(process(4)) && !segment.is_here(process(5)));
        assert_eq!(segment.card(process(5)), [7]);
    }

    #[test]
    fn memory_is_proportional_to_the_pairs_that_talk() {
        let plan = SegmentPlan {
            local_ranks: 512,
            job_ranks: 512,
            reserve: MOST_RESERVE,
            ..PLAN
        };
        let file = File::from(create_with(&plan, 1 << 30).unwrap());
        let segment = attach(&file);
        let bytes = || file.metadata().unwrap().blocks() * 512;
        let before = bytes();
        assert!(before <= 64 << 10, "{before}");
        let pairs = 100;
        for source in 0..pairs {
            connect(&segment, source, source + 1);
        }
        // A page each of the ring's entry and of the board.
        let taken = bytes() - before;
        assert!(
            taken <= u64::from(pairs) * 16 * PAGE_BYTES as u64,
            "{taken}"
        );
    }
}
