// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls of `mpi_rankpoint.h` that send, receive, put and get: their names, and what each promises.

use engine::p2p::Promises;

use crate::call::Call;

/// Types for calls: name of the type, name of the call, promises, and what else is special to it.
macro_rules! calls {
    ($($name:ident $text:literal [$($promise:ident)*] [$($trait:ident)*];)*) => {
        $(
            #[doc = $text]
            pub(super) struct $name;

            impl Promises for $name {
                $(const $promise: bool = true;)*
            }

            impl Call for $name {
                const NAME: &'static str = $text;
                $(const $trait: bool = true;)*
            }
        )*
    };
}

calls! {
    IsendGlobal "MPIX_Isend_global" [GLOBAL] [];
    IsendNpn "MPIX_Isend_npn" [NO_PROC_NULL] [];
    IsendNoreq "MPIX_Isend_noreq" [NO_REQUEST] [];
    IsendNomatch "MPIX_Isend_nomatch" [NO_MATCH] [];
    IsendAllOpts "MPIX_Isend_all_opts" [GLOBAL NO_PROC_NULL NO_REQUEST NO_MATCH] [];
    SendGlobal "MPIX_Send_global" [GLOBAL] [];
    SendNpn "MPIX_Send_npn" [NO_PROC_NULL] [];
    SendNomatch "MPIX_Send_nomatch" [NO_MATCH] [];
    SendAllOpts "MPIX_Send_all_opts" [GLOBAL NO_PROC_NULL NO_MATCH] [];
    IrecvGlobal "MPIX_Irecv_global" [GLOBAL] [];
    IrecvNpn "MPIX_Irecv_npn" [NO_PROC_NULL] [];
    IrecvNoreq "MPIX_Irecv_noreq" [NO_REQUEST] [];
    IrecvNomatch "MPIX_Irecv_nomatch" [NO_MATCH] [];
    IrecvAllOpts "MPIX_Irecv_all_opts" [GLOBAL NO_PROC_NULL NO_REQUEST NO_MATCH] [];
    PutGlobal "MPIX_Put_global" [GLOBAL] [];
    PutNpn "MPIX_Put_npn" [NO_PROC_NULL] [];
    PutVirtualAddr "MPIX_Put_virtual_addr" [] [AT_ADDRESS];
    PutAllOpts "MPIX_Put_all_opts" [GLOBAL NO_PROC_NULL] [AT_ADDRESS];
    GetGlobal "MPIX_Get_global" [GLOBAL] [];
    GetNpn "MPIX_Get_npn" [NO_PROC_NULL] [];
    GetVirtualAddr "MPIX_Get_virtual_addr" [] [AT_ADDRESS];
    GetAllOpts "MPIX_Get_all_opts" [GLOBAL NO_PROC_NULL] [AT_ADDRESS];
}
