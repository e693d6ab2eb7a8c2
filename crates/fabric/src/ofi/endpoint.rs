// SPDX-License-Identifier: MIT OR Apache-2.0
//! One endpoint: sends, receives and completions.
//!
//! Invariants: a part of a message that [`Endpoint::send`] took stays unchanged until its completion was read or the
//! message's receiver said that it has arrived; receive buffers belong to the endpoint.
#![expect(unsafe_code, reason = "objects of a C library")]

use std::ffi::c_void;
use std::io;
use std::mem::offset_of;
use std::ops::RangeInclusive;
use std::ptr::{self, NonNull};

use super::Library;
use super::abi::{
    Av, AvOps, CmOps, Cq, CqEntry, CqError, CqOps, Domain, Ep, FI_EAGAIN, FI_EAVAIL,
    FI_MR_ENDPOINT, FI_MR_LOCAL, FI_MULTI_RECV, FI_RECV, Fid, FidOps, IoVec, Msg, MsgOps, Roomy,
    function,
};
use super::choose::Chosen;
use super::open::{BUFFER_BYTES, BUFFERS, Opened, SINGLE_BUFFERS, missing};
use super::puts::Puts;
use sys::{memory, signals};

/// Completions read at once.
const BATCH: usize = 16;
/// Access to memory for sending and receiving (man fi_mr).
const LOCAL_ACCESS: u64 = 1 << 10 | 1 << 11;

/// Memory of a provider's own for an operation under way (`FI_CONTEXT2`), with a number of the caller's.
#[repr(C)]
struct Context {
    internal: [*mut c_void; 8],
    number: u32,
}

/// What [`Endpoint::poll`] does after a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It goes on.
    GoOn,
    /// It returns, and the memory of the message that arrived stays until [`Endpoint::give_back`].
    Keep,
}

/// How a send went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Sent {
    /// The library took it.
    Taken,
    /// The library is full; the same call may work after completions were read.
    Full,
}

/// One part of a message.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Where it is.
    pub start: NonNull<u8>,
    /// Its length in bytes.
    pub bytes: usize,
    /// The result of [`Endpoint::register`] for its memory, or null.
    pub desc: *mut c_void,
}

/// Bytes of a message that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Where they are, during the call of [`Endpoint::poll`] that tells of them.
    pub start: NonNull<u8>,
    /// Their length.
    pub bytes: usize,
}

/// An event that a poll found.
#[derive(Clone, Copy, Debug)]
pub enum Completion {
    /// The send with this number has left its memory.
    Sent(u32),
    /// A message.
    Arrived(Arrived),
    /// The send with this number failed, for a reason that [`Endpoint::reason`] tells.
    Failed(u32, i32),
}

/// An endpoint and what it needs.
pub struct Endpoint {
    pub(super) library: &'static Library,
    pub(super) domain: NonNull<Domain>,
    cq: NonNull<Cq>,
    av: NonNull<Av>,
    pub(super) ep: NonNull<Ep>,
    pub(super) puts: Option<Puts>,
    read: unsafe extern "C" fn(*mut Cq, *mut c_void, usize) -> isize,
    inject: Option<unsafe extern "C" fn(*mut Ep, *const c_void, usize, u64) -> isize>,
    sendmsg: unsafe extern "C" fn(*mut Ep, *const Msg, u64) -> isize,
    recvmsg: unsafe extern "C" fn(*mut Ep, *const Msg, u64) -> isize,
    inject_bytes: usize,
    parts: usize,
    registers: bool,
    pub(super) binds_regions: bool,
    takes_many: bool,
    buffers: Vec<Buffer>,
    contexts: Box<[Context]>,
    /// The open objects of libfabric, each before those that it uses.
    objects: Vec<NonNull<Fid>>,
    /// Completions that were read, and those of them that were handled.
    found: [CqEntry; BATCH],
    read_entries: usize,
    handled: usize,
    /// The receive buffer of a message that is kept, if it goes to the library afterwards.
    kept: Option<usize>,
}

// SAFETY: the objects may be used by any thread, one at a time (FI_THREAD_DOMAIN); the owner's lock sees to that.
unsafe impl Send for Endpoint {}

/// A receive buffer.
struct Buffer {
    start: NonNull<u8>,
    bytes: usize,
    desc: *mut c_void,
    context: Box<Context>,
}

impl Context {
    const fn new(number: u32) -> Self {
        Self {
            internal: [ptr::null_mut(); 8],
            number,
        }
    }
}

/// An entry of a completion queue before it is read.
const NO_ENTRY: CqEntry = CqEntry {
    context: ptr::null_mut(),
    flags: 0,
    len: 0,
    buf: ptr::null_mut(),
    data: 0,
};

impl Endpoint {
    /// Opens an endpoint whose messages have so many bytes, with at most `sends` sends under way.
    ///
    /// # Errors
    /// The library's, with the call.
    pub fn open(
        library: &'static Library,
        chosen: &Chosen<'_>,
        message_bytes: RangeInclusive<usize>,
        sends: u32,
    ) -> io::Result<Self> {
        let (least_bytes, message_bytes) = message_bytes.into_inner();
        // Some providers load what drives the device only now.
        let opened = signals::keeping_actions(|| Opened::new(library, chosen, least_bytes, sends))?;
        // SAFETY: the attributes and objects exist, and their tables are those of their kinds.
        unsafe {
            let info = &*chosen.info();
            opened.enable(library, message_bytes)?;
            let (cq, ep) = (opened.cq, opened.ep);
            let (queue, msg) = ((*cq.as_ptr()).ops, (*ep.as_ptr()).msg);
            let read = function!(queue, CqOps, read).ok_or_else(|| missing("fi_cq_read"))?;
            let sendmsg = function!(msg, MsgOps, sendmsg).ok_or_else(|| missing("fi_sendmsg"))?;
            let recvmsg = function!(msg, MsgOps, recvmsg).ok_or_else(|| missing("fi_recvmsg"))?;
            let mut endpoint = Self {
                library,
                domain: opened.domain,
                cq,
                av: opened.av,
                ep,
                puts: Puts::of(chosen, ep),
                read,
                inject: function!(msg, MsgOps, inject),
                sendmsg,
                recvmsg,
                inject_bytes: (*info.tx_attr).inject_size,
                parts: (*info.tx_attr).iov_limit.max(1),
                registers: (*info.domain_attr).mr_mode & FI_MR_LOCAL != 0,
                binds_regions: (*info.domain_attr).mr_mode & FI_MR_ENDPOINT != 0,
                takes_many: opened.takes_many,
                objects: opened.all,
                buffers: Vec::new(),
                contexts: (0..sends).map(Context::new).collect(),
                found: [NO_ENTRY; BATCH],
                read_entries: 0,
                handled: 0,
                kept: None,
            };
            endpoint.post_buffers(message_bytes)?;
            Ok(endpoint)
        }
    }

    /// Closes the library's objects, and gives the memory of the buffers back. A process that ends leaves that to the system.
    ///
    /// # Safety
    /// The endpoint is not used any more.
    pub unsafe fn close(&mut self) {
        for object in self.objects.drain(..) {
            // SAFETY: open objects, each closed before those that it uses; one whose registrations are open stays open.
            unsafe {
                if let Some(close) = function!((*object.as_ptr()).ops, FidOps, close) {
                    close(object.as_ptr());
                }
            }
        }
        for buffer in self.buffers.drain(..) {
            // SAFETY: mapped by `post_buffers`; the library's objects that wrote there are closed.
            unsafe { memory::unmap(buffer.start, buffer.bytes) };
        }
    }

    /// Makes the receive buffers and gives them to the library.
    fn post_buffers(&mut self, message_bytes: usize) -> io::Result<()> {
        let (count, bytes) = match self.takes_many {
            true => (BUFFERS, BUFFER_BYTES),
            false => (SINGLE_BUFFERS, message_bytes),
        };
        for number in 0..count {
            let start = memory::map_private(bytes)?;
            let desc = self.register(start, bytes)?;
            let context = Box::new(Context::new(number as u32));
            self.buffers.push(Buffer {
                start,
                bytes,
                desc,
                context,
            });
            self.post(number)?;
        }
        Ok(())
    }

    /// Gives a receive buffer to the library.
    fn post(&mut self, number: usize) -> io::Result<()> {
        let buffer = &mut self.buffers[number];
        let iov = IoVec {
            base: buffer.start.as_ptr().cast(),
            len: buffer.bytes,
        };
        let msg = Msg {
            iov: &raw const iov,
            desc: &raw mut buffer.desc,
            iov_count: 1,
            // From anybody (FI_ADDR_UNSPEC).
            addr: u64::MAX,
            context: (&raw mut *buffer.context).cast(),
            data: 0,
        };
        let flags = if self.takes_many { FI_MULTI_RECV } else { 0 };
        // SAFETY: an enabled endpoint; the buffer and its context live as long as `self`.
        match unsafe { (self.recvmsg)(self.ep.as_ptr(), &raw const msg, flags) } {
            0 => Ok(()),
            code => Err(self.library.error("fi_recvmsg", code)),
        }
    }

    /// Whether the provider wants the parts of messages registered.
    pub const fn registers(&self) -> bool {
        self.registers
    }

    /// Registers memory that parts of messages lie in, where the provider wants that; returns the description for [`Part`].
    ///
    /// # Errors
    /// The library's.
    pub fn register(&mut self, start: NonNull<u8>, bytes: usize) -> io::Result<*mut c_void> {
        if !self.registers {
            return Ok(ptr::null_mut());
        }
        // The registration is kept until the process ends, as the memory is until the connection does.
        let region = self.open_region(start, bytes, LOCAL_ACCESS, 0)?;
        Ok(region.desc)
    }

    /// The address that other processes reach it by.
    ///
    /// # Errors
    /// The library's.
    pub fn address(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0u8; 1024];
        let mut length = bytes.len();
        let ep = self.ep.as_ptr();
        // SAFETY: an enabled endpoint, and memory of this length.
        let code = unsafe {
            let name = function!((*ep).cm, CmOps, getname);
            let name = name.ok_or_else(|| io::Error::other("libfabric has no fi_getname"))?;
            name(ep.cast(), bytes.as_mut_ptr().cast(), &raw mut length)
        };
        if code != 0 {
            return Err(self.library.error("fi_getname", code as isize));
        }
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Makes a process known by its address; returns the number to send to.
    ///
    /// # Errors
    /// The library's.
    pub fn insert(&mut self, address: &[u8]) -> io::Result<u64> {
        // Providers read as many bytes as their addresses have, whatever came.
        let mut padded = address.to_vec();
        padded.resize(address.len() + 64, 0);
        let (av, mut peer) = (self.av.as_ptr(), u64::MAX);
        // SAFETY: an open address vector and one address.
        let count = unsafe {
            let insert = function!((*av).ops, AvOps, insert);
            let insert = insert.ok_or_else(|| io::Error::other("libfabric has no fi_av_insert"))?;
            let address = padded.as_ptr().cast();
            insert(av, address, 1, &raw mut peer, 0, ptr::null_mut())
        };
        match count {
            1 => Ok(peer),
            0 => Err(io::Error::other(
                "libfabric's fi_av_insert: the address is refused",
            )),
            code => Err(self.library.error("fi_av_insert", code as isize)),
        }
    }

    /// Longest message of [`Self::inject`].
    pub const fn inject_bytes(&self) -> usize {
        match self.inject {
            Some(_) => self.inject_bytes,
            None => 0,
        }
    }

    /// Parts that a message may have.
    pub const fn most_parts(&self) -> usize {
        self.parts
    }

    /// Sends a small message, whose memory is free afterwards.
    ///
    /// # Errors
    /// The library's.
    #[inline]
    pub fn inject(&mut self, bytes: &[u8], peer: u64) -> io::Result<Sent> {
        let Some(inject) = self.inject else {
            return Ok(Sent::Full);
        };
        // SAFETY: an enabled endpoint, a number of its address vector, and memory that is read before the call returns.
        let code = unsafe { inject(self.ep.as_ptr(), bytes.as_ptr().cast(), bytes.len(), peer) };
        self.sent("fi_inject", code)
    }

    /// Sends a message of some parts. Its end is told with `number`, which no send under way has.
    ///
    /// # Errors
    /// The library's.
    ///
    /// # Safety
    /// The parts are readable and stay unchanged until the completion was read or the receiver acknowledged the message.
    pub unsafe fn send(&mut self, parts: &[Part], peer: u64, number: u32) -> io::Result<Sent> {
        let mut iov = [IoVec {
            base: ptr::null_mut(),
            len: 0,
        }; 8];
        let mut desc = [ptr::null_mut(); 8];
        for (at, part) in parts.iter().enumerate() {
            iov[at] = IoVec {
                base: part.start.as_ptr().cast(),
                len: part.bytes,
            };
            desc[at] = part.desc;
        }
        let msg = Msg {
            iov: iov.as_ptr(),
            desc: desc.as_mut_ptr(),
            iov_count: parts.len(),
            addr: peer,
            context: self.context(number),
            data: 0,
        };
        // SAFETY: an enabled endpoint; the parts by the caller's promise; the context lives as long as `self`.
        let code = unsafe { (self.sendmsg)(self.ep.as_ptr(), &raw const msg, 0) };
        self.sent("fi_sendmsg", code)
    }

    /// The context of an operation.
    pub(super) const fn context(&mut self, number: u32) -> *mut c_void {
        (&raw mut self.contexts[number as usize]).cast()
    }

    pub(super) fn sent(&self, call: &str, code: isize) -> io::Result<Sent> {
        match code {
            0 => Ok(Sent::Taken),
            code if code == -FI_EAGAIN => Ok(Sent::Full),
            code => Err(self.library.error(call, code)),
        }
    }

    /// Lets the library work, and calls `each` for what has happened; returns how much that was. The bytes of a message are there
    /// during its call, and longer if that wants to keep them. No bytes are kept from before.
    ///
    /// # Errors
    /// The library's, or that of `each`.
    #[inline]
    pub fn poll(
        &mut self,
        mut each: impl FnMut(&mut Self, Completion) -> io::Result<Next>,
    ) -> io::Result<usize> {
        debug_assert!(self.kept.is_none(), "bytes are kept");
        if self.handled < self.read_entries {
            return self.handle_rest(&mut each);
        }
        // SAFETY: an open queue, and room for as many entries.
        let count = unsafe {
            let entries = self.found.as_mut_ptr().cast();
            (self.read)(self.cq.as_ptr(), entries, BATCH)
        };
        if count == -FI_EAGAIN {
            return Ok(0);
        }
        if count == -FI_EAVAIL {
            let (number, error) = self.read_error()?;
            if let Some(number) = number {
                each(self, Completion::Failed(number, error))?;
            }
            return Ok(1);
        }
        let Ok(count) = usize::try_from(count) else {
            return Err(self.library.error("fi_cq_read", count));
        };
        (self.read_entries, self.handled) = (count.min(BATCH), 0);
        self.handle_rest(&mut each)
    }

    /// Handles what was read, up to a message that is kept.
    fn handle_rest(
        &mut self,
        each: &mut impl FnMut(&mut Self, Completion) -> io::Result<Next>,
    ) -> io::Result<usize> {
        let mut count = 0;
        while self.handled < self.read_entries {
            let entry = self.found[self.handled];
            self.handled += 1;
            count += 1;
            if self.handle(entry, each)? == Next::Keep {
                break;
            }
        }
        Ok(count)
    }

    /// The message that was kept is not needed any more.
    ///
    /// # Errors
    /// The library's.
    pub fn give_back(&mut self) -> io::Result<()> {
        match self.kept.take() {
            Some(buffer) => self.post(buffer),
            None => Ok(()),
        }
    }

    fn handle(
        &mut self,
        entry: CqEntry,
        each: &mut impl FnMut(&mut Self, Completion) -> io::Result<Next>,
    ) -> io::Result<Next> {
        if entry.flags & FI_RECV == 0 {
            return match self.number_of(entry.context) {
                Some(number) => each(self, Completion::Sent(number)),
                None => Ok(Next::GoOn),
            };
        }
        let known = self.buffers.iter().position(|buffer| {
            let context: *const Context = &raw const *buffer.context;
            ptr::eq(context, entry.context.cast())
        });
        let Some(known) = known else {
            return Err(io::Error::other(
                "libfabric completed a receive that was not posted",
            ));
        };
        let buffer = &self.buffers[known];
        let start = if self.takes_many {
            entry.buf.cast()
        } else {
            buffer.start.as_ptr()
        };
        let offset = (start as usize).wrapping_sub(buffer.start.as_ptr() as usize);
        let mut next = Next::GoOn;
        if entry.len > 0
            && offset
                .checked_add(entry.len)
                .is_some_and(|end| end <= buffer.bytes)
        {
            let start = NonNull::new(start).ok_or_else(|| io::Error::other("a message at null"))?;
            next = each(
                self,
                Completion::Arrived(Arrived {
                    start,
                    bytes: entry.len,
                }),
            )?;
        }
        if !self.takes_many || entry.flags & FI_MULTI_RECV != 0 {
            match next {
                Next::GoOn => self.post(known)?,
                Next::Keep => self.kept = Some(known),
            }
        }
        Ok(next)
    }

    /// The number of a send by its context.
    fn number_of(&self, context: *mut c_void) -> Option<u32> {
        let first = self.contexts.as_ptr() as usize;
        let offset = (context as usize).checked_sub(first)?;
        let number = offset / size_of::<Context>();
        (number < self.contexts.len()).then_some(number as u32)
    }

    /// The error at the head of the completion queue: the number of its send, if it is of one, and the error number.
    fn read_error(&mut self) -> io::Result<(Option<u32>, i32)> {
        let mut entry = Roomy::new(CqError {
            context: ptr::null_mut(),
            flags: 0,
            len: 0,
            buf: ptr::null_mut(),
            data: 0,
            tag: 0,
            olen: 0,
            err: 0,
            prov_errno: 0,
            err_data: ptr::null_mut(),
            err_data_size: 0,
        });
        let cq = self.cq.as_ptr();
        // SAFETY: an open queue that has an error, and room for it.
        let code = unsafe {
            let read = function!((*cq).ops, CqOps, readerr);
            read.map_or(-FI_EAGAIN, |read| read(cq, &raw mut entry, 0))
        };
        if code < 0 && code != -FI_EAGAIN {
            return Err(self.library.error("fi_cq_readerr", code));
        }
        Ok((self.number_of(entry.value.context), entry.value.err))
    }

    /// The text for an error number of [`Completion::Failed`].
    pub fn reason(&self, error: i32) -> String {
        self.library.error_text(error)
    }
}
