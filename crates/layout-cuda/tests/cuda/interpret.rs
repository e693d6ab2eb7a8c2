// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of the kernels, run by an interpreter on memory that knows its bounds.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

use cuda_double::{Memory, Module};
use layout::Layout;
use layout_cuda::{Addresses, Direction, KernelName, Launch, Plan, Tuning, module_text};

use crate::layouts::{Numbers, packed, pattern, unpack};

fn module() -> &'static Module {
    static MODULE: OnceLock<Module> = OnceLock::new();
    MODULE.get_or_init(|| Module::parse(&module_text()).expect("the text is understood"))
}

/// Bytes at an address, and how often each was written.
struct Region {
    address: u64,
    bytes: Vec<u8>,
    written: Vec<u8>,
    is_target: bool,
}

impl Region {
    fn new(address: u64, bytes: Vec<u8>, is_target: bool) -> Self {
        let written = vec![0; bytes.len()];
        Self {
            address,
            bytes,
            written,
            is_target,
        }
    }
}

struct Regions(Vec<Region>);

impl Regions {
    fn find(&mut self, address: u64, bytes: usize) -> Result<(&mut Region, usize), String> {
        for region in &mut self.0 {
            let at = address.wrapping_sub(region.address) as usize;
            if at < region.bytes.len() && at + bytes <= region.bytes.len() {
                return Ok((region, at));
            }
        }
        Err(format!("{bytes} bytes at {address:#x} are out of bounds"))
    }
}

impl Memory for Regions {
    fn load(&mut self, address: u64, bytes: usize) -> Result<u128, String> {
        let (region, at) = self.find(address, bytes)?;
        let mut value = [0; 16];
        value[..bytes].copy_from_slice(&region.bytes[at..at + bytes]);
        Ok(u128::from_le_bytes(value))
    }

    fn store(&mut self, address: u64, bytes: usize, value: u128) -> Result<(), String> {
        let (region, at) = self.find(address, bytes)?;
        if !region.is_target {
            return Err(format!("{address:#x} must not be written"));
        }
        region.bytes[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        for count in &mut region.written[at..at + bytes] {
            *count += 1;
        }
        Ok(())
    }
}

const TABLE: u64 = 0x7000_0000;
const LAID_OUT: u64 = 0x1_0000_0000;
const PACKED: u64 = 0x2_0000_0000;

#[expect(clippy::panic, reason = "a failure fails the test")]
fn run(launch: &Launch, regions: &mut Regions) {
    let name = launch.kernel.to_string();
    let kernel = module()
        .kernel(&name)
        .expect("each kernel is in the module");
    kernel
        .run(launch.blocks, Launch::THREADS, launch.params(), regions)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Compares both ways with the processor's kernels; the kernels that ran and their number.
fn compare(
    layout: &Layout,
    range: Range<usize>,
    tuning: Tuning,
    shifts: (u64, u64),
    seen: &mut HashSet<String>,
) -> usize {
    let elements = range.end.div_ceil(layout.size().max(1)).max(1);
    let (low, span) = layout.span(elements).expect("a small layout");
    let memory: Vec<u8> = (0..span).map(pattern).collect();
    let plan = Plan::new(layout, tuning).expect("few runs");
    let table: Vec<u8> = plan
        .table()
        .iter()
        .flat_map(|entry| entry.to_le_bytes())
        .collect();
    let table = || Region::new(TABLE, table.clone(), false);
    let (laid_out, packed_at) = (LAID_OUT + shifts.0, PACKED + shifts.1);
    let at = Addresses {
        base: laid_out.wrapping_add_signed(-low),
        packed: packed_at,
        table: TABLE,
    };
    let mut launches = 0;
    let expected = packed(layout, &memory, -low, range.clone());
    let mut regions = Regions(vec![
        table(),
        Region::new(laid_out, memory.clone(), false),
        Region::new(packed_at, vec![0; range.len()], true),
    ]);
    plan.launches(Direction::Pack, range.clone(), at, |launch| {
        launches += 1;
        seen.insert(launch.kernel.to_string());
        run(launch, &mut regions);
    });
    let target = regions.0.remove(2);
    assert_eq!(target.bytes, expected, "{layout:?} {range:?}");
    assert!(
        target.written.iter().all(|&count| count == 1),
        "{layout:?} {range:?}"
    );

    let mut wanted = vec![0xee; span];
    unpack(layout, &mut wanted, -low, range.clone(), &expected);
    let mut regions = Regions(vec![
        table(),
        Region::new(packed_at, expected, false),
        Region::new(laid_out, vec![0xee; span], true),
    ]);
    plan.launches(Direction::Unpack, range.clone(), at, |launch| {
        seen.insert(launch.kernel.to_string());
        run(launch, &mut regions);
    });
    let target = regions.0.remove(2);
    assert_eq!(target.bytes, wanted, "{layout:?} {range:?}");
    let written: usize = target.written.iter().map(|&count| usize::from(count)).sum();
    assert_eq!(written, range.len(), "{layout:?} {range:?}");
    launches
}

/// Limits that small layouts reach.
fn tunings() -> Vec<Tuning> {
    let usual = Tuning::default();
    let tight = |launch_words| Tuning {
        launch_words,
        split_bytes: 40,
        blocks: 1,
    };
    vec![usual, tight(1), tight(3), tight(16), tight(1 << 20)]
}

#[test]
fn kernels_agree_with_the_processors() {
    let mut numbers = Numbers::new(3);
    let (mut seen, mut launches, mut bytes) = (HashSet::new(), 0, 0);
    for round in 0..1500 {
        let layout = numbers.layout();
        let elements = 1 + numbers.below(3);
        let range = numbers.range(layout.size() * elements);
        let tuning = tunings()[round % 5];
        let shifts = match round % 3 {
            0 => (0, 0),
            1 => (8 * numbers.below(3) as u64, 4 * numbers.below(3) as u64),
            _ => (numbers.below(16) as u64, numbers.below(16) as u64),
        };
        bytes += range.len();
        launches += compare(&layout, range, tuning, shifts, &mut seen);
    }
    println!("{launches} launches each way, {bytes} bytes");
    let names: HashSet<String> = KernelName::all().map(|kernel| kernel.to_string()).collect();
    assert_eq!(seen, names, "every kernel has run");
}

#[test]
fn modules_hold_all_kernels_and_nothing_else() {
    let mut names: Vec<&str> = module().names().collect();
    names.sort_unstable();
    let mut all: Vec<String> = KernelName::all().map(|kernel| kernel.to_string()).collect();
    all.sort_unstable();
    assert_eq!(names, all);
    assert_eq!(all.len(), 60);
}

/// Launches of huge layouts, which no memory holds: each byte of the range is in one of them.
#[test]
fn huge_ranges_are_cut_where_kernels_cannot_count() {
    let double = Layout::named(8, 8);
    let row = Layout::vector(1 << 20, 1, 2, &double).expect("2^23 bytes");
    let plane = Layout::repeated(1 << 20, 1 << 25, &row).expect("2^43 bytes");
    let run = Layout::contiguous(1 << 40, &double).expect("2^43 bytes");
    for layout in [row, plane, run] {
        let plan = Plan::new(&layout, Tuning::default()).expect("no table");
        let range = 24..(1 << 43) - 16;
        let at = Addresses {
            base: 0,
            packed: 1 << 60,
            table: 0,
        };
        let mut words = 0u64;
        let mut most = 0;
        plan.launches(Direction::Pack, range.clone(), at, |launch| {
            let field = |at: usize| {
                let bytes = launch.params()[at..at + 4].try_into().expect("four bytes");
                u32::from_le_bytes(bytes)
            };
            let (first, count) = (u64::from(field(40)), u64::from(field(44)));
            assert!(first + count <= 1 << 31);
            words += count * u64::from(launch.kernel.word);
            most = most.max(count);
        });
        assert_eq!(words, range.len() as u64);
        assert!(most > 1 << 29, "launches are as long as they can be");
    }
}
