// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts: one process writes memory that another one has opened to it.
//!
//! A put and the messages that follow it to the same process arrive in this order (`FI_ORDER_SAW`, or the endpoint has no puts).
//! The key of a region is random where this side may choose it: a process that can connect and knows a key can write there.
#![expect(unsafe_code, reason = "objects of a C library")]

use std::ffi::c_void;
use std::io;
use std::mem::offset_of;
use std::ptr::{self, NonNull};

use super::abi::{
    Domain, FI_DELIVERY_COMPLETE, FI_ENABLE, FI_REMOTE_WRITE, FI_WRITE, Fid, FidOps, IoVec, Mr,
    MrOps, MsgRma, RmaIoVec, function,
};
use super::endpoint::{Endpoint, Part, Sent};
use super::open::missing;

/// Registered memory, until [`Endpoint::close_region`].
pub struct Region {
    mr: NonNull<Mr>,
    /// The description for [`Part`].
    pub desc: *mut c_void,
}

/// Memory that another process has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Its address, as the provider counts.
    pub address: u64,
    /// Its key.
    pub key: u64,
}

impl Endpoint {
    /// Longest put in bytes; 0 when there are no puts.
    pub fn most_put_bytes(&self) -> usize {
        self.puts.as_ref().map_or(0, |puts| puts.most_bytes)
    }

    /// Whether the kernel's sockets carry puts.
    pub fn puts_through_sockets(&self) -> bool {
        self.puts.as_ref().is_some_and(|puts| puts.through_sockets)
    }

    /// Opens memory for puts of others. `key` is its key where the provider lets this side choose.
    ///
    /// # Errors
    /// The library's.
    pub fn open_for_puts(
        &mut self,
        start: NonNull<u8>,
        bytes: usize,
        key: u64,
    ) -> io::Result<(Region, Opening)> {
        let region = self.open_region(start, bytes, FI_REMOTE_WRITE, key)?;
        let has_addresses = self.puts.as_ref().is_some_and(|puts| puts.has_addresses);
        let opening = Opening {
            address: if has_addresses {
                start.as_ptr() as u64
            } else {
                0
            },
            // SAFETY: a registration that is open.
            key: unsafe { region.mr.as_ref() }.key,
        };
        Ok((region, opening))
    }

    /// Registers memory to put from, where the provider wants that.
    ///
    /// # Errors
    /// The library's.
    pub fn open_source(&mut self, start: NonNull<u8>, bytes: usize) -> io::Result<Option<Region>> {
        if !self.registers() {
            return Ok(None);
        }
        self.open_region(start, bytes, FI_WRITE, 0).map(Some)
    }

    /// Ends a registration: nobody reaches the memory through it any more.
    pub fn close_region(&mut self, region: Region) {
        let fid = region.mr.as_ptr().cast::<Fid>();
        // SAFETY: a registration that is open, closed once because `region` is consumed.
        unsafe {
            if let Some(close) = function!((*fid).ops, FidOps, close) {
                close(fid);
            }
        }
    }

    /// Registers memory for the kinds of access in `access` (man fi_mr).
    ///
    /// # Errors
    /// The library's.
    pub(super) fn open_region(
        &mut self,
        start: NonNull<u8>,
        bytes: usize,
        access: u64,
        key: u64,
    ) -> io::Result<Region> {
        let domain: *mut Domain = self.domain.as_ptr();
        let (mut mr, none): (*mut Mr, _) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: an open domain, and memory that the caller keeps until it closes the region.
        unsafe {
            let register = function!((*domain).mr, MrOps, reg);
            let register = register.ok_or_else(|| missing("fi_mr_reg"))?;
            let start = start.as_ptr().cast();
            let (fid, mr_at) = (domain.cast(), &raw mut mr);
            let code = register(fid, start, bytes, access, 0, key, 0, mr_at, none);
            if code != 0 {
                return Err(self.library.error("fi_mr_reg", code as isize));
            }
            let mr = NonNull::new(mr).ok_or_else(|| missing("registration"))?;
            if self.binds_regions {
                let fid = mr.as_ptr().cast::<Fid>();
                let bind = function!((*fid).ops, FidOps, bind);
                let bind = bind.ok_or_else(|| missing("fi_mr_bind"))?;
                let enable = function!((*fid).ops, FidOps, control);
                let enable = enable.ok_or_else(|| missing("fi_mr_enable"))?;
                let mut code = bind(fid, self.ep.as_ptr().cast(), 0);
                if code == 0 {
                    code = enable(fid, FI_ENABLE, none);
                }
                if code != 0 {
                    return Err(self.library.error("fi_mr_enable", code as isize));
                }
            }
            Ok(Region {
                mr,
                desc: mr.as_ref().desc,
            })
        }
    }

    /// Writes to memory that a process has opened. The end is told with `number`, which no operation under way has: when the data have left
    /// this memory, or, with `acknowledged`, when they are there.
    ///
    /// # Errors
    /// The library's.
    ///
    /// # Safety
    /// The part is readable and stays unchanged until the completion was read.
    pub unsafe fn put(
        &mut self,
        part: Part,
        (peer, target): (u64, Opening),
        number: u32,
        acknowledged: bool,
    ) -> io::Result<Sent> {
        let Some(writemsg) = self.puts.as_ref().map(|puts| puts.writemsg) else {
            return Err(missing("fi_writemsg"));
        };
        let iov = IoVec {
            base: part.start.as_ptr().cast(),
            len: part.bytes,
        };
        let rma_iov = RmaIoVec {
            addr: target.address,
            len: part.bytes,
            key: target.key,
        };
        let mut desc = part.desc;
        let msg = MsgRma {
            iov: &raw const iov,
            desc: &raw mut desc,
            iov_count: 1,
            addr: peer,
            rma_iov: &raw const rma_iov,
            rma_iov_count: 1,
            context: self.context(number),
            data: 0,
        };
        let flags = if acknowledged {
            FI_DELIVERY_COMPLETE
        } else {
            0
        };
        // SAFETY: an enabled endpoint; the part by the caller's promise; the context lives as long as `self`.
        let code = unsafe { writemsg(self.ep.as_ptr(), &raw const msg, flags) };
        self.sent("fi_writemsg", code)
    }
}
