// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the threads of a grid, one after the other.

use crate::parse::{Address, Binary, Comparison, Instruction, Kernel, Operation, Source, Special};

/// The memory that a kernel works on. Accesses are aligned to their size; whether they are allowed is for the memory to say.
pub trait Memory {
    /// Reads `bytes` (1 to 16) bytes, the lowest first.
    ///
    /// # Errors
    /// When there is no such memory.
    fn load(&mut self, address: u64, bytes: usize) -> Result<u128, String>;

    /// Writes the lowest `bytes` bytes of a value.
    ///
    /// # Errors
    /// When there is no such memory, or it must not be written.
    fn store(&mut self, address: u64, bytes: usize, value: u128) -> Result<(), String>;

    /// Reads the clock of the processor, in cycles.
    ///
    /// # Errors
    /// When it has none.
    fn clock(&mut self) -> Result<u64, String> {
        Err("this processor has no clock".to_owned())
    }
}

/// Where the parameter seems to be.
const PARAM_BASE: u64 = 0x40;
/// Instructions of a thread after which it is believed to go on for ever.
const MAX_STEPS: usize = 10_000_000;

/// A thread of a grid.
#[derive(Clone, Copy)]
struct Place {
    thread: u32,
    threads: u32,
    block: u32,
    blocks: u32,
}

impl Kernel {
    /// Runs all threads of a grid of `blocks` blocks of `threads` threads.
    ///
    /// # Errors
    /// The first thing that a thread did wrong: the thread and the instruction.
    pub fn run(
        &self,
        blocks: u32,
        threads: u32,
        params: &[u8],
        memory: &mut impl Memory,
    ) -> Result<(), String> {
        let params = params
            .get(..self.param_bytes)
            .ok_or_else(|| format!("{} bytes of parameters", params.len()))?;
        let place = Place {
            thread: 0,
            threads,
            block: 0,
            blocks,
        };
        let mut run = Run {
            kernel: self,
            params,
            values: vec![None; self.registers.len()],
            place,
        };
        for block in 0..blocks {
            for thread in 0..threads {
                run.values.fill(None);
                run.place = Place {
                    thread,
                    block,
                    ..place
                };
                run.all(memory)
                    .map_err(|error| format!("thread {thread} of block {block}: {error}"))?;
            }
        }
        Ok(())
    }
}

struct Run<'k> {
    kernel: &'k Kernel,
    params: &'k [u8],
    /// The values of registers, once they are written.
    values: Vec<Option<u64>>,
    place: Place,
}

impl Run<'_> {
    fn all(&mut self, memory: &mut impl Memory) -> Result<(), String> {
        let mut at = 0;
        for _ in 0..MAX_STEPS {
            let Some(instruction) = self.kernel.code.get(at) else {
                return Err("it goes beyond its last instruction".to_owned());
            };
            at += 1;
            if let Some(guard) = instruction.guard
                && self.get(guard)? == 0
            {
                continue;
            }
            match instruction.operation {
                Operation::Return => return Ok(()),
                Operation::Branch(target) => at = target,
                _ => self
                    .step(instruction, memory)
                    .map_err(|reason| format!("`{}`: {reason}", instruction.line))?,
            }
        }
        Err("it does not end".to_owned())
    }

    fn step(&mut self, instruction: &Instruction, memory: &mut impl Memory) -> Result<(), String> {
        match &instruction.operation {
            Operation::Return | Operation::Branch(_) => {}
            Operation::LoadParam(target, bits, address) => {
                let value = self.load_param(self.address(address)?, *bits as usize / 8)?;
                self.set(*target, value);
            }
            Operation::Load(targets, bits, address) => {
                let bytes = *bits as usize / 8 * targets.len();
                let value = memory.load(self.aligned(address, bytes)?, bytes)?;
                for (index, &target) in targets.iter().enumerate() {
                    self.set(target, cut((value >> (64 * index)) as u64, *bits));
                }
            }
            Operation::Store(sources, bits, address) => {
                let bytes = *bits as usize / 8 * sources.len();
                let mut value = 0;
                for (index, &source) in sources.iter().enumerate() {
                    value |= u128::from(cut(self.get(source)?, *bits)) << (64 * index);
                }
                memory.store(self.aligned(address, bytes)?, bytes, value)?;
            }
            Operation::Move(target, Source::Special(Special::Clock)) => {
                let value = memory.clock()?;
                self.set(*target, value);
            }
            Operation::Move(target, source) => {
                let value = self.read(*source)?;
                self.set(*target, value);
            }
            Operation::Convert(bits, target, source) => {
                let value = cut(self.read(*source)?, *bits);
                self.set(*target, value);
            }
            Operation::Select(target, yes, no, choice) => {
                let (yes, no) = (self.read(*yes)?, self.read(*no)?);
                let value = if self.get(*choice)? == 0 { no } else { yes };
                self.set(*target, value);
            }
            _ => self.calculate(&instruction.operation)?,
        }
        Ok(())
    }

    fn calculate(&mut self, operation: &Operation) -> Result<(), String> {
        let (target, value) = match *operation {
            Operation::Binary(binary, bits, target, left, right) => {
                let (left, right) = (self.read(left)?, self.read(right)?);
                let value = match binary {
                    Binary::Add => left.wrapping_add(right),
                    Binary::Sub => left.wrapping_sub(right),
                    Binary::MulLow => left.wrapping_mul(right),
                    Binary::ShiftRight if right >= u64::from(bits) => 0,
                    Binary::ShiftRight => left >> right,
                };
                (target, cut(value, bits))
            }
            Operation::MulWide(target, left, right) => {
                (target, self.read(left)? * self.read(right)?)
            }
            Operation::MulAddWide(target, left, right, addend) => {
                let product = self.read(left)? * self.read(right)?;
                (target, product.wrapping_add(self.read(addend)?))
            }
            Operation::MulAddLow(bits, target, left, right, addend) => {
                let product = self.read(left)?.wrapping_mul(self.read(right)?);
                (target, cut(product.wrapping_add(self.read(addend)?), bits))
            }
            Operation::Compare(comparison, target, left, right) => {
                let (left, right) = (self.read(left)?, self.read(right)?);
                let holds = match comparison {
                    Comparison::Equal => left == right,
                    Comparison::GreaterEqual => left >= right,
                    Comparison::LessEqual => left <= right,
                    Comparison::Less => left < right,
                };
                (target, u64::from(holds))
            }
            _ => return Err("no calculation".to_owned()),
        };
        self.set(target, value);
        Ok(())
    }

    fn load_param(&self, address: u64, bytes: usize) -> Result<u64, String> {
        let start = address.wrapping_sub(PARAM_BASE) as usize;
        let end = start.saturating_add(bytes);
        if !start.is_multiple_of(bytes) {
            return Err(format!("parameter byte {start} is not aligned"));
        }
        let part = self.params.get(start..end);
        let part = part.ok_or_else(|| format!("parameter byte {start} is beyond the end"))?;
        Ok(part
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn aligned(&self, address: &Address, bytes: usize) -> Result<u64, String> {
        let address = self.address(address)?;
        if address.is_multiple_of(bytes as u64) {
            Ok(address)
        } else {
            Err(format!("address {address:#x} is not aligned to {bytes}"))
        }
    }

    fn address(&self, address: &Address) -> Result<u64, String> {
        Ok(self.read(address.base)?.wrapping_add(address.offset))
    }

    fn read(&self, source: Source) -> Result<u64, String> {
        let place = self.place;
        Ok(match source {
            Source::Register(register) => return self.get(register),
            Source::Number(number) => number,
            Source::Special(Special::Thread) => place.thread.into(),
            Source::Special(Special::Threads) => place.threads.into(),
            Source::Special(Special::Block) => place.block.into(),
            Source::Special(Special::Blocks) => place.blocks.into(),
            Source::Special(Special::Clock) => return Err("only moved".to_owned()),
            Source::Param => PARAM_BASE,
        })
    }

    fn get(&self, register: usize) -> Result<u64, String> {
        let name = &self.kernel.registers[register].name;
        self.values[register].ok_or_else(|| format!("register {name} was never written"))
    }

    fn set(&mut self, register: usize, value: u64) {
        self.values[register] = Some(value);
    }
}

const fn cut(value: u64, bits: u32) -> u64 {
    if bits < 64 {
        value & ((1 << bits) - 1)
    } else {
        value
    }
}
