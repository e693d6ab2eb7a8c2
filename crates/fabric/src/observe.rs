// SPDX-License-Identifier: MIT OR Apache-2.0
//! The node segment as the launcher sees it: typed snapshots, read with `pread`, without a mapping.
//!
//! An observer costs the ranks nothing, and ranks cannot harm it: it reads copies, which may be stale or torn,
//! and is checked before it is used as an offset or a length.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use sys::memory;

use crate::board::{
    BOARD_BYTES, BOARDS_OFFSET, CALL_NAME_BYTES, CONTEXT_NAMES, CONTEXT_TEXT_BYTES, ContextText,
    JobHeader, MAGIC, NAMED, PAGE_BYTES, RankBoard, RequestRecord, VciBoard, kind,
};
use crate::identity::{LinkIndex, MOST_VCIS};

/// Bytes of a board up to the end of the counters.
const COUNTED_BYTES: usize = offset_of!(RankBoard, counters) + 64 * 8;
/// Bytes of the board of a VCI.
const VCI_BYTES: usize = size_of::<VciBoard>();
/// Bytes of an request record that an observer reads.
const RECORD_BYTES: usize = size_of::<RequestRecord>();
/// Request records are read in chunks of about this many bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// More records than this are a damaged board.
const MAX_RECORDS: u32 = 1 << 26;

/// A copy of a rank's board.
#[derive(Clone, Debug)]
pub struct BoardSnapshot {
    /// Process id of the rank; 0 until it attached.
    pub pid: u32,
    /// One of [`crate::board::phase`].
    pub phase: u32,
    /// One of [`crate::board::activity`].
    pub activity: u32,
    /// Exit code that MPI_Abort was called with.
    pub abort_code: i32,
    /// Job time in milliseconds when the present wait began.
    pub wait_since_ms: u64,
    /// Name of the MPI call that waits; empty when there is none.
    pub call: String,
    /// The counters, in the order of [`crate::counters::COUNTERS`].
    pub counters: [u64; 64],
    slabs: Vec<SlabSnapshot>,
}

/// Where the request records of a VCI lie.
#[derive(Clone, Copy, Debug)]
struct SlabSnapshot {
    offset: u64,
    stride: u32,
    len: u32,
    file: u32,
}

impl SlabSnapshot {
    /// Of the bytes of a VCI's board.
    fn read(bytes: &[u8]) -> Self {
        Self {
            offset: word64(bytes, offset_of!(VciBoard, requests_offset)),
            stride: word32(bytes, offset_of!(VciBoard, request_stride)),
            len: word32(bytes, offset_of!(VciBoard, requests_len)),
            file: word32(bytes, offset_of!(VciBoard, requests_file)),
        }
    }

    /// The file of request records that process `owner` has, opened through the kernel's view of its descriptors; `None`
    /// when they lie in the node segment. `pid` is what the board says.
    fn open_records(self, owner: Option<u32>, pid: u32) -> io::Result<Option<File>> {
        let Some(fd) = self.file.checked_sub(1) else {
            return Ok(None);
        };
        let Some(owner) = owner else {
            return Err(io::Error::other(format!(
                "its board names process {pid}, which is not its own"
            )));
        };
        let path = format!("/proc/{owner}/fd/{fd}");
        // A board may name any descriptor; only memory files are opened, for that waits for nobody.
        if !std::fs::read_link(&path)?
            .as_os_str()
            .as_encoded_bytes()
            .starts_with(b"/memfd:")
        {
            return Err(io::Error::other(
                "its board names a descriptor that is no memory file",
            ));
        }
        File::open(path).map(Some)
    }
}

/// A node's memory file in the hands of the process that created it.
#[derive(Debug)]
pub struct NodeFile {
    file: File,
    local_ranks: u32,
    job_ranks: u32,
    capacity: u32,
    segment_bytes: u64,
}

impl NodeFile {
    /// Takes over the memory file that [`crate::segment::create`] made.
    ///
    /// # Errors
    /// When its header cannot be read, or it is another file.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        let file = File::from(fd);
        let mut header = [0u8; offset_of!(JobHeader, added)];
        let magic = match file.read_exact_at(&mut header, 0) {
            Ok(()) => word64(&header, offset_of!(JobHeader, magic)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            Err(error) => return Err(error),
        };
        if magic != MAGIC {
            return Err(io::Error::other(
                "it does not begin as a node segment of this version does",
            ));
        }
        Ok(Self {
            file,
            local_ranks: word32(&header, offset_of!(JobHeader, local_ranks)),
            job_ranks: word32(&header, offset_of!(JobHeader, job_ranks)),
            capacity: word32(&header, offset_of!(JobHeader, capacity)),
            segment_bytes: word64(&header, offset_of!(JobHeader, segment_bytes)),
        })
    }

    /// The node segment that this process inherited as descriptor `fd`. Programs that it starts do not inherit it.
    ///
    /// # Errors
    /// When the descriptor is not open, or is something else: then it stays as it is.
    pub fn inherited(fd: RawFd) -> io::Result<Self> {
        Self::new(memory::duplicate(fd)?)?;
        Self::new(memory::inherited_file(fd)?)
    }

    /// The memory file.
    pub fn into_file(self) -> OwnedFd {
        self.file.into()
    }

    /// Ranks of the job when it started.
    pub const fn job_ranks(&self) -> u32 {
        self.job_ranks
    }

    /// Processes that the job has room for.
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Sets the job's clock, in milliseconds since its start.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_clock_ms(&self, clock_ms: u64) -> io::Result<()> {
        let offset = offset_of!(JobHeader, clock_ms) as u64;
        self.file.write_all_at(&clock_ms.to_ne_bytes(), offset)
    }

    /// Tells all ranks that the end of `rank` ends the job.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_death(&self, rank: u32) -> io::Result<()> {
        let offset = offset_of!(JobHeader, death) as u64;
        self.file.write_all_at(&(rank + 1).to_ne_bytes(), offset)
    }

    /// Tells a rank whether other programs take much of the time of its core.
    ///
    /// # Errors
    /// When there is no such rank, or what the kernel says.
    pub fn set_external_load(&self, rank: u32, is_here: bool) -> io::Result<()> {
        let board = self.board_offset(rank)?;
        let offset = board + offset_of!(RankBoard, external_load) as u64;
        let word = u32::from(is_here);
        self.file.write_all_at(&word.to_ne_bytes(), offset)
    }

    pub(crate) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    pub(crate) fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn board_offset(&self, rank: u32) -> io::Result<u64> {
        if rank < self.capacity {
            return Ok(BOARDS_OFFSET + u64::from(rank) * BOARD_BYTES as u64);
        }
        let text = format!(
            "board {rank} of a job with room for {} ranks",
            self.capacity
        );
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }

    /// The descriptor's number, which the ranks inherit.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Ranks on this node.
    pub const fn local_ranks(&self) -> u32 {
        self.local_ranks
    }

    /// The board of `rank` as it is now.
    ///
    /// # Errors
    /// When there is no such rank or the file cannot be read.
    pub fn board(&self, rank: u32) -> io::Result<BoardSnapshot> {
        let offset = self.board_offset(rank)?;
        let mut bytes = [0u8; COUNTED_BYTES];
        self.file.read_exact_at(&mut bytes, offset)?;
        let mut counters = [0u64; 64];
        for (index, counter) in counters.iter_mut().enumerate() {
            *counter = word64(&bytes, offset_of!(RankBoard, counters) + 8 * index);
        }
        let call_length = word32(&bytes, offset_of!(RankBoard, call_len)) as usize;
        let call_start = offset_of!(RankBoard, call);
        let call = &bytes[call_start..call_start + call_length.min(CALL_NAME_BYTES)];
        Ok(BoardSnapshot {
            pid: word32(&bytes, offset_of!(RankBoard, pid)),
            phase: word32(&bytes, offset_of!(RankBoard, phase)),
            activity: word32(&bytes, offset_of!(RankBoard, activity)),
            abort_code: word32(&bytes, offset_of!(RankBoard, abort_code)).cast_signed(),
            wait_since_ms: word64(&bytes, offset_of!(RankBoard, wait_since_ms)),
            call: call
                .iter()
                .filter(|byte| byte.is_ascii_graphic())
                .map(|&byte| char::from(byte))
                .collect(),
            counters,
            slabs: self.slabs(offset, word32(&bytes, offset_of!(RankBoard, vci_rows)))?,
        })
    }

    /// The request records of the first VCIs of the board at an offset. A rank that has not told how many it has may have one.
    fn slabs(&self, board: u64, vcis: u32) -> io::Result<Vec<SlabSnapshot>> {
        let vcis = vcis.clamp(1, MOST_VCIS as u32) as usize;
        let mut bytes = vec![0u8; vcis * VCI_BYTES];
        let offset = board + offset_of!(RankBoard, vcis) as u64;
        self.file.read_exact_at(&mut bytes, offset)?;
        let slabs = bytes.chunks_exact(VCI_BYTES).map(SlabSnapshot::read);
        Ok(slabs
            .filter(|slab| slab.offset != 0 && slab.len != 0)
            .collect())
    }

    /// Context ids of communicators of a rank, and what reports call them.
    ///
    /// # Errors
    /// When there is no such rank or the file cannot be read.
    pub fn contexts(&self, rank: u32) -> io::Result<Vec<(u32, String)>> {
        let board = self.board_offset(rank)?;
        let mut bytes = [0u8; CONTEXT_NAMES * size_of::<ContextText>()];
        let offset = board + offset_of!(RankBoard, contexts) as u64;
        self.file.read_exact_at(&mut bytes, offset)?;
        let entries = bytes.chunks_exact(size_of::<ContextText>());
        Ok(entries
            .filter_map(|entry| {
                let held = word64(entry, offset_of!(ContextText, word)) & !NAMED;
                let context = u32::try_from(held.checked_sub(1)?).ok()?;
                let len = word64(entry, offset_of!(ContextText, len)) as usize;
                let text = &entry[offset_of!(ContextText, text)..];
                let text = String::from_utf8_lossy(&text[..len.min(CONTEXT_TEXT_BYTES)]);
                let printable = |letter: &char| !letter.is_control();
                Some((context, text.chars().filter(printable).collect()))
            })
            .collect())
    }

    /// Calls `visit` with each request record in use of the rank whose board was read. `owner` is the rank's process as the
    /// caller knows it: what the board says is the rank's to write.
    ///
    /// # Errors
    /// When the board describes records outside their file, or the file cannot be read: a rank that has ended takes its
    /// records along.
    pub fn for_each_operation(
        &self,
        board: &BoardSnapshot,
        owner: Option<u32>,
        mut visit: impl FnMut(RequestRecord),
    ) -> io::Result<()> {
        for slab in &board.slabs {
            let own = slab.open_records(owner, board.pid)?;
            self.for_each_of_slab(*slab, own.as_ref(), &mut visit)?;
        }
        Ok(())
    }

    /// The same of one VCI, whose records lie in a file of their own or in the node segment.
    fn for_each_of_slab(
        &self,
        slab: SlabSnapshot,
        own: Option<&File>,
        visit: &mut impl FnMut(RequestRecord),
    ) -> io::Result<()> {
        let stride = slab.stride as usize;
        let end = u64::from(slab.stride)
            .checked_mul(u64::from(slab.len))
            .and_then(|bytes| bytes.checked_add(slab.offset));
        let file_bytes = match own {
            Some(file) => file.metadata()?.len(),
            None => self.segment_bytes,
        };
        let fits = (RECORD_BYTES..=PAGE_BYTES).contains(&stride)
            && slab.len <= MAX_RECORDS
            && end.is_some_and(|end| end <= file_bytes);
        if !fits {
            return Err(io::Error::other(
                "a board describes operations outside their file",
            ));
        }
        let per_chunk = (CHUNK_BYTES / stride).max(1);
        let mut chunk = vec![0u8; per_chunk * stride];
        let mut done = 0;
        while done < slab.len as usize {
            let records = per_chunk.min(slab.len as usize - done);
            let bytes = &mut chunk[..records * stride];
            let offset = slab.offset + (done * stride) as u64;
            own.unwrap_or(&self.file).read_exact_at(bytes, offset)?;
            for record in bytes.chunks_exact(stride).map(record) {
                if record.kind != kind::FREE {
                    visit(record);
                }
            }
            done += records;
        }
        Ok(())
    }
}

fn record(bytes: &[u8]) -> RequestRecord {
    RequestRecord {
        match_word: word64(bytes, offset_of!(RequestRecord, match_word)),
        bytes: word64(bytes, offset_of!(RequestRecord, bytes)),
        peer: LinkIndex::new(word32(bytes, offset_of!(RequestRecord, peer))),
        kind: bytes[offset_of!(RequestRecord, kind)],
        role: bytes[offset_of!(RequestRecord, role)],
        stamp_ms: word32(bytes, offset_of!(RequestRecord, stamp_ms)),
        ..RequestRecord::default()
    }
}

fn word32(bytes: &[u8], offset: usize) -> u32 {
    let mut word = [0u8; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_ne_bytes(word)
}

fn word64(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0u8; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_ne_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{SegmentPlan, create};

    fn node() -> NodeFile {
        let plan = SegmentPlan {
            local_ranks: 3,
            job_ranks: 3,
            reserve: 0,
            cores: 2,
            launcher_pid: 1,
        };
        NodeFile::new(create(&plan).unwrap()).unwrap()
    }

    fn put(node: &NodeFile, rank: u64, offset: usize, bytes: &[u8]) {
        let at = BOARDS_OFFSET + rank * BOARD_BYTES as u64 + offset as u64;
        node.file.write_all_at(bytes, at).unwrap();
    }

    #[test]
    fn a_board_is_read_back_as_written() {
        let node = node();
        assert_eq!(node.local_ranks(), 3);
        assert!(node.board(3).is_err());
        put(&node, 1, offset_of!(RankBoard, pid), &42u32.to_ne_bytes());
        put(&node, 1, offset_of!(RankBoard, call), b"MPI_Recv\0\x1b");
        put(
            &node,
            1,
            offset_of!(RankBoard, call_len),
            &10u32.to_ne_bytes(),
        );
        put(
            &node,
            1,
            offset_of!(RankBoard, abort_code),
            &(-7i32).to_ne_bytes(),
        );
        put(
            &node,
            1,
            offset_of!(RankBoard, counters) + 8 * 63,
            &9u64.to_ne_bytes(),
        );
        let board = node.board(1).unwrap();
        assert_eq!(
            (board.pid, board.call.as_str(), board.abort_code),
            (42, "MPI_Recv", -7)
        );
        assert_eq!((board.counters[0], board.counters[63]), (0, 9));
        assert_eq!(node.board(0).unwrap().pid, 0);
    }

    #[test]
    fn communicators_have_texts_while_they_exist() {
        let node = node();
        let fd = node.file.try_clone().unwrap().into();
        let segment = crate::segment::Segment::attach(fd).unwrap();
        let board = segment.board(crate::identity::PeerIndex::new(2));
        let texts = || node.contexts(2).unwrap();
        for context in 0..40 {
            board.describe_context(2 * context, &format!("made {context}"), false);
        }
        assert_eq!(texts().len(), CONTEXT_NAMES);
        assert!(!texts().iter().any(|&(context, _)| context == 66));
        // A name finds an entry, whatever it is.
        let long = format!("\u{1b}[1m{}", "\u{e9}".repeat(60));
        board.describe_context(66, &long, true);
        let (_, told) = texts()
            .into_iter()
            .find(|&(context, _)| context == 66)
            .unwrap();
        assert_eq!(told, format!("[1m{}", "\u{e9}".repeat(38)));
        board.describe_context(66, "brief", true);
        assert!(texts().contains(&(66, "brief".to_owned())));
        board.forget_context(66);
        board.forget_context(1000);
        assert_eq!(texts().len(), CONTEXT_NAMES - 1);
        assert!(node.contexts(1).unwrap().is_empty() && node.contexts(3).is_err());
    }

    #[test]
    fn operations_are_read_across_chunks_and_nonsense_is_refused() {
        let node = node();
        let (start, stride, count) = (1u64 << 20, 64u32, 3000u32);
        for index in (0..u64::from(count)).step_by(2) {
            let at = start + index * u64::from(stride);
            node.file
                .write_all_at(
                    &[kind::RECEIVE_POSTED],
                    at + offset_of!(RequestRecord, kind) as u64,
                )
                .unwrap();
            let peer = u32::try_from(index).unwrap().to_ne_bytes();
            node.file
                .write_all_at(&peer, at + offset_of!(RequestRecord, peer) as u64)
                .unwrap();
        }
        put(
            &node,
            0,
            offset_of!(RankBoard, vcis) + 3 * VCI_BYTES + offset_of!(VciBoard, requests_offset),
            &start.to_ne_bytes(),
        );
        put(
            &node,
            0,
            offset_of!(RankBoard, vcis) + 3 * VCI_BYTES + offset_of!(VciBoard, request_stride),
            &stride.to_ne_bytes(),
        );
        put(
            &node,
            0,
            offset_of!(RankBoard, vcis) + 3 * VCI_BYTES + offset_of!(VciBoard, requests_len),
            &count.to_ne_bytes(),
        );
        // Records of a VCI that the rank does not say it has are none.
        let nobody = |_| unreachable!();
        node.for_each_operation(&node.board(0).unwrap(), None, nobody)
            .unwrap();
        put(
            &node,
            0,
            offset_of!(RankBoard, vci_rows),
            &4u32.to_ne_bytes(),
        );
        let mut peers = Vec::new();
        node.for_each_operation(&node.board(0).unwrap(), None, |record| {
            peers.push(record.peer.get())
        })
        .unwrap();
        assert_eq!(peers, (0..count).step_by(2).collect::<Vec<_>>());
        put(
            &node,
            0,
            offset_of!(RankBoard, vcis) + 3 * VCI_BYTES + offset_of!(VciBoard, requests_offset),
            &(u64::MAX - 5).to_ne_bytes(),
        );
        assert!(
            node.for_each_operation(&node.board(0).unwrap(), None, |_| ())
                .is_err()
        );
        put(
            &node,
            0,
            offset_of!(RankBoard, vcis) + 3 * VCI_BYTES + offset_of!(VciBoard, request_stride),
            &1u32.to_ne_bytes(),
        );
        assert!(
            node.for_each_operation(&node.board(0).unwrap(), None, |_| ())
                .is_err()
        );
    }
}
