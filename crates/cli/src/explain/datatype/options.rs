// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint explain type`.

use clap::Args;

/// Options of `rankpoint explain type`.
#[derive(Args)]
#[command(
    after_help = "Types: predefined ones (double, MPI_INT32_T), and constructors without `MPI_Type_create_`:\n  \
        contiguous(count, type)\n  \
        vector(count, blocklen, stride, type)\n  \
        hvector(count, blocklen, stride, type)\n  \
        indexed(blocklens, displs, type)\n  \
        hindexed(blocklens, displs, type)\n  \
        indexed_block(blocklen, displs, type)\n  \
        hindexed_block(blocklen, displs, type)\n  \
        struct(blocklens, displs, types)\n  \
        subarray(sizes, subsizes, starts, [order=c|fortran], type)\n  \
        darray(size, rank, gsizes, distribs, dargs, psizes, [order], type)\n  \
        resized(lb, extent, type)\n  \
        dup(type)\n\
        Arguments by position or by name, lists as [1,2,3], products as 262*8.\n\n\
        Example: rankpoint explain type 'vector(count=4,blocklen=2,stride=8,double)'"
)]
pub(crate) struct TypeOptions {
    /// The type, such as 'vector(count=4,blocklen=2,stride=8,double)'
    pub(super) expression: String,
    /// Tell whether this type is the same object
    #[arg(long, value_name = "EXPRESSION")]
    pub(super) same_as: Option<String>,
    /// Elements of a message
    #[arg(long, default_value_t = 1)]
    pub(super) elements: usize,
    /// Pack for a fifth of a second, and tell how fast that was
    #[arg(long)]
    pub(super) measure: bool,
}
