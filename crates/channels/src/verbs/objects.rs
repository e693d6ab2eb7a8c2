// SPDX-License-Identifier: MIT OR Apache-2.0
//! The objects of Verbs. Each keeps what it belongs to, so that it is destroyed first.
#![expect(unsafe_code, reason = "functions of a C library")]

use std::ptr::{self, NonNull};
use std::sync::Arc;

use sys::sync::{AtomicU64, Ordering};

use super::abi::{
    AddressAttr, ContextHandle, CqHandle, ExtendedOps, Gid, IBV_MTU_1024, IBV_QPS_INIT,
    IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_RC, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE,
    LOCAL_AND_REMOTE_WRITE, MrHandle, PdHandle, QpAttr, QpCap, QpHandle, QpInitAttr, SendRequest,
    Sge, TO_INIT, TO_RTR, TO_RTS, TdAttr, WorkCompletion,
};
use super::library::{Device, Verbs, last};
use crate::error::Error;

const PORT: u8 = 1;
/// Bytes of the table before the context and of the context, from the functions for thread domains on.
const DOMAIN_BYTES: usize = 648 - 120;

macro_rules! shared_by_threads {
    ($($name:ident),*) => { $(
        // SAFETY: objects of Verbs may be used by any thread at the same time (man ibv_fork_init, "thread safe").
        unsafe impl Send for $name {}
        // SAFETY: as for Send.
        unsafe impl Sync for $name {}
    )* };
}
shared_by_threads!(
    Context,
    ProtectionDomain,
    MemoryRegion,
    CompletionQueue,
    QueuePair
);

/// A device context.
pub struct Context {
    verbs: Arc<Verbs>,
    handle: NonNull<ContextHandle>,
}

impl Context {
    /// Opens a device.
    ///
    /// # Errors
    /// The library's.
    pub fn open(device: &Device) -> Result<Arc<Self>, Error> {
        let verbs = device.verbs.clone();
        // SAFETY: a device of a list that exists.
        let handle = unsafe { (verbs.functions.open_device)(device.handle.as_ptr()) };
        let handle = NonNull::new(handle).ok_or_else(|| last("ibv_open_device"))?;
        Ok(Arc::new(Self { verbs, handle }))
    }

    /// Makes a thread domain and gives it back.
    ///
    /// # Errors
    /// The device's refusal.
    pub fn try_thread_domain(&self) -> Result<(), Error> {
        let refused = |reason: &str| Error::Device {
            call: "ibv_alloc_td",
            reason: reason.to_owned(),
        };
        // SAFETY: `abi_compat` has all bits set where the table lies before the context (<infiniband/verbs.h>, verbs_get_ctx).
        let (alloc, dealloc) = unsafe {
            let context = self.handle.as_ptr();
            if (*context).abi_compat as usize != usize::MAX {
                return Err(refused("the library has no extended functions"));
            }
            let table = context.cast::<u8>().sub(200).cast::<ExtendedOps>();
            if (*table).size < DOMAIN_BYTES {
                return Err(refused("the library knows no thread domains"));
            }
            ((*table).alloc_td, (*table).dealloc_td)
        };
        let (Some(alloc), Some(dealloc)) = (alloc, dealloc) else {
            return Err(refused("the library knows no thread domains"));
        };
        let mut attr = TdAttr { comp_mask: 0 };
        // SAFETY: an open context and attributes without extensions.
        let domain = unsafe { alloc(self.handle.as_ptr(), &raw mut attr) };
        if domain.is_null() {
            return Err(last("ibv_alloc_td"));
        }
        // SAFETY: made above, and used by nothing.
        match unsafe { dealloc(domain) } {
            0 => Ok(()),
            _ => Err(last("ibv_dealloc_td")),
        }
    }

    /// The first address of the port that is one of RoCE version 2, or the only one.
    fn gid(&self) -> Result<(u8, Gid), Error> {
        let query = |index: u8| {
            let mut gid = Gid::default();
            // SAFETY: an open context and a place for the address.
            let code = unsafe {
                (self.verbs.functions.query_gid)(
                    self.handle.as_ptr(),
                    PORT,
                    index.into(),
                    &raw mut gid,
                )
            };
            (code == 0 && gid.0 != [0; 16]).then_some((index, gid))
        };
        let found = query(1).or_else(|| query(0));
        found.ok_or_else(|| last("ibv_query_gid"))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: all objects that belong to it keep it, so they are gone.
        unsafe { (self.verbs.functions.close_device)(self.handle.as_ptr()) };
    }
}

/// A protection domain.
pub struct ProtectionDomain {
    context: Arc<Context>,
    handle: NonNull<PdHandle>,
}

impl ProtectionDomain {
    /// A new one.
    ///
    /// # Errors
    /// The library's.
    pub fn new(context: &Arc<Context>) -> Result<Arc<Self>, Error> {
        // SAFETY: an open context.
        let handle = unsafe { (context.verbs.functions.alloc_pd)(context.handle.as_ptr()) };
        let handle = NonNull::new(handle).ok_or_else(|| last("ibv_alloc_pd"))?;
        let context = context.clone();
        Ok(Arc::new(Self { context, handle }))
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        // SAFETY: all objects that belong to it are gone.
        unsafe { (self.context.verbs.functions.dealloc_pd)(self.handle.as_ptr()) };
    }
}

/// Registered memory: words that the device reads and writes.
pub struct MemoryRegion {
    domain: Arc<ProtectionDomain>,
    handle: NonNull<MrHandle>,
    words: Box<[AtomicU64]>,
}

impl MemoryRegion {
    /// New memory of so many words of 8 bytes.
    ///
    /// # Errors
    /// The library's, for instance when too little memory may be locked.
    pub fn new(domain: &Arc<ProtectionDomain>, words: usize) -> Result<Arc<Self>, Error> {
        let words: Box<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
        // SAFETY: memory that lives until it is deregistered.
        let handle = unsafe {
            let start = words.as_ptr().cast_mut().cast();
            let bytes = size_of_val(&*words);
            (domain.context.verbs.functions.reg_mr)(
                domain.handle.as_ptr(),
                start,
                bytes,
                LOCAL_AND_REMOTE_WRITE,
            )
        };
        let handle = NonNull::new(handle).ok_or_else(|| last("ibv_reg_mr"))?;
        let domain = domain.clone();
        Ok(Arc::new(Self {
            domain,
            handle,
            words,
        }))
    }

    /// Writes a word.
    pub fn set(&self, index: usize, value: u64) {
        self.words[index].store(value, Ordering::Relaxed);
    }

    /// Reads a word, after the completion of what wrote it.
    pub fn get(&self, index: usize) -> u64 {
        self.words[index].load(Ordering::Relaxed)
    }

    fn keys(&self) -> (u32, u32) {
        // SAFETY: a region that is registered.
        let handle = unsafe { self.handle.as_ref() };
        (handle.lkey, handle.rkey)
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        // SAFETY: the memory still exists.
        unsafe { (self.domain.context.verbs.functions.dereg_mr)(self.handle.as_ptr()) };
    }
}

/// A completion queue.
pub struct CompletionQueue {
    context: Arc<Context>,
    handle: NonNull<CqHandle>,
}

impl CompletionQueue {
    /// A new one with room for so many entries.
    ///
    /// # Errors
    /// The library's.
    pub fn new(context: &Arc<Context>, entries: i32) -> Result<Arc<Self>, Error> {
        // SAFETY: an open context; no channel.
        let handle = unsafe {
            let none = ptr::null_mut();
            (context.verbs.functions.create_cq)(context.handle.as_ptr(), entries, none, none, 0)
        };
        let handle = NonNull::new(handle).ok_or_else(|| last("ibv_create_cq"))?;
        let context = context.clone();
        Ok(Arc::new(Self { context, handle }))
    }

    /// The number of the write that completed first, if one did.
    ///
    /// # Errors
    /// When a write failed.
    pub fn poll(&self) -> Result<Option<u64>, Error> {
        let failed = |reason: String| Error::Device {
            call: "ibv_poll_cq",
            reason,
        };
        let mut entry = WorkCompletion::default();
        // SAFETY: the table belongs to an open context.
        let poll = unsafe { self.context.handle.as_ref() }.ops.poll_cq;
        let poll = poll.ok_or_else(|| failed("the library has no such function".to_owned()))?;
        // SAFETY: a queue that exists and a place for an entry.
        match unsafe { poll(self.handle.as_ptr(), 1, &raw mut entry) } {
            0 => Ok(None),
            1 if entry.status == 0 => Ok(Some(entry.wr_id)),
            1 => Err(failed(format!(
                "a write failed with status {} (vendor's {:#x})",
                entry.status, entry.vendor_err
            ))),
            code => Err(failed(format!("code {code}"))),
        }
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // SAFETY: all queue pairs that use it keep it, so they are gone.
        unsafe { (self.context.verbs.functions.destroy_cq)(self.handle.as_ptr()) };
    }
}

/// A reliable queue pair that is connected to itself.
pub struct QueuePair {
    domain: Arc<ProtectionDomain>,
    _completions: Arc<CompletionQueue>,
    handle: NonNull<QpHandle>,
}

impl QueuePair {
    /// A new one.
    ///
    /// # Errors
    /// The library's.
    pub fn new(
        domain: &Arc<ProtectionDomain>,
        completions: &Arc<CompletionQueue>,
        depth: u32,
    ) -> Result<Self, Error> {
        let queue = completions.handle.as_ptr();
        let mut attr = QpInitAttr {
            qp_context: ptr::null_mut(),
            send_cq: queue,
            recv_cq: queue,
            srq: ptr::null_mut(),
            cap: QpCap {
                max_send_wr: depth,
                max_recv_wr: 1,
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: IBV_QPT_RC,
            sq_sig_all: 0,
        };
        let verbs = &domain.context.verbs;
        // SAFETY: a domain and a queue of one context.
        let handle = unsafe { (verbs.functions.create_qp)(domain.handle.as_ptr(), &raw mut attr) };
        let handle = NonNull::new(handle).ok_or_else(|| last("ibv_create_qp"))?;
        let pair = Self {
            domain: domain.clone(),
            _completions: completions.clone(),
            handle,
        };
        pair.connect()?;
        Ok(pair)
    }

    fn connect(&self) -> Result<(), Error> {
        let context = &self.domain.context;
        let (sgid_index, dgid) = context.gid()?;
        // SAFETY: a queue pair that exists.
        let dest_qp_num = unsafe { self.handle.as_ref() }.qp_num;
        let ready = |qp_state| QpAttr {
            qp_state,
            path_mtu: IBV_MTU_1024,
            qp_access_flags: LOCAL_AND_REMOTE_WRITE as u32,
            dest_qp_num,
            max_dest_rd_atomic: 1,
            max_rd_atomic: 1,
            min_rnr_timer: 12,
            timeout: 14,
            retry_cnt: 7,
            rnr_retry: 7,
            port_num: PORT,
            ah_attr: AddressAttr {
                dgid,
                sgid_index,
                hop_limit: 64,
                is_global: 1,
                port_num: PORT,
                ..AddressAttr::default()
            },
            ..QpAttr::default()
        };
        for (state, mask) in [
            (IBV_QPS_INIT, TO_INIT),
            (IBV_QPS_RTR, TO_RTR),
            (IBV_QPS_RTS, TO_RTS),
        ] {
            let mut attr = ready(state);
            // SAFETY: a queue pair that exists, and attributes for the mask.
            let code = unsafe {
                (context.verbs.functions.modify_qp)(self.handle.as_ptr(), &raw mut attr, mask)
            };
            if code != 0 {
                let reason = format!("state {state}: {}", std::io::Error::from_raw_os_error(code));
                let call = "ibv_modify_qp";
                return Err(Error::Device { call, reason });
            }
        }
        Ok(())
    }

    /// Posts a write of a word of `from` to a word of `to`; false when the queue is full.
    ///
    /// # Errors
    /// The library's.
    pub fn post(
        &self,
        number: u64,
        (from, from_word): (&MemoryRegion, usize),
        (to, to_word): (&MemoryRegion, usize),
    ) -> Result<bool, Error> {
        let address =
            |region: &MemoryRegion, word: usize| ptr::from_ref(&region.words[word]) as u64;
        let mut payload = Sge {
            address: address(from, from_word),
            length: 8,
            lkey: from.keys().0,
        };
        let mut request = SendRequest {
            wr_id: number,
            next: ptr::null_mut(),
            sg_list: &raw mut payload,
            num_sge: 1,
            opcode: IBV_WR_RDMA_WRITE,
            send_flags: IBV_SEND_SIGNALED,
            imm_data: 0,
            remote_address: address(to, to_word),
            rkey: to.keys().1,
            rest: [0; 9],
        };
        let failed = |reason: String| Error::Device {
            call: "ibv_post_send",
            reason,
        };
        // SAFETY: the table belongs to an open context.
        let post = unsafe { self.domain.context.handle.as_ref() }.ops.post_send;
        let post = post.ok_or_else(|| failed("the library has no such function".to_owned()))?;
        let mut bad = ptr::null_mut();
        // SAFETY: the library copies the request; the regions are kept by their owner until the write is complete.
        match unsafe { post(self.handle.as_ptr(), &raw mut request, &raw mut bad) } {
            0 => Ok(true),
            12 => Ok(false),
            code => Err(failed(std::io::Error::from_raw_os_error(code).to_string())),
        }
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: made by `create_qp`, and destroyed once.
        unsafe { (self.domain.context.verbs.functions.destroy_qp)(self.handle.as_ptr()) };
    }
}
