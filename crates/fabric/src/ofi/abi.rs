// SPDX-License-Identifier: MIT OR Apache-2.0
//! The part of libfabric's binary interface that is used (symbol version FABRIC_1.3, `man fabric`).
//!
//! Structures only grow at their end. Objects are tables of functions, each of which begins with its size: a function exists when
//! the table reaches beyond it and it is not null. `fi_info` is never made here, but duplicated and passed on; attributes
//! without a symbol version are given more room than any known version needs ([`Roomy`]).

use std::ffi::{c_char, c_int, c_void};

/// A message.
pub(super) const FI_MSG: u64 = 1 << 1;
/// Access to the memory of other processes.
pub(super) const FI_RMA: u64 = 1 << 2;
pub(super) const FI_WRITE: u64 = 1 << 9;
pub(super) const FI_REMOTE_WRITE: u64 = 1 << 13;
/// One buffer takes several messages.
pub(super) const FI_MULTI_RECV: u64 = 1 << 16;
/// An operation is complete when its data are at their target.
pub(super) const FI_DELIVERY_COMPLETE: u64 = 1 << 28;
pub(super) const FI_RECV: u64 = 1 << 10;
pub(super) const FI_TRANSMIT: u64 = 1 << 11;
/// Operations bring memory for the provider's use.
pub(super) const FI_CONTEXT: u64 = 1 << 59;
pub(super) const FI_CONTEXT2: u64 = 1 << 52;
pub(super) const FI_ASYNC_IOV: u64 = 1 << 57;
pub(super) const FI_RX_CQ_DATA: u64 = 1 << 56;
/// Messages between two endpoints stay in order.
pub(super) const FI_ORDER_SAS: u64 = 1 << 8;
/// A message arrives after the writes before it.
pub(super) const FI_ORDER_SAW: u64 = 1 << 7;
pub(super) const FI_MR_LOCAL: c_int = 1 << 2;
pub(super) const FI_MR_VIRT_ADDR: c_int = 1 << 4;
pub(super) const FI_MR_ALLOCATED: c_int = 1 << 5;
pub(super) const FI_MR_PROV_KEY: c_int = 1 << 6;
pub(super) const FI_MR_ENDPOINT: c_int = 1 << 9;
pub(super) const FI_PROGRESS_MANUAL: c_int = 2;
pub(super) const FI_THREAD_SAFE: c_int = 1;
pub(super) const FI_THREAD_DOMAIN: c_int = 3;
pub(super) const FI_THREAD_COMPLETION: c_int = 4;
pub(super) const FI_AV_TABLE: c_int = 2;
pub(super) const FI_EP_RDM: c_int = 3;
pub(super) const FI_SOCKADDR_IN: u32 = 2;
pub(super) const FI_SOCKADDR_IN6: u32 = 3;
pub(super) const FI_CQ_FORMAT_DATA: c_int = 3;
pub(super) const FI_WAIT_NONE: c_int = 0;
pub(super) const FI_ENABLE: c_int = 6;
pub(super) const FI_OPT_ENDPOINT: c_int = 0;
pub(super) const FI_OPT_MIN_MULTI_RECV: c_int = 0;
/// Errors beyond those of the system: a queue has an error to read.
pub(super) const FI_EAVAIL: isize = 259;
pub(super) const FI_EAGAIN: isize = 11;

/// A version number as the library takes it.
pub(super) const fn version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}

/// The attributes of a provider; only those that are read or written.
#[repr(C)]
pub(super) struct Info {
    pub(super) next: *mut Info,
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) addr_format: u32,
    pub(super) src_addrlen: usize,
    pub(super) dest_addrlen: usize,
    pub(super) src_addr: *mut c_void,
    pub(super) dest_addr: *mut c_void,
    pub(super) handle: *mut c_void,
    pub(super) tx_attr: *mut TxAttr,
    pub(super) rx_attr: *mut RxAttr,
    pub(super) ep_attr: *mut EpAttr,
    pub(super) domain_attr: *mut DomainAttr,
    pub(super) fabric_attr: *mut FabricAttr,
    pub(super) nic: *mut c_void,
}

#[repr(C)]
pub(super) struct TxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
    pub(super) comp_order: u64,
    pub(super) inject_size: usize,
    pub(super) size: usize,
    pub(super) iov_limit: usize,
}

#[repr(C)]
pub(super) struct RxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
    pub(super) comp_order: u64,
    pub(super) total_buffered_recv: usize,
    pub(super) size: usize,
    pub(super) iov_limit: usize,
}

#[repr(C)]
pub(super) struct EpAttr {
    pub(super) kind: c_int,
    pub(super) protocol: u32,
    pub(super) protocol_version: u32,
    pub(super) max_msg_size: usize,
}

#[repr(C)]
pub(super) struct DomainAttr {
    pub(super) domain: *mut Fid,
    pub(super) name: *mut c_char,
    pub(super) threading: c_int,
    pub(super) control_progress: c_int,
    pub(super) data_progress: c_int,
    pub(super) resource_mgmt: c_int,
    pub(super) av_type: c_int,
    pub(super) mr_mode: c_int,
    pub(super) mr_key_size: usize,
    pub(super) cq_data_size: usize,
    pub(super) cq_cnt: usize,
    pub(super) ep_cnt: usize,
    pub(super) tx_ctx_cnt: usize,
    pub(super) rx_ctx_cnt: usize,
    pub(super) max_ep_tx_ctx: usize,
    pub(super) max_ep_rx_ctx: usize,
    pub(super) max_ep_stx_ctx: usize,
}

#[repr(C)]
pub(super) struct FabricAttr {
    pub(super) fabric: *mut Fid,
    pub(super) name: *mut c_char,
    pub(super) prov_name: *mut c_char,
    pub(super) prov_version: u32,
    pub(super) api_version: u32,
}

/// The beginning of every object.
#[repr(C)]
pub(super) struct Fid {
    pub(super) class: usize,
    pub(super) context: *mut c_void,
    pub(super) ops: *const FidOps,
}

#[repr(C)]
pub(super) struct FidOps {
    pub(super) size: usize,
    pub(super) close: Option<unsafe extern "C" fn(*mut Fid) -> c_int>,
    pub(super) bind: Option<unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int>,
    pub(super) control: Option<unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int>,
}

#[repr(C)]
pub(super) struct Fabric {
    pub(super) fid: Fid,
    pub(super) ops: *const FabricOps,
    pub(super) api_version: u32,
}

#[repr(C)]
pub(super) struct FabricOps {
    pub(super) size: usize,
    pub(super) domain: Option<
        unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int,
    >,
}

#[repr(C)]
pub(super) struct Domain {
    pub(super) fid: Fid,
    pub(super) ops: *const DomainOps,
    pub(super) mr: *const MrOps,
}

#[repr(C)]
pub(super) struct DomainOps {
    pub(super) size: usize,
    pub(super) av_open: Option<
        unsafe extern "C" fn(*mut Domain, *mut Roomy<AvAttr>, *mut *mut Av, *mut c_void) -> c_int,
    >,
    pub(super) cq_open: Option<
        unsafe extern "C" fn(*mut Domain, *mut Roomy<CqAttr>, *mut *mut Cq, *mut c_void) -> c_int,
    >,
    pub(super) endpoint:
        Option<unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut Ep, *mut c_void) -> c_int>,
}

#[repr(C)]
pub(super) struct MrOps {
    pub(super) size: usize,
    pub(super) reg: Option<
        unsafe extern "C" fn(
            *mut Fid,
            *const c_void,
            usize,
            u64,
            u64,
            u64,
            u64,
            *mut *mut Mr,
            *mut c_void,
        ) -> c_int,
    >,
}

#[repr(C)]
pub(super) struct Mr {
    pub(super) fid: Fid,
    pub(super) desc: *mut c_void,
    pub(super) key: u64,
}

#[repr(C)]
pub(super) struct Av {
    pub(super) fid: Fid,
    pub(super) ops: *const AvOps,
}

#[repr(C)]
pub(super) struct AvOps {
    pub(super) size: usize,
    pub(super) insert: Option<
        unsafe extern "C" fn(*mut Av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
    >,
}

#[repr(C)]
pub(super) struct Cq {
    pub(super) fid: Fid,
    pub(super) ops: *const CqOps,
}

#[repr(C)]
pub(super) struct CqOps {
    pub(super) size: usize,
    pub(super) read: Option<unsafe extern "C" fn(*mut Cq, *mut c_void, usize) -> isize>,
    pub(super) readfrom: *const c_void,
    pub(super) readerr: Option<unsafe extern "C" fn(*mut Cq, *mut Roomy<CqError>, u64) -> isize>,
}

#[repr(C)]
pub(super) struct Ep {
    pub(super) fid: Fid,
    pub(super) ops: *const EpOps,
    pub(super) cm: *const CmOps,
    pub(super) msg: *const MsgOps,
    pub(super) rma: *const RmaOps,
}

#[repr(C)]
pub(super) struct EpOps {
    pub(super) size: usize,
    pub(super) cancel: *const c_void,
    pub(super) getopt: *const c_void,
    pub(super) setopt:
        Option<unsafe extern "C" fn(*mut Fid, c_int, c_int, *const c_void, usize) -> c_int>,
}

#[repr(C)]
pub(super) struct CmOps {
    pub(super) size: usize,
    pub(super) setname: *const c_void,
    pub(super) getname: Option<unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int>,
}

#[repr(C)]
pub(super) struct MsgOps {
    pub(super) size: usize,
    pub(super) recv: *const c_void,
    pub(super) recvv: *const c_void,
    pub(super) recvmsg: Option<unsafe extern "C" fn(*mut Ep, *const Msg, u64) -> isize>,
    pub(super) send: *const c_void,
    pub(super) sendv: *const c_void,
    pub(super) sendmsg: Option<unsafe extern "C" fn(*mut Ep, *const Msg, u64) -> isize>,
    pub(super) inject: Option<unsafe extern "C" fn(*mut Ep, *const c_void, usize, u64) -> isize>,
}

#[repr(C)]
pub(super) struct RmaOps {
    pub(super) size: usize,
    pub(super) read: *const c_void,
    pub(super) readv: *const c_void,
    pub(super) readmsg: *const c_void,
    pub(super) write: *const c_void,
    pub(super) writev: *const c_void,
    pub(super) writemsg: Option<unsafe extern "C" fn(*mut Ep, *const MsgRma, u64) -> isize>,
}

/// Memory of a message.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct IoVec {
    pub(super) base: *mut c_void,
    pub(super) len: usize,
}

#[repr(C)]
pub(super) struct Msg {
    pub(super) iov: *const IoVec,
    pub(super) desc: *mut *mut c_void,
    pub(super) iov_count: usize,
    pub(super) addr: u64,
    pub(super) context: *mut c_void,
    pub(super) data: u64,
}

/// Memory of another process.
#[repr(C)]
pub(super) struct RmaIoVec {
    pub(super) addr: u64,
    pub(super) len: usize,
    pub(super) key: u64,
}

#[repr(C)]
pub(super) struct MsgRma {
    pub(super) iov: *const IoVec,
    pub(super) desc: *mut *mut c_void,
    pub(super) iov_count: usize,
    pub(super) addr: u64,
    pub(super) rma_iov: *const RmaIoVec,
    pub(super) rma_iov_count: usize,
    pub(super) context: *mut c_void,
    pub(super) data: u64,
}

#[repr(C)]
pub(super) struct AvAttr {
    pub(super) kind: c_int,
    pub(super) rx_ctx_bits: c_int,
    pub(super) count: usize,
}

#[repr(C)]
pub(super) struct CqAttr {
    pub(super) size: usize,
    pub(super) flags: u64,
    pub(super) format: c_int,
    pub(super) wait_obj: c_int,
}

/// A completion in the format `FI_CQ_FORMAT_DATA`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CqEntry {
    pub(super) context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: usize,
    pub(super) buf: *mut c_void,
    pub(super) data: u64,
}

#[repr(C)]
pub(super) struct CqError {
    pub(super) context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: usize,
    pub(super) buf: *mut c_void,
    pub(super) data: u64,
    pub(super) tag: u64,
    pub(super) olen: usize,
    pub(super) err: c_int,
    pub(super) prov_errno: c_int,
    pub(super) err_data: *mut c_void,
    pub(super) err_data_size: usize,
}

/// An attribute with zeros behind it, for the fields of later versions.
#[repr(C)]
pub(super) struct Roomy<T> {
    pub(super) value: T,
    _later: [u64; 24],
}

impl<T> Roomy<T> {
    pub(super) const fn new(value: T) -> Self {
        Self {
            value,
            _later: [0; 24],
        }
    }
}

/// A function of a table, if the table reaches that far and has it.
macro_rules! function {
    ($table:expr, $kind:ty, $field:ident) => {{
        let table: *const $kind = $table;
        if table.is_null() || (*table).size <= offset_of!($kind, $field) {
            None
        } else {
            (*table).$field
        }
    }};
}
pub(super) use function;
