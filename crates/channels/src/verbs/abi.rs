// SPDX-License-Identifier: MIT OR Apache-2.0
//! The part of libibverbs' binary interface that is used (`man ibv_post_send` and others; symbol version IBVERBS_1.1).
//!
//! Posts and polls are functions of a table inside the context. Thread domains are in a table that lies *before* the context, where
//! `abi_compat` has all bits set.

use std::ffi::{c_char, c_int, c_void};

pub(super) const IBV_QPT_RC: c_int = 2;
pub(super) const IBV_WR_RDMA_WRITE: c_int = 0;
pub(super) const IBV_SEND_SIGNALED: u32 = 2;
pub(super) const LOCAL_AND_REMOTE_WRITE: c_int = 3;
pub(super) const IBV_QPS_INIT: c_int = 1;
pub(super) const IBV_QPS_RTR: c_int = 2;
pub(super) const IBV_QPS_RTS: c_int = 3;
/// State, key index, port, access.
pub(super) const TO_INIT: c_int = 0x39;
/// State, address, MTU, destination, first packet, reads, timer.
pub(super) const TO_RTR: c_int = 0x0012_9181;
/// State, timeout, retries, first packet, reads.
pub(super) const TO_RTS: c_int = 0x0001_2e01;
pub(super) const IBV_MTU_1024: c_int = 3;

#[repr(C)]
pub(super) struct DeviceHandle {
    _private: [u8; 0],
}

pub(super) type PollCq = unsafe extern "C" fn(*mut CqHandle, c_int, *mut WorkCompletion) -> c_int;
pub(super) type PostSend =
    unsafe extern "C" fn(*mut QpHandle, *mut SendRequest, *mut *mut SendRequest) -> c_int;
pub(super) type AllocTd = unsafe extern "C" fn(*mut ContextHandle, *mut TdAttr) -> *mut TdHandle;
pub(super) type DeallocTd = unsafe extern "C" fn(*mut TdHandle) -> c_int;

#[repr(C)]
pub(super) struct ContextOps {
    pub(super) before_poll: [*const c_void; 11],
    pub(super) poll_cq: Option<PollCq>,
    pub(super) before_post: [*const c_void; 13],
    pub(super) post_send: Option<PostSend>,
    pub(super) after: [*const c_void; 6],
}

#[repr(C)]
pub(super) struct ContextHandle {
    pub(super) device: *mut DeviceHandle,
    pub(super) ops: ContextOps,
    pub(super) fds: [c_int; 3],
    pub(super) mutex: [u64; 5],
    pub(super) abi_compat: *mut c_void,
}

/// The end of the table before the context, from its functions for thread domains on.
#[repr(C)]
pub(super) struct ExtendedOps {
    pub(super) dealloc_td: Option<DeallocTd>,
    pub(super) alloc_td: Option<AllocTd>,
    pub(super) others: [*const c_void; 22],
    /// Bytes of the table and the context.
    pub(super) size: usize,
}

#[repr(C)]
pub(super) struct TdAttr {
    pub(super) comp_mask: u32,
}

#[repr(C)]
pub(super) struct TdHandle {
    pub(super) context: *mut ContextHandle,
}

#[repr(C)]
pub(super) struct PdHandle {
    pub(super) context: *mut ContextHandle,
}

#[repr(C)]
pub(super) struct MrHandle {
    pub(super) context: *mut ContextHandle,
    pub(super) pd: *mut PdHandle,
    pub(super) address: *mut c_void,
    pub(super) length: usize,
    pub(super) handle: u32,
    pub(super) lkey: u32,
    pub(super) rkey: u32,
}

#[repr(C)]
pub(super) struct CqHandle {
    pub(super) context: *mut ContextHandle,
}

#[repr(C)]
pub(super) struct QpHandle {
    pub(super) context: *mut ContextHandle,
    pub(super) qp_context: *mut c_void,
    pub(super) pd: *mut PdHandle,
    pub(super) queues: [*mut CqHandle; 2],
    pub(super) srq: *mut c_void,
    pub(super) handle: u32,
    pub(super) qp_num: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct QpCap {
    pub(super) max_send_wr: u32,
    pub(super) max_recv_wr: u32,
    pub(super) max_send_sge: u32,
    pub(super) max_recv_sge: u32,
    pub(super) max_inline_data: u32,
}

#[repr(C)]
pub(super) struct QpInitAttr {
    pub(super) qp_context: *mut c_void,
    pub(super) send_cq: *mut CqHandle,
    pub(super) recv_cq: *mut CqHandle,
    pub(super) srq: *mut c_void,
    pub(super) cap: QpCap,
    pub(super) qp_type: c_int,
    pub(super) sq_sig_all: c_int,
}

#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
pub(super) struct Gid(pub(super) [u8; 16]);

#[repr(C)]
#[derive(Default)]
pub(super) struct AddressAttr {
    pub(super) dgid: Gid,
    pub(super) flow_label: u32,
    pub(super) sgid_index: u8,
    pub(super) hop_limit: u8,
    pub(super) traffic_class: u8,
    pub(super) dlid: u16,
    pub(super) sl: u8,
    pub(super) src_path_bits: u8,
    pub(super) static_rate: u8,
    pub(super) is_global: u8,
    pub(super) port_num: u8,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct QpAttr {
    pub(super) qp_state: c_int,
    pub(super) cur_qp_state: c_int,
    pub(super) path_mtu: c_int,
    pub(super) path_mig_state: c_int,
    pub(super) qkey: u32,
    pub(super) rq_psn: u32,
    pub(super) sq_psn: u32,
    pub(super) dest_qp_num: u32,
    pub(super) qp_access_flags: u32,
    pub(super) cap: QpCap,
    pub(super) ah_attr: AddressAttr,
    pub(super) alt_ah_attr: AddressAttr,
    pub(super) pkey_index: u16,
    pub(super) alt_pkey_index: u16,
    pub(super) en_sqd_async_notify: u8,
    pub(super) sq_draining: u8,
    pub(super) max_rd_atomic: u8,
    pub(super) max_dest_rd_atomic: u8,
    pub(super) min_rnr_timer: u8,
    pub(super) port_num: u8,
    pub(super) timeout: u8,
    pub(super) retry_cnt: u8,
    pub(super) rnr_retry: u8,
    pub(super) alt_port_num: u8,
    pub(super) alt_timeout: u8,
    pub(super) rate_limit: u32,
}

#[repr(C)]
pub(super) struct Sge {
    pub(super) address: u64,
    pub(super) length: u32,
    pub(super) lkey: u32,
}

#[repr(C)]
pub(super) struct SendRequest {
    pub(super) wr_id: u64,
    pub(super) next: *mut SendRequest,
    pub(super) sg_list: *mut Sge,
    pub(super) num_sge: c_int,
    pub(super) opcode: c_int,
    pub(super) send_flags: u32,
    pub(super) imm_data: u32,
    pub(super) remote_address: u64,
    pub(super) rkey: u32,
    /// Other kinds of requests, and what some transports add.
    pub(super) rest: [u64; 9],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct WorkCompletion {
    pub(super) wr_id: u64,
    pub(super) status: c_int,
    pub(super) opcode: c_int,
    pub(super) vendor_err: u32,
    pub(super) byte_len: u32,
    pub(super) imm_data: u32,
    pub(super) qp_num: u32,
    pub(super) rest: [u32; 4],
}

/// Functions with symbols.
pub(super) struct Functions {
    pub(super) get_device_list: unsafe extern "C" fn(*mut c_int) -> *mut *mut DeviceHandle,
    pub(super) free_device_list: unsafe extern "C" fn(*mut *mut DeviceHandle),
    pub(super) get_device_name: unsafe extern "C" fn(*mut DeviceHandle) -> *const c_char,
    pub(super) open_device: unsafe extern "C" fn(*mut DeviceHandle) -> *mut ContextHandle,
    pub(super) close_device: unsafe extern "C" fn(*mut ContextHandle) -> c_int,
    pub(super) query_gid: unsafe extern "C" fn(*mut ContextHandle, u8, c_int, *mut Gid) -> c_int,
    pub(super) alloc_pd: unsafe extern "C" fn(*mut ContextHandle) -> *mut PdHandle,
    pub(super) dealloc_pd: unsafe extern "C" fn(*mut PdHandle) -> c_int,
    pub(super) reg_mr:
        unsafe extern "C" fn(*mut PdHandle, *mut c_void, usize, c_int) -> *mut MrHandle,
    pub(super) dereg_mr: unsafe extern "C" fn(*mut MrHandle) -> c_int,
    pub(super) create_cq: unsafe extern "C" fn(
        *mut ContextHandle,
        c_int,
        *mut c_void,
        *mut c_void,
        c_int,
    ) -> *mut CqHandle,
    pub(super) destroy_cq: unsafe extern "C" fn(*mut CqHandle) -> c_int,
    pub(super) create_qp: unsafe extern "C" fn(*mut PdHandle, *mut QpInitAttr) -> *mut QpHandle,
    pub(super) modify_qp: unsafe extern "C" fn(*mut QpHandle, *mut QpAttr, c_int) -> c_int,
    pub(super) destroy_qp: unsafe extern "C" fn(*mut QpHandle) -> c_int,
}

const _: () = {
    use std::mem::{offset_of, size_of};
    // Those of <infiniband/verbs.h> on 64-bit Linux.
    assert!(size_of::<SendRequest>() == 128 && offset_of!(SendRequest, remote_address) == 40);
    assert!(size_of::<WorkCompletion>() == 48 && offset_of!(WorkCompletion, qp_num) == 28);
    assert!(size_of::<QpAttr>() == 144 && offset_of!(QpAttr, ah_attr) == 56);
    assert!(offset_of!(QpAttr, port_num) == 129 && offset_of!(QpAttr, rnr_retry) == 132);
    assert!(size_of::<QpInitAttr>() == 64 && offset_of!(QpInitAttr, qp_type) == 52);
    assert!(size_of::<ContextOps>() == 256 && offset_of!(ContextOps, poll_cq) == 88);
    assert!(offset_of!(ContextOps, post_send) == 200);
    assert!(offset_of!(ContextHandle, abi_compat) == 320 && size_of::<ContextHandle>() == 328);
    assert!(offset_of!(QpHandle, qp_num) == 52 && offset_of!(MrHandle, lkey) == 36);
    // The table's functions for thread domains are at 120 and 128, its size at 312, the context at 320.
    assert!(size_of::<ExtendedOps>() == 200 && offset_of!(ExtendedOps, size) == 192);
};
