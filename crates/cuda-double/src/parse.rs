// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX text to instructions. Whatever is not known here is an error that shows its line.

use std::collections::HashMap;

/// A module.
#[derive(Debug)]
pub struct Module {
    kernels: HashMap<String, Kernel>,
}

/// A kernel with one parameter that is an array of bytes, or none.
#[derive(Debug)]
pub struct Kernel {
    /// Bytes of its parameter.
    pub param_bytes: usize,
    pub(crate) param_name: String,
    pub(crate) registers: Vec<Register>,
    pub(crate) code: Vec<Instruction>,
}

#[derive(Debug)]
pub(crate) struct Register {
    pub(crate) name: String,
    /// 0 for predicates.
    pub(crate) bits: u32,
}

/// An instruction, with its line for messages.
#[derive(Debug)]
pub(crate) struct Instruction {
    /// Only if this register is true.
    pub(crate) guard: Option<usize>,
    pub(crate) operation: Operation,
    pub(crate) line: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    GreaterEqual,
    LessEqual,
    Less,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Binary {
    Add,
    Sub,
    MulLow,
    ShiftRight,
}

/// A value that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Register(usize),
    Number(u64),
    Special(Special),
    /// The address of the parameter.
    Param,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Special {
    Thread,
    Threads,
    Block,
    Blocks,
    /// Cycles, which go on with each reading.
    Clock,
}

/// A base and bytes behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) base: Source,
    pub(crate) offset: u64,
}

/// Targets are registers; numbers of bits are those of the operands.
#[derive(Debug)]
pub(crate) enum Operation {
    LoadParam(usize, u32, Address),
    /// One or two registers of so many bits.
    Load(Vec<usize>, u32, Address),
    Store(Vec<usize>, u32, Address),
    Move(usize, Source),
    Binary(Binary, u32, usize, Source, Source),
    /// 32-bit factors, 64-bit product and sum.
    MulWide(usize, Source, Source),
    MulAddWide(usize, Source, Source, Source),
    MulAddLow(u32, usize, Source, Source, Source),
    Compare(Comparison, usize, Source, Source),
    Select(usize, Source, Source, usize),
    /// To so many bits.
    Convert(u32, usize, Source),
    Branch(usize),
    Return,
}

impl Module {
    /// Parses a module.
    ///
    /// # Errors
    /// The first line that is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut kernels = HashMap::new();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut has = [false; 3];
        while let Some(line) = lines.next() {
            let directives = [".version ", ".target sm_", ".address_size 64"];
            if let Some(index) = directives.iter().position(|it| line.starts_with(it)) {
                has[index] = true;
            } else if let Some(head) = line.strip_prefix(".visible .entry ") {
                if has != [true; 3] {
                    return Err("a kernel before .version, .target and .address_size".to_owned());
                }
                let (name, kernel) = parse_kernel(head, &mut lines)?;
                if kernels.insert(name.clone(), kernel).is_some() {
                    return Err(format!("two kernels {name}"));
                }
            } else {
                return Err(format!("what is `{line}`?"));
            }
        }
        Ok(Self { kernels })
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.get(name)
    }

    /// The names of all kernels.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }
}

/// A kernel, from behind `.entry` to its closing brace.
fn parse_kernel<'t>(
    head: &str,
    lines: &mut impl Iterator<Item = &'t str>,
) -> Result<(String, Kernel), String> {
    let wrong = || format!("a kernel's head is not understood: `{head}`");
    let (name, rest) = head.split_once('(').ok_or_else(wrong)?;
    let (param_name, length) = if rest == ")" {
        ("", "0")
    } else {
        let param = rest.strip_prefix(".param .align 8 .b8 ");
        let (param_name, length) = param.and_then(|it| it.split_once('[')).ok_or_else(wrong)?;
        (param_name, length.strip_suffix("])").ok_or_else(wrong)?)
    };
    let mut parser = Parser {
        kernel: Kernel {
            param_bytes: length.parse().map_err(|_| wrong())?,
            param_name: param_name.to_owned(),
            registers: Vec::new(),
            code: Vec::new(),
        },
        by_name: HashMap::new(),
        labels: HashMap::new(),
        jumps: Vec::new(),
    };
    if lines.next() != Some("{") {
        return Err(wrong());
    }
    for line in lines {
        if line == "}" {
            return Ok((name.to_owned(), parser.finish()?));
        }
        parser
            .line(line)
            .map_err(|reason| format!("kernel {name}, `{line}`: {reason}"))?;
    }
    Err(format!("kernel {name} does not end"))
}

struct Parser {
    kernel: Kernel,
    by_name: HashMap<String, usize>,
    labels: HashMap<String, usize>,
    /// Branches and the labels they go to.
    jumps: Vec<(usize, String)>,
}

type Parsed<T> = Result<T, String>;

impl Parser {
    fn finish(mut self) -> Parsed<Kernel> {
        for (at, label) in self.jumps {
            let Some(&target) = self.labels.get(&label) else {
                return Err(format!("no label {label}"));
            };
            self.kernel.code[at].operation = Operation::Branch(target);
        }
        Ok(self.kernel)
    }

    fn line(&mut self, line: &str) -> Parsed<()> {
        if let Some(label) = line.strip_suffix(':') {
            let here = self.kernel.code.len();
            return match self.labels.insert(label.to_owned(), here) {
                None => Ok(()),
                Some(_) => Err("the label is there twice".to_owned()),
            };
        }
        let code = line.strip_suffix(';').ok_or("no semicolon")?;
        if let Some(declared) = code.strip_prefix(".reg ") {
            return self.declare(declared);
        }
        let (guard, code) = match code.strip_prefix('@') {
            Some(rest) => {
                let (register, code) = rest.split_once(' ').ok_or("no instruction")?;
                (Some(self.register(register, 0)?), code)
            }
            None => (None, code),
        };
        let (name, operands) = code.split_once(' ').unwrap_or((code, ""));
        let operation = self.operation(name, &split(operands))?;
        self.kernel.code.push(Instruction {
            guard,
            operation,
            line: line.to_owned(),
        });
        Ok(())
    }

    fn declare(&mut self, declared: &str) -> Parsed<()> {
        let (kind, names) = declared.split_once(' ').ok_or("no registers")?;
        let bits = match kind {
            ".pred" => 0,
            ".b32" => 32,
            ".b64" => 64,
            _ => return Err(format!("registers of kind {kind}")),
        };
        for name in names.split(", ") {
            let index = self.kernel.registers.len();
            let name = name.to_owned();
            if self.by_name.insert(name.clone(), index).is_some() {
                return Err(format!("two registers {name}"));
            }
            self.kernel.registers.push(Register { name, bits });
        }
        Ok(())
    }

    #[expect(clippy::too_many_lines, reason = "one line for each instruction")]
    fn operation(&mut self, name: &str, operands: &[&str]) -> Parsed<Operation> {
        let target = |bits| self.register(operands.first().copied().unwrap_or(""), bits);
        let source =
            |index: usize, bits| self.source(operands.get(index).copied().unwrap_or(""), bits);
        let binary = |binary, bits| {
            // The distance of a shift has 32 bits.
            let second = if matches!(binary, Binary::ShiftRight) {
                32
            } else {
                bits
            };
            Ok(Operation::Binary(
                binary,
                bits,
                target(bits)?,
                source(1, bits)?,
                source(2, second)?,
            ))
        };
        let compare = |comparison, bits| {
            let target = target(0)?;
            Ok(Operation::Compare(
                comparison,
                target,
                source(1, bits)?,
                source(2, bits)?,
            ))
        };
        let mul_add = |bits| {
            let target = target(bits)?;
            let addend = source(3, bits)?;
            Ok(Operation::MulAddLow(
                bits,
                target,
                source(1, bits)?,
                source(2, bits)?,
                addend,
            ))
        };
        match (name, operands.len()) {
            ("ld.param.u32", 2) => Ok(Operation::LoadParam(
                target(32)?,
                32,
                self.address(operands[1])?,
            )),
            ("ld.param.u64", 2) => Ok(Operation::LoadParam(
                target(64)?,
                64,
                self.address(operands[1])?,
            )),
            ("mov.u32", 2) => Ok(Operation::Move(target(32)?, source(1, 32)?)),
            ("mov.u64" | "cvta.to.global.u64", 2) => {
                Ok(Operation::Move(target(64)?, source(1, 64)?))
            }
            ("add.u32", 3) => binary(Binary::Add, 32),
            ("add.u64", 3) => binary(Binary::Add, 64),
            ("sub.u32", 3) => binary(Binary::Sub, 32),
            ("sub.u64", 3) => binary(Binary::Sub, 64),
            ("mul.lo.u32", 3) => binary(Binary::MulLow, 32),
            ("shr.u32", 3) => binary(Binary::ShiftRight, 32),
            ("shr.u64", 3) => binary(Binary::ShiftRight, 64),
            ("mul.wide.u32", 3) => Ok(Operation::MulWide(
                target(64)?,
                source(1, 32)?,
                source(2, 32)?,
            )),
            ("mad.wide.u32", 4) => {
                let addend = source(3, 64)?;
                Ok(Operation::MulAddWide(
                    target(64)?,
                    source(1, 32)?,
                    source(2, 32)?,
                    addend,
                ))
            }
            ("mad.lo.u32", 4) => mul_add(32),
            ("mad.lo.s64", 4) => mul_add(64),
            ("setp.eq.u32", 3) => compare(Comparison::Equal, 32),
            ("setp.ge.u32", 3) => compare(Comparison::GreaterEqual, 32),
            ("setp.le.u32", 3) => compare(Comparison::LessEqual, 32),
            ("setp.lt.u32", 3) => compare(Comparison::Less, 32),
            ("setp.lt.u64", 3) => compare(Comparison::Less, 64),
            ("setp.le.u64", 3) => compare(Comparison::LessEqual, 64),
            ("selp.b32", 4) => {
                let choice = self.register(operands[3], 0)?;
                Ok(Operation::Select(
                    target(32)?,
                    source(1, 32)?,
                    source(2, 32)?,
                    choice,
                ))
            }
            ("cvt.u32.u64", 2) => Ok(Operation::Convert(32, target(32)?, source(1, 64)?)),
            ("cvt.u64.u32", 2) => Ok(Operation::Convert(64, target(64)?, source(1, 32)?)),
            ("bra", 1) => {
                self.jumps
                    .push((self.kernel.code.len(), operands[0].to_owned()));
                Ok(Operation::Branch(usize::MAX))
            }
            ("ret", 0) => Ok(Operation::Return),
            (_, 2) => self.transfer(name, operands),
            _ => Err(format!(
                "instruction {name} with {} operands",
                operands.len()
            )),
        }
    }

    /// Loads and stores of global memory.
    fn transfer(&self, name: &str, operands: &[&str]) -> Parsed<Operation> {
        let unknown = || format!("instruction {name}");
        let (is_load, kind) = name
            .strip_prefix("ld.global.")
            .map(|kind| (true, kind))
            .or_else(|| name.strip_prefix("st.global.").map(|kind| (false, kind)))
            .ok_or_else(unknown)?;
        let (count, bits) = match kind {
            "u8" => (1, 8),
            "u16" => (1, 16),
            "u32" => (1, 32),
            "u64" => (1, 64),
            "v2.u64" => (2, 64),
            _ => return Err(unknown()),
        };
        let (values, address) = if is_load {
            (operands[0], operands[1])
        } else {
            (operands[1], operands[0])
        };
        let values = match (
            count,
            values.strip_prefix('{').and_then(|it| it.strip_suffix('}')),
        ) {
            (1, None) => vec![values],
            (2, Some(both)) => both.split(", ").collect(),
            _ => return Err(unknown()),
        };
        if values.len() != count {
            return Err(unknown());
        }
        let registers = values
            .into_iter()
            .map(|value| self.register(value, bits.max(32)))
            .collect::<Parsed<Vec<_>>>()?;
        let address = self.address(address)?;
        Ok(if is_load {
            Operation::Load(registers, bits, address)
        } else {
            Operation::Store(registers, bits, address)
        })
    }

    fn register(&self, name: &str, bits: u32) -> Parsed<usize> {
        let &index = self
            .by_name
            .get(name)
            .ok_or_else(|| format!("no register {name}"))?;
        let has = self.kernel.registers[index].bits;
        if has == bits {
            Ok(index)
        } else {
            Err(format!("register {name} has {has} bits, not {bits}"))
        }
    }

    fn source(&self, text: &str, bits: u32) -> Parsed<Source> {
        let special = match text {
            "%tid.x" => Some(Special::Thread),
            "%ntid.x" => Some(Special::Threads),
            "%ctaid.x" => Some(Special::Block),
            "%nctaid.x" => Some(Special::Blocks),
            _ => None,
        };
        if let Some(special) = special.filter(|_| bits == 32) {
            return Ok(Source::Special(special));
        }
        if text == "%clock64" && bits == 64 {
            return Ok(Source::Special(Special::Clock));
        }
        if !text.is_empty() && text == self.kernel.param_name && bits == 64 {
            return Ok(Source::Param);
        }
        if text.starts_with('%') {
            return self.register(text, bits).map(Source::Register);
        }
        text.parse()
            .map(Source::Number)
            .map_err(|_| format!("operand `{text}`"))
    }

    fn address(&self, text: &str) -> Parsed<Address> {
        let inside = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let inside = inside.ok_or_else(|| format!("address `{text}`"))?;
        let (base, offset) = inside.split_once('+').unwrap_or((inside, "0"));
        Ok(Address {
            base: self.source(base, 64)?,
            offset: offset.parse().map_err(|_| format!("address `{text}`"))?,
        })
    }
}

/// Operands, with those in braces together.
fn split(operands: &str) -> Vec<&str> {
    let mut depth = 0;
    operands
        .split(|letter: char| {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            letter == ',' && depth == 0
        })
        .map(str::trim)
        .filter(|operand| !operand.is_empty())
        .collect()
}
