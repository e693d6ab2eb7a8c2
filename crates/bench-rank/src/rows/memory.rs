// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that is resident after initialisation, as the kernel counts it.

use crate::mpi::Mpi;
use crate::options::RankOptions;
use crate::output::report;

/// Where the kernel sums up a process's mappings (proc(5)).
const ROLLUP: &str = "/proc/self/smaps_rollup";
const TAG: i32 = 4;

/// Reports the largest private memory of a rank and the shared memory of all ranks.
///
/// A shared page counts to each of its users by its share, so the sum over the ranks counts it once.
pub(crate) fn measure(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    mpi.barrier();
    let text = std::fs::read_to_string(ROLLUP)
        .map_err(|error| format!("cannot read {ROLLUP}: {error}"))?;
    let private = field(&text, "Private_Clean:") + field(&text, "Private_Dirty:");
    let shared = field(&text, "Pss:").saturating_sub(private);
    // Nobody may leave, or talk and grow, before all have read.
    mpi.barrier();
    if mpi.rank != 0 {
        let mut message = [0_u8; 16];
        message[..8].copy_from_slice(&private.to_le_bytes());
        message[8..].copy_from_slice(&shared.to_le_bytes());
        mpi.send(&message, 0, TAG);
        return Ok(());
    }
    let (mut largest, mut sum) = (private, shared);
    for rank in 1..mpi.size {
        let mut message = [[0_u8; 8]; 2];
        mpi.receive(message.as_flattened_mut(), rank, TAG);
        largest = largest.max(u64::from_le_bytes(message[0]));
        sum += u64::from_le_bytes(message[1]);
    }
    report(mpi, options, "private-memory", 0, &[largest as f64])?;
    report(mpi, options, "shared-memory", 0, &[sum as f64])
}

/// Bytes that a line of the kernel's table gives in kB.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    #[test]
    fn kilobytes_become_bytes() {
        let text = "Rss:  12 kB\nPss:   7 kB\nPss_Dirty:  1 kB\n";
        assert_eq!(super::field(text, "Pss:"), 7168);
        assert_eq!(super::field(text, "Swap:"), 0);
    }
}
