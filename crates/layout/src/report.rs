// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which loops would copy a layout's bytes, for tools that explain or predict it.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use crate::dense;
use crate::form::Nest;
use crate::layout::Layout;
use crate::offsets::Part;
use crate::walk::{Row, Sink};

/// A loop that packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// One run, copied at once.
    Copy,
    /// Rows of runs, each a few loads and stores.
    Rows,
    /// Short runs at small distances, in rows or records: a line of memory at a time is compressed (AVX-512).
    Lines,
    /// Rows that lie inside each other, in squares.
    Squares,
    /// Runs at a list of offsets.
    List,
    /// A few different runs, repeated.
    Records,
}

/// How much of a layout one loop packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelUse {
    /// The loop.
    pub kernel: Kernel,
    /// Bytes of each run; of all runs of one record.
    pub width: usize,
    /// Bytes from one run to the next inside a row, 0 where they are irregular.
    pub distance: i64,
    /// Times that it is entered.
    pub calls: usize,
    /// Runs in all.
    pub runs: usize,
    /// Bytes in all.
    pub bytes: usize,
}

impl Layout {
    /// The loops by which [`Layout::pack`] would pack the bytes `range` on this processor, in the order of their first use.
    pub fn kernels(&self, range: Range<usize>) -> Vec<KernelUse> {
        let mut report = Report(Vec::new());
        self.walk(range, &mut report);
        report.0
    }
}

struct Report(Vec<KernelUse>);

impl Report {
    fn add(&mut self, kernel: Kernel, width: usize, distance: i64, runs: usize, bytes: usize) {
        let is_same =
            |it: &&mut KernelUse| (it.kernel, it.width, it.distance) == (kernel, width, distance);
        if let Some(known) = self.0.iter_mut().find(is_same) {
            known.calls += 1;
            known.runs += runs;
            known.bytes += bytes;
        } else {
            self.0.push(KernelUse {
                kernel,
                width,
                distance,
                calls: 1,
                runs,
                bytes,
            });
        }
    }

    fn add_rows(&mut self, kernel: Kernel, row: Row, rows: usize) {
        let runs = row.count * rows;
        self.add(kernel, row.bytes, row.stride, runs, runs * row.bytes);
    }
}

fn row_kernel(row: Row) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if dense::fits_row(row.bytes, row.stride, row.count) {
        return Kernel::Lines;
    }
    if row.count == 1 {
        Kernel::Copy
    } else {
        Kernel::Rows
    }
}

impl Sink for Report {
    fn row(&mut self, row: Row) {
        self.add_rows(row_kernel(row), row, 1);
    }

    fn list(&mut self, at: i64, runs: Part<'_>, bytes: usize) {
        self.lists(at, runs, bytes, 1, 0);
    }

    fn lists(&mut self, _: i64, list: Part<'_>, bytes: usize, count: usize, _: i64) {
        let runs = list.len() * count;
        self.add(Kernel::List, bytes, 0, runs, runs * bytes);
    }

    fn records(&mut self, _: i64, nests: &[Nest], count: usize, stride: i64) {
        let width = nests.iter().map(Nest::bytes).sum();
        let runs = nests.len() * count;
        #[cfg(target_arch = "x86_64")]
        if dense::fits_records(nests, stride, count) {
            return self.add(Kernel::Lines, width, stride, runs, width * count);
        }
        self.add(Kernel::Records, width, stride, runs, width * count);
    }

    fn grid(&mut self, first: Row, rows: usize, _: i64) {
        let kernel = match row_kernel(first) {
            Kernel::Copy => Kernel::Rows,
            kernel => kernel,
        };
        self.add_rows(kernel, first, rows);
    }

    fn tile(&mut self, first: Row, rows: usize, _: i64) {
        self.add_rows(Kernel::Squares, first, rows);
    }
}
