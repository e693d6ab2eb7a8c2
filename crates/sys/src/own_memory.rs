// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a process has without asking for it: the program's code and data, the heap below the program break, and the stacks of its
//! threads. No driver of a device puts memory there.

use std::cell::Cell;
use std::ffi::c_void;
use std::fs;
use std::ops::Range;
use std::sync::OnceLock;

use crate::cma;

/// Whether an address lies in the program, in the heap below the break, or in the used part of the calling thread's stack.
pub fn is_own(address: usize) -> bool {
    static FIXED: OnceLock<Fixed> = OnceLock::new();
    let fixed = FIXED.get_or_init(Fixed::find);
    fixed.program.contains(&address)
        || (address >= fixed.heap_start && address < program_break())
        || is_on_stack(address)
}

/// Whether the processor reads a byte of this process. Where the kernel does not say it, it does.
pub fn is_readable(address: usize) -> bool {
    let (mut byte, pid) = (0u8, std::process::id());
    let byte = &raw mut byte;
    // SAFETY: one byte is writable; an address that is none is the kernel's to refuse.
    let read = unsafe {
        cma::read(
            cma::Remote {
                pid,
                address: address as u64,
            },
            byte,
            1,
        )
    };
    !read.is_err_and(|error| cma::is_fault(&error))
}

/// What does not change while a process lives.
struct Fixed {
    program: Range<usize>,
    /// Where the heap begins; the end of the address space where the kernel does not say it.
    heap_start: usize,
}

impl Fixed {
    fn find() -> Self {
        let heap_start = fs::read_to_string("/proc/self/stat")
            .ok()
            .and_then(|text| start_of_heap(&text));
        Self {
            program: program(),
            heap_start: heap_start.unwrap_or(usize::MAX),
        }
    }
}

/// The initial program break in /proc/self/stat (proc_pid_stat(5): field 47, of which the first two end with the last parenthesis).
fn start_of_heap(stat: &str) -> Option<usize> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let start = after_name.split_whitespace().nth(47 - 3)?.parse().ok()?;
    (start > 0).then_some(start)
}

fn program_break() -> usize {
    // SAFETY: moves the break by nothing.
    unsafe { libc::sbrk(0) }.addr()
}

/// From the first segment of the program to the end of the last one.
fn program() -> Range<usize> {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        range: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: the loader describes an object with so many headers, and `range` is the one below.
        unsafe {
            let (base, count) = ((*info).dlpi_addr as usize, (*info).dlpi_phnum as usize);
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, count);
            let loaded = headers
                .iter()
                .filter(|header| header.p_type == libc::PT_LOAD);
            let ends = loaded.map(|header| {
                let start = base.wrapping_add(header.p_vaddr as usize);
                (start, start.wrapping_add(header.p_memsz as usize))
            });
            *range.cast::<Range<usize>>() = ends
                .reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
                .map_or(0..0, |(start, end)| start..end);
        }
        // The program comes first.
        1
    }
    let mut range = 0..0usize;
    // SAFETY: the function stores a range where `range` is, and calls nothing else.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut range).cast()) };
    range
}

/// Whether an address lies between the caller's frame and the end of the thread's stack. A thread that runs on another stack, as user-level
/// threads do, has none that is known.
fn is_on_stack(address: usize) -> bool {
    thread_local! {
        static STACK: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
    }
    let (low, end) = STACK.get().unwrap_or_else(|| {
        let found = stack().unwrap_or((0, 0));
        STACK.set(Some(found));
        found
    });
    let here = (&raw const low).addr();
    here >= low && here <= address && address < end
}

/// The calling thread's stack: its lowest address, and its end. That of the main thread may grow below.
fn stack() -> Option<(usize, usize)> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut low, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: the first call fills the attributes, of which the second reads two values and the third frees what belongs to them.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let code = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut low, &raw mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (code == 0).then(|| (low.addr(), low.addr() + bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static DATA: u64 = 5;

    #[test]
    fn own_memory_is_known() {
        let (local, on_heap) = (1u8, Box::new([0u8; 24]));
        assert!(is_own((&raw const local).addr()));
        assert!(is_own((&raw const DATA).addr()));
        let mapped = vec![0u8; 64 << 20];
        assert!(!is_own(mapped.as_ptr().addr() + (32 << 20)));
        assert!(!is_own(0) && !is_own(usize::MAX));
        let main_arena = program_break() - 1;
        assert!(is_own(main_arena));
        drop(on_heap);
        std::thread::scope(|scope| {
            let outer = (&raw const local).addr();
            scope.spawn(move || {
                let inner = 2u8;
                assert!(is_own((&raw const inner).addr()));
                assert!(!is_own(outer), "another thread's stack");
            });
        });
    }

    #[test]
    fn readable_memory_is_known() {
        let here = 1u8;
        assert!(is_readable((&raw const here).addr()));
        assert!(!is_readable(0) && !is_readable(usize::MAX - 4095));
    }

    #[test]
    fn the_start_of_the_heap_is_read_behind_the_name() {
        let text = format!("1 (a) b) c) R{} 77 78", " 0".repeat(43));
        assert_eq!(start_of_heap(&text), Some(77));
        assert_eq!(start_of_heap("1 (x) R 0"), None);
    }
}
