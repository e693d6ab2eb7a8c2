// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided operations that promise more than MPI demands, or name their target by its address.

// account: function-call

use core::ffi::c_void;

use mpi_abi_sys::types::{MPI_Aint, MPI_Datatype, MPI_Op, MPI_Win};

use super::calls::{
    GetAllOpts, GetGlobal, GetNpn, GetVirtualAddr, PutAllOpts, PutGlobal, PutNpn, PutVirtualAddr,
};
use super::extension;
use crate::error::run_window;
use crate::win::accumulate::{Buffer, accumulate_to};
use crate::win::transfer::{Target, get, put};

macro_rules! transfers {
    ($($name:ident $profiled:ident $body:ident $call:ident $pointer:ty, $place:ident: $kind:ty;)*) => {
        $(
            extension! {
                /// A one-sided operation with a promise, or at an address.
                ///
                /// # Safety
                /// That of MPI_Put and MPI_Get (crate head).
                $name $profiled (
                    origin_addr: $pointer, origin_count: i32, origin_datatype: MPI_Datatype, target_rank: i32,
                    $place: $kind, target_count: i32, target_datatype: MPI_Datatype, win: MPI_Win
                ) {
                    let place = $place as MPI_Aint;
                    // SAFETY: passed on.
                    unsafe {
                        $body::<$call, i32>(
                            origin_addr, origin_count, origin_datatype, target_rank, place, target_count, target_datatype, win,
                        )
                    }
                }
            }
        )*
    };
}

transfers! {
    MPIX_Put_global PMPIX_Put_global put PutGlobal *const c_void, target_disp: MPI_Aint;
    MPIX_Put_npn PMPIX_Put_npn put PutNpn *const c_void, target_disp: MPI_Aint;
    MPIX_Put_virtual_addr PMPIX_Put_virtual_addr put PutVirtualAddr *const c_void, target_addr: *mut c_void;
    MPIX_Put_all_opts PMPIX_Put_all_opts put PutAllOpts *const c_void, target_addr: *mut c_void;
    MPIX_Get_global PMPIX_Get_global get GetGlobal *mut c_void, target_disp: MPI_Aint;
    MPIX_Get_npn PMPIX_Get_npn get GetNpn *mut c_void, target_disp: MPI_Aint;
    MPIX_Get_virtual_addr PMPIX_Get_virtual_addr get GetVirtualAddr *mut c_void, target_addr: *mut c_void;
    MPIX_Get_all_opts PMPIX_Get_all_opts get GetAllOpts *mut c_void, target_addr: *mut c_void;
}

extension! {
    /// An accumulate at an address in the target's process.
    ///
    /// # Safety
    /// That of MPI_Accumulate (crate head).
    MPIX_Accumulate_virtual_addr PMPIX_Accumulate_virtual_addr (
        origin_addr: *const c_void, origin_count: i32, origin_datatype: MPI_Datatype, target_rank: i32,
        target_addr: *mut c_void, target_count: i32, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win
    ) {
        let call = "MPIX_Accumulate_virtual_addr";
        run_window(call, win, |window| {
            let origin = Buffer::new(origin_addr, origin_count, origin_datatype);
            let target = (target_count, target_datatype);
            let target = Target::at_address(window, target_rank, target_addr, target);
            // SAFETY: the program keeps the origin until the operation is complete (crate head).
            unsafe { accumulate_to(window, origin, target, op, call) }
        })
    }
}
