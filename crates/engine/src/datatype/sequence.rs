// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sequence of basic types of a message (MPI-5.0, section 3.3.1).
//!
//! Used only where `RANKPOINT_CHECK=types` asks for it. A sequence is never written out: it is a tree of repetitions and
//! parts with their [`Signature`]s, so that the signature of a message, and of any beginning of one, follows from those of its
//! parts.
//!
//! A message's [`SentSignature`] travels right before it: hash, number of basic elements, and the sender's name of the type.

// account: datatype

use std::fmt;
use std::sync::Arc;

use super::Signature;

use crate::identity::PeerIndex;

/// The basic types of an element of a datatype.
#[derive(Debug)]
pub(crate) struct TypeSequence {
    signature: Signature,
    elements: u64,
    /// Whether it contains MPI_PACKED, which matches anything.
    is_opaque: bool,
    /// The name of the basic type, if there is only one.
    basic: Option<&'static str>,
    parts: Parts,
}

#[derive(Debug)]
enum Parts {
    Basic,
    Repeated(u64, Arc<TypeSequence>),
    Several(Vec<(u64, Arc<TypeSequence>)>),
}

impl TypeSequence {
    /// Of a basic type with this signature.
    pub(super) fn basic(signature: Signature, name: &'static str) -> Arc<Self> {
        Arc::new(Self {
            signature,
            elements: 1,
            is_opaque: signature == Signature::UNKNOWN,
            basic: Some(name),
            parts: Parts::Basic,
        })
    }

    /// `count` times the same.
    pub(super) fn repeated(count: u64, part: &Arc<Self>) -> Arc<Self> {
        if count == 1 {
            return part.clone();
        }
        let (count, part) = match &part.parts {
            Parts::Repeated(inner, part) => (count.saturating_mul(*inner), part),
            _ => (count, part),
        };
        Arc::new(Self {
            signature: part.signature.times(count),
            elements: part.elements.saturating_mul(count),
            is_opaque: part.is_opaque,
            basic: part.basic,
            parts: Parts::Repeated(count, part.clone()),
        })
    }

    /// One after the other; each so many times.
    pub(super) fn of_parts(parts: impl Iterator<Item = (u64, Arc<Self>)>) -> Arc<Self> {
        let parts: Vec<_> = parts
            .filter(|(count, part)| *count > 0 && part.elements > 0)
            .collect();
        if let [(count, part)] = &parts[..] {
            return Self::repeated(*count, part);
        }
        let mut all = Self {
            signature: Signature::EMPTY,
            elements: 0,
            is_opaque: false,
            basic: parts.first().and_then(|(_, part)| part.basic),
            parts: Parts::Basic,
        };
        for (count, part) in &parts {
            all.signature = all.signature.then(part.signature.times(*count));
            all.elements = all
                .elements
                .saturating_add(part.elements.saturating_mul(*count));
            all.is_opaque |= part.is_opaque;
            all.basic = all.basic.filter(|&name| part.basic == Some(name));
        }
        all.parts = Parts::Several(parts);
        Arc::new(all)
    }

    /// The name of the basic type, if there is only one.
    pub(super) const fn basic_name(&self) -> Option<&'static str> {
        self.basic
    }

    /// The signature of the first `elements` basic elements of this sequence repeated.
    fn beginning(&self, mut elements: u64) -> Signature {
        let (mut all, mut part) = (Signature::EMPTY, self);
        while elements > 0 && part.elements > 0 {
            all = all.then(part.signature.times(elements / part.elements));
            elements %= part.elements;
            match &part.parts {
                Parts::Basic => {}
                Parts::Repeated(_, inner) => part = inner,
                Parts::Several(parts) => {
                    for (count, inner) in parts {
                        let whole = inner.elements.saturating_mul(*count);
                        if elements < whole {
                            part = inner;
                            break;
                        }
                        all = all.then(inner.signature.times(*count));
                        elements -= whole;
                    }
                }
            }
        }
        all
    }
}

impl Drop for TypeSequence {
    /// Releases the parts iteratively: recursion over deeply nested structs would overflow the stack.
    fn drop(&mut self) {
        let take = |parts: &mut Parts| match std::mem::replace(parts, Parts::Basic) {
            Parts::Basic => Vec::new(),
            Parts::Repeated(_, part) => vec![part],
            Parts::Several(parts) => parts.into_iter().map(|(_, part)| part).collect(),
        };
        let mut parts = take(&mut self.parts);
        while let Some(part) = parts.pop() {
            if let Some(mut last) = Arc::into_inner(part) {
                parts.append(&mut take(&mut last.parts));
            }
        }
    }
}

/// A datatype's basic types and its name.
#[derive(Clone, Debug)]
pub struct NamedSignature {
    /// Of one element.
    pub(super) sequence: Arc<TypeSequence>,
    /// For error texts.
    pub(super) name: Arc<str>,
}

impl NamedSignature {
    /// The type's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One type after the other, each so many times, under a name.
    pub fn of_parts(name: &str, parts: impl Iterator<Item = (u64, Self)>) -> Self {
        Self {
            sequence: TypeSequence::of_parts(parts.map(|(count, part)| (count, part.sequence))),
            name: name.into(),
        }
    }
}

/// The elements of a send or a receive.
pub(crate) struct Types {
    typed: NamedSignature,
    count: u64,
    /// Whether the signature of the message that is being sent is on its way.
    pub(crate) is_announced: bool,
}

impl Types {
    pub(crate) fn new((typed, count): (&NamedSignature, usize)) -> Self {
        Self {
            typed: typed.clone(),
            count: count as u64,
            is_announced: false,
        }
    }

    /// The datatype and the number of its elements.
    pub(crate) fn parts(&self) -> (NamedSignature, usize) {
        (self.typed.clone(), self.count as usize)
    }

    /// The signature that travels before the message.
    pub(crate) fn signature(&self) -> SentSignature {
        let sequence = &self.typed.sequence;
        let mut name = [0u8; NAME_WORDS * 8];
        let bytes = self.typed.name.as_bytes();
        let length = bytes.len().min(name.len());
        name[..length].copy_from_slice(&bytes[..length]);
        let mut words = [0; 6];
        words[0] =
            sequence.signature.times(self.count).to_word() | u64::from(sequence.is_opaque) << 63;
        words[1] = sequence.elements.saturating_mul(self.count);
        for (word, eight) in words[2..].iter_mut().zip(name.chunks_exact(8)) {
            *word = eight
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        SentSignature {
            count: self.count,
            words,
        }
    }

    /// The mismatch between a message from process `peer` and this receive; `None` if they match.
    pub(crate) fn mismatch(&self, signature: &SentSignature, peer: PeerIndex) -> Option<String> {
        let (mine, elements) = (&self.typed.sequence, signature.words[1]);
        if mine.is_opaque || signature.words[0] >> 63 == 1 || elements == 0 {
            return None;
        }
        let fits = elements <= mine.elements.saturating_mul(self.count);
        if fits && mine.beginning(elements).to_word() == signature.words[0] {
            return None;
        }
        Some(format!(
            "rank {peer} of MPI_COMM_WORLD sent {signature}, which does not match the receive's {} x {}: {}",
            self.count,
            self.typed.name,
            if fits {
                "the sequences of basic types differ"
            } else {
                "it has more basic elements"
            }
        ))
    }
}

const NAME_WORDS: usize = 4;

/// The type signature that travels before a message whose types are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentSignature {
    /// Elements of the sender's datatype.
    pub(crate) count: u64,
    /// Signature (the top bit is set if it contains MPI_PACKED), basic elements, name.
    pub(crate) words: [u64; 6],
}

impl fmt::Display for SentSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.words[2..].iter().flat_map(|word| word.to_le_bytes());
        let name: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        write!(f, "{} x {}", self.count, String::from_utf8_lossy(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::predefined::{self, Predefined};
    use super::*;

    /// The signature of a predefined type.
    fn letter(code: u32) -> Signature {
        super::super::signature::of_row(Predefined::find(code).unwrap())
    }

    const LETTERS: [u32; 3] = [predefined::INT, predefined::DOUBLE, predefined::CHAR];

    /// A tree, and the sequence that it stands for, as indices of letters.
    fn trees() -> Vec<(Arc<TypeSequence>, Vec<u64>)> {
        let names = ["a", "b", "c"];
        let mut all: Vec<(Arc<TypeSequence>, Vec<u64>)> = (0..3)
            .map(|code| {
                let tree =
                    TypeSequence::basic(letter(LETTERS[code as usize]), names[code as usize]);
                (tree, vec![code])
            })
            .collect();
        for round in 0..30 {
            let pick = |step: usize| all[(round * 7 + step * 5) % all.len()].clone();
            let (first, second) = (pick(1), pick(2));
            let count = (round % 4) as u64;
            all.push((
                TypeSequence::repeated(count, &first.0),
                first.1.repeat(count as usize),
            ));
            let blocks = [(2, first.0), (count, second.0)];
            let listed = [first.1.repeat(2), second.1.repeat(count as usize)].concat();
            all.push((TypeSequence::of_parts(blocks.into_iter()), listed));
            all.retain(|(_, sequence)| sequence.len() < 200);
        }
        all
    }

    fn signature_of(sequence: &[u64]) -> Signature {
        let elements = sequence.iter().map(|&code| letter(LETTERS[code as usize]));
        elements.fold(Signature::EMPTY, Signature::then)
    }

    #[test]
    fn trees_and_their_beginnings_have_the_signatures_of_the_sequences() {
        let trees = trees();
        assert!(trees.len() > 30);
        for (tree, sequence) in &trees {
            assert_eq!(tree.elements, sequence.len() as u64);
            assert_eq!(tree.signature, signature_of(sequence));
            let twice = sequence.repeat(2);
            for length in 0..=twice.len() {
                let begun = tree.beginning(length as u64);
                assert_eq!(
                    begun,
                    signature_of(&twice[..length]),
                    "{length} of {sequence:?}"
                );
            }
        }
    }

    #[test]
    fn different_sequences_have_different_signatures() {
        let mut hashes = std::collections::HashMap::new();
        for (_, sequence) in trees() {
            let hash = signature_of(&sequence);
            assert_eq!(
                hashes
                    .entry((hash, sequence.len()))
                    .or_insert(sequence.clone()),
                &sequence
            );
        }
        assert_ne!(signature_of(&[0, 1]), signature_of(&[1, 0]));
    }

    #[test]
    fn signatures_name_the_sender_s_type_and_count() {
        const SENDER: PeerIndex = PeerIndex::new(3);
        let typed = |code, name: &'static str| NamedSignature {
            sequence: TypeSequence::basic(letter(code), name),
            name: name.into(),
        };
        let int = typed(predefined::INT, "MPI_INT");
        let double = typed(predefined::DOUBLE, "MPI_DOUBLE");
        let packed = typed(predefined::PACKED, "MPI_PACKED");
        let sent = |typed: &NamedSignature, count| Types::new((typed, count)).signature();
        let receive = Types::new((&double, 10));
        assert_eq!(receive.mismatch(&sent(&double, 10), SENDER), None);
        assert_eq!(receive.mismatch(&sent(&double, 4), SENDER), None);
        assert_eq!(receive.mismatch(&sent(&int, 0), SENDER), None);
        assert_eq!(receive.mismatch(&sent(&packed, 7), SENDER), None);
        assert_eq!(
            Types::new((&packed, 80)).mismatch(&sent(&double, 4), SENDER),
            None
        );
        let text = receive.mismatch(&sent(&int, 5), SENDER).unwrap();
        assert_eq!(
            text,
            "rank 3 of MPI_COMM_WORLD sent 5 x MPI_INT, which does not match the receive's 10 x MPI_DOUBLE: the sequences of basic types differ"
        );
        let text = receive.mismatch(&sent(&double, 11), SENDER).unwrap();
        assert!(text.ends_with("it has more basic elements"), "{text}");
        let long = typed(
            predefined::INT,
            "a name that is far longer than what fits into a cell",
        );
        assert_eq!(
            sent(&long, 2).to_string(),
            "2 x a name that is far longer than w"
        );
    }

    #[test]
    fn huge_counts_and_deep_structs_are_no_trouble() {
        let int = TypeSequence::basic(letter(predefined::INT), "MPI_INT");
        let double = TypeSequence::basic(letter(predefined::DOUBLE), "MPI_DOUBLE");
        let mut deep = int.clone();
        for _ in 0..100_000 {
            let blocks = [(1, deep), (1, double.clone())];
            deep = TypeSequence::of_parts(blocks.into_iter());
        }
        let many = TypeSequence::repeated(1 << 40, &deep);
        assert_eq!(many.elements, (1 << 40) * 100_001);
        let first = [(1, int), (100_000, double)];
        let flat = TypeSequence::of_parts(first.into_iter());
        assert_eq!(many.beginning(1 << 20), flat.beginning(1 << 20));
        assert_eq!(flat.signature, deep.signature);
    }
}
