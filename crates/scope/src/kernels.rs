// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops that are measured: copies by several instructions, and passes over memory.
//!
//! # Safety
//! Each function reads and writes exactly the bytes that its `# Safety` section names. [`keep`] stops the compiler from removing
//! a loop whose result nobody needs.

use std::arch::asm;

/// How bytes are copied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Copy {
    /// The C library's function.
    Memcpy,
    /// The processor's instruction for strings of bytes.
    Movsb,
    /// Loads and stores of 32 bytes.
    Avx2,
    /// Loads and stores of 64 bytes.
    Avx512,
    /// Loads, and stores of 32 bytes that go past the caches.
    NonTemporal,
}

impl Copy {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [
        Self::Memcpy,
        Self::Movsb,
        Self::Avx2,
        Self::Avx512,
        Self::NonTemporal,
    ];

    /// Its name in entries.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Memcpy => "memcpy",
            Self::Movsb => "movsb",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::NonTemporal => "nt",
        }
    }

    /// Why this processor cannot do it; none if it can.
    pub(crate) fn obstacle(self) -> Option<&'static str> {
        #[cfg(target_arch = "x86_64")]
        {
            let has = match self {
                Self::Memcpy | Self::Movsb => true,
                Self::Avx2 | Self::NonTemporal => is_x86_feature_detected!("avx2"),
                Self::Avx512 => is_x86_feature_detected!("avx512f"),
            };
            (!has).then_some("the processor lacks the instructions")
        }
        #[cfg(not(target_arch = "x86_64"))]
        (self != Self::Memcpy).then_some("the instructions are those of x86-64")
    }

    /// Copies bytes.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `bytes` bytes, both do not overlap, and [`Self::obstacle`] gives none.
    #[inline]
    pub(crate) unsafe fn run(self, to: *mut u8, from: *const u8, bytes: usize) {
        match self {
            // SAFETY: the caller's promise.
            Self::Memcpy => unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller's promise; the direction flag is clear in every function.
            Self::Movsb => unsafe {
                asm!("rep movsb", inout("rcx") bytes => _, inout("rdi") to => _, inout("rsi") from => _,
                    options(nostack, preserves_flags));
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller's promise.
            Self::Avx2 => unsafe { x86::avx2::<false>(to, from, bytes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller's promise.
            Self::Avx512 => unsafe { x86::avx512(to, from, bytes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller's promise.
            Self::NonTemporal => unsafe { x86::avx2::<true>(to, from, bytes) },
            #[cfg(not(target_arch = "x86_64"))]
            // SAFETY: the caller's promise.
            _ => unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) },
        }
        keep(to as usize as u64);
    }
}

/// Makes a value needed, and all memory.
#[inline]
pub(crate) fn keep(value: u64) {
    // SAFETY: no instruction; the compiler must have the value in a register and all stores before it done.
    unsafe { asm!("/* {0} */", in(reg) value, options(nostack, preserves_flags)) };
}

/// The same value, of which the compiler knows nothing.
#[inline]
pub(crate) fn opaque(mut value: u64) -> u64 {
    // SAFETY: no instruction; the compiler must have the value in a register and take what is there afterwards.
    unsafe { asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Throws the lines of a range out of all caches; nothing where the processor has no instruction for it.
///
/// # Safety
/// The range is readable.
pub(crate) unsafe fn flush(start: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        for offset in (0..bytes.next_multiple_of(64)).step_by(64) {
            // SAFETY: the line of a byte of the caller's range, or the last one's.
            unsafe { std::arch::x86_64::_mm_clflush(start.add(offset.min(bytes - 1))) };
        }
        // SAFETY: every x86-64 processor has it.
        unsafe { std::arch::x86_64::_mm_mfence() };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, bytes);
}

/// Whether [`flush`] does something.
pub(crate) const CAN_FLUSH: bool = cfg!(target_arch = "x86_64");

/// The sum of the words of a range.
///
/// # Safety
/// The range is readable and begins at a multiple of 8.
#[inline(never)]
pub(crate) unsafe fn read(start: *const u8, bytes: usize) -> u64 {
    // SAFETY: the caller's promise; any bytes are words.
    let words = unsafe { std::slice::from_raw_parts(start.cast::<u64>(), bytes / 8) };
    let sum = words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
    keep(sum);
    sum
}

/// Fills a range with a byte.
///
/// # Safety
/// The range is writable.
#[inline(never)]
pub(crate) unsafe fn write(start: *mut u8, bytes: usize, value: u8) {
    // SAFETY: the caller's promise.
    unsafe { start.write_bytes(value, bytes) };
    keep(start as usize as u64);
}

/// `a[i] = b[i] + 3 c[i]` for numbers of 8 bytes.
///
/// # Safety
/// `to` is writable, and `first` and `second` are readable, for `bytes` bytes; all begin at a multiple of 8, and do not overlap.
#[inline(never)]
pub(crate) unsafe fn triad(to: *mut u8, first: *const u8, second: *const u8, bytes: usize) {
    let count = bytes / 8;
    // SAFETY: the caller's promise; any bytes are numbers.
    let (to, first, second) = unsafe {
        (
            std::slice::from_raw_parts_mut(to.cast::<f64>(), count),
            std::slice::from_raw_parts(first.cast::<f64>(), count),
            std::slice::from_raw_parts(second.cast::<f64>(), count),
        )
    };
    for ((to, first), second) in to.iter_mut().zip(first).zip(second) {
        *to = *first + 3.0 * *second;
    }
    keep(to.as_ptr() as usize as u64);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm_sfence, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_stream_si256,
        _mm512_loadu_si512, _mm512_storeu_si512,
    };

    /// Copies with registers of 32 bytes; `PAST` with stores past the caches, where the target is aligned to them.
    ///
    /// # Safety
    /// As [`super::Copy::run`].
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn avx2<const PAST: bool>(to: *mut u8, from: *const u8, bytes: usize) {
        const WIDTH: usize = size_of::<__m256i>();
        let is_aligned = to.addr().is_multiple_of(WIDTH);
        let whole = bytes / WIDTH * WIDTH;
        for offset in (0..whole).step_by(WIDTH) {
            // SAFETY: inside the caller's ranges; streams only where the target is aligned.
            unsafe {
                let value = _mm256_loadu_si256(from.add(offset).cast());
                if PAST && is_aligned {
                    _mm256_stream_si256(to.add(offset).cast(), value);
                } else {
                    _mm256_storeu_si256(to.add(offset).cast(), value);
                }
            }
        }
        // SAFETY: what is left of the caller's ranges.
        unsafe { std::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), bytes - whole) };
        if PAST {
            _mm_sfence();
        }
    }

    /// Copies with registers of 64 bytes.
    ///
    /// # Safety
    /// As [`super::Copy::run`].
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512(to: *mut u8, from: *const u8, bytes: usize) {
        const WIDTH: usize = 64;
        let whole = bytes / WIDTH * WIDTH;
        for offset in (0..whole).step_by(WIDTH) {
            // SAFETY: inside the caller's ranges.
            unsafe {
                let value = _mm512_loadu_si512(from.add(offset).cast());
                _mm512_storeu_si512(to.add(offset).cast(), value);
            }
        }
        // SAFETY: what is left of the caller's ranges.
        unsafe { std::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), bytes - whole) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_copy_copies_every_byte() {
        let from: Vec<u8> = (0..4096u32)
            .map(|index| (index * 7 + index / 256) as u8)
            .collect();
        for copy in Copy::ALL
            .into_iter()
            .filter(|copy| copy.obstacle().is_none())
        {
            for (start, bytes) in [(0, 0), (0, 1), (1, 63), (0, 64), (3, 1000), (0, 4000)] {
                let mut to = vec![0u8; 4096];
                // SAFETY: both vectors are longer.
                unsafe { copy.run(to.as_mut_ptr().add(start), from.as_ptr().add(start), bytes) };
                assert_eq!(
                    to[start..start + bytes],
                    from[start..start + bytes],
                    "{copy:?}"
                );
                assert!(
                    to[start + bytes..].iter().all(|&byte| byte == 0),
                    "{copy:?} {bytes}"
                );
            }
        }
    }

    #[test]
    fn passes_read_and_write_what_they_say() {
        let (ones, twos) = (vec![1.0f64; 64], vec![2.0f64; 64]);
        let mut to = vec![0.0f64; 64];
        // SAFETY: vectors of numbers of as many bytes.
        unsafe {
            triad(
                to.as_mut_ptr().cast(),
                ones.as_ptr().cast(),
                twos.as_ptr().cast(),
                512,
            );
            assert!(to.iter().all(|&value| value == 7.0));
            write(to.as_mut_ptr().cast(), 512, 1);
            assert_eq!(
                read(to.as_ptr().cast(), 512),
                0x0101_0101_0101_0101_u64.wrapping_mul(64)
            );
            flush(to.as_ptr().cast(), 512);
        }
        assert_eq!(to[63].to_bits(), 0x0101_0101_0101_0101);
    }

    /// Bytes of a counted pass.
    const BYTES: usize = 1 << 16;
    /// The widest load or store that valgrind knows.
    const WIDEST: u64 = 32;
    /// Tells [`counted`] what to run and how often.
    const KERNEL: &str = "RANKPOINT_TEST_KERNEL";
    const PASSES: &str = "RANKPOINT_TEST_PASSES";

    /// What [`loops_read_and_write_all_bytes`] runs under callgrind; nothing without its settings.
    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test starts itself with what it is to do"
    )]
    fn counted() {
        let (Ok(kernel), Ok(passes)) = (std::env::var(KERNEL), std::env::var(PASSES)) else {
            return;
        };
        let (one, two) = (vec![1u64; BYTES / 8], vec![2u64; BYTES / 8]);
        let mut to = vec![0u64; BYTES / 8];
        let (to, one, two) = (
            to.as_mut_ptr().cast(),
            one.as_ptr().cast(),
            two.as_ptr().cast(),
        );
        for _ in 0..passes.parse::<u32>().expect("a number of passes") {
            // SAFETY: vectors of words of as many bytes; copies that this processor lacks are not asked for.
            unsafe {
                match kernel.as_str() {
                    "read" => _ = read(one, BYTES),
                    "write" => write(to, BYTES, 3),
                    "triad" => triad(to, one, two, BYTES),
                    name => {
                        let copy = Copy::ALL.into_iter().find(|copy| copy.name() == name);
                        copy.expect("the name of a copy").run(to, one, BYTES);
                    }
                }
            }
        }
    }

    /// The loads and stores of so many passes, counted by callgrind; none where valgrind is not installed.
    fn loads_and_stores(kernel: &str, passes: &str) -> Option<(u64, u64)> {
        let file = std::env::temp_dir().join(format!(
            "rankpoint-loads-{}-{kernel}-{passes}",
            std::process::id()
        ));
        let run = std::process::Command::new("valgrind")
            .args(["--tool=callgrind", "--cache-sim=yes", "-q"])
            .arg(format!("--callgrind-out-file={}", file.display()))
            .arg(std::env::current_exe().expect("this program has a path"))
            .args(["--exact", "kernels::tests::counted", "--test-threads=1"])
            .envs([(KERNEL, kernel), (PASSES, passes)])
            .output();
        let output = match run {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            run => run.expect("valgrind starts"),
        };
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{kernel}: {told}");
        let text = std::fs::read_to_string(&file).expect("callgrind wrote its counts");
        std::fs::remove_file(&file).expect("its file can be removed");
        let line = |start| (text.lines().find_map(|line| line.strip_prefix(start))).expect(start);
        let column = line("events: ").split(' ').position(|name| name == "Dr");
        // Writes stand beside reads.
        let mut sums = line("summary: ").split(' ').skip(column.expect("Dr"));
        let mut next = || {
            sums.next()
                .and_then(|sum| sum.parse().ok())
                .expect("a count")
        };
        Some((next(), next()))
    }

    #[test]
    fn loops_read_and_write_all_bytes() {
        let passes = 32;
        let words = passes * BYTES as u64 / WIDEST;
        let copies = Copy::ALL
            .into_iter()
            .filter(|copy| copy.obstacle().is_none());
        // Valgrind knows no AVX-512.
        let copies = copies.filter(|copy| *copy != Copy::Avx512);
        let copies = copies.map(|copy| (copy.name(), words, words));
        let others = [
            ("read", words, 0),
            ("write", 0, words),
            ("triad", 2 * words, words),
        ];
        for (kernel, loads, stores) in copies.chain(others) {
            let Some(without) = loads_and_stores(kernel, "0") else {
                eprintln!("skipped: valgrind is not installed");
                return;
            };
            let with = loads_and_stores(kernel, &passes.to_string()).expect("valgrind is there");
            // The harness of the tests takes a few more or less each time.
            let counted = (
                with.0.saturating_sub(without.0),
                with.1.saturating_sub(without.1),
            );
            assert!(
                counted.0 >= loads && counted.1 >= stores,
                "{kernel}: {counted:?} loads and stores in {passes} passes, expected {loads} and {stores} or more"
            );
        }
    }
}
