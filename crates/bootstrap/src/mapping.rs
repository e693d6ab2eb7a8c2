// SPDX-License-Identifier: MIT OR Apache-2.0
//! The node of each rank, as PMI tells it: `PMI_process_mapping`, `(vector,(FIRST_NODE,NODES,RANKS_PER_NODE),...)`.
//!
//! Hydra 5 shortens it: a number is a node with one rank, and `[BLOCK,...]xN` stands for blocks that follow each other N times.
//! When all blocks end before the ranks do, they start again.

use std::collections::HashMap;

/// The format of the value.
const EXPECTED: &str = "(vector,(FIRST_NODE,NODES,RANKS_PER_NODE),...)";

/// The node of each of `size` ranks, where nodes are numbered in the order in which they first occur.
///
/// # Errors
/// With a sentence that names the value and what was expected.
pub(crate) fn parse(value: &str, size: u32) -> Result<Vec<u32>, String> {
    let refuse = |why: &str| {
        let told: String = value.chars().take(200).collect();
        format!("PMI_process_mapping is '{told}', expected {EXPECTED}: {why}")
    };
    let groups = groups(value).ok_or_else(|| refuse("it is something else"))?;
    let count = size as usize;
    let mut node_of: Vec<u32> = Vec::with_capacity(count);
    while node_of.len() < count {
        let before = node_of.len();
        for group in &groups {
            group.append(&mut node_of, count);
        }
        if node_of.len() == before {
            return Err(refuse(&format!("it has no ranks, but the job has {size}")));
        }
    }
    Ok(renumber(node_of))
}

/// Blocks that follow each other so many times.
struct Group {
    /// First node, nodes, ranks of each.
    blocks: Vec<[u32; 3]>,
    times: u32,
}

impl Group {
    /// Appends the nodes of its ranks, until there are `count`.
    fn append(&self, node_of: &mut Vec<u32>, count: usize) {
        for _ in 0..self.times {
            let before = node_of.len();
            for &[first, nodes, ranks] in &self.blocks {
                // More than there are ranks are not looked at.
                for node in (first..first.saturating_add(nodes)).take(count) {
                    let room = (count - node_of.len()).min(ranks as usize);
                    node_of.extend(std::iter::repeat_n(node, room));
                }
            }
            if node_of.len() == before {
                return;
            }
        }
    }
}

/// The groups of a mapping.
fn groups(value: &str) -> Option<Vec<Group>> {
    let list: String = value
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let mut rest = list.strip_prefix("(vector")?.strip_suffix(')')?;
    let mut groups = Vec::new();
    while !rest.is_empty() {
        rest = rest.strip_prefix(',')?;
        let Some(inner) = rest.strip_prefix('[') else {
            let (block, tail) = block(rest)?;
            groups.push(Group {
                blocks: vec![block],
                times: 1,
            });
            rest = tail;
            continue;
        };
        let (first, mut tail) = block(inner)?;
        let mut blocks = vec![first];
        while let Some(next) = tail.strip_prefix(',') {
            let (more, end) = block(next)?;
            blocks.push(more);
            tail = end;
        }
        let (times, tail) = number(tail.strip_prefix("]x")?)?;
        groups.push(Group { blocks, times });
        rest = tail;
    }
    Some(groups)
}

/// A block at the begin of a text, and the text after it.
fn block(text: &str) -> Option<([u32; 3], &str)> {
    let Some(inner) = text.strip_prefix('(') else {
        let (node, rest) = number(text)?;
        return Some(([node, 1, 1], rest));
    };
    let (first, rest) = number(inner)?;
    let (nodes, rest) = number(rest.strip_prefix(',')?)?;
    let (ranks, rest) = number(rest.strip_prefix(',')?)?;
    Some(([first, nodes, ranks], rest.strip_prefix(')')?))
}

/// A number at the begin of a text, and the text after it.
fn number(text: &str) -> Option<(u32, &str)> {
    let is_other = |letter: char| !letter.is_ascii_digit();
    let (digits, rest) = text.split_at(text.find(is_other).unwrap_or(text.len()));
    Some((digits.parse().ok()?, rest))
}

/// The same nodes with numbers from 0 on, in the order in which they first occur.
pub(crate) fn renumber(mut node_of: Vec<u32>) -> Vec<u32> {
    let mut known = HashMap::new();
    for node in &mut node_of {
        let next = known.len() as u32;
        *node = *known.entry(*node).or_insert(next);
    }
    node_of
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranks_follow_the_blocks() {
        for (value, nodes) in [
            ("(vector,(0,2,2))", &[0, 0, 1, 1][..]),
            ("(vector,(0,1,3),(1,1,1))", &[0, 0, 0, 1]),
            ("(vector,(0,2,1))", &[0, 1, 0, 1, 0]),
            // Two ranks on one node, as Hydra 4.0.2 tells.
            ("(vector,(0,1,1))", &[0, 0]),
            ("(vector, (5,1,1), (2,2,1))", &[0, 1, 2]),
            ("(vector,(0,1,9))", &[0]),
            ("(vector,(0,0,1),(7,1,1))", &[0, 0]),
            // As Hydra 5 shortens.
            ("(vector,0)", &[0]),
            ("(vector,(0,1,3),1)", &[0, 0, 0, 1]),
            ("(vector,(0,1,2),1,(2,1,3))", &[0, 0, 1, 2, 2, 2]),
            ("(vector,[0,(1,1,2),2]x2)", &[0, 1, 1, 2, 0, 1, 1, 2]),
            ("(vector,[(0,0,9)]x4294967295,3)", &[0]),
        ] {
            let size = u32::try_from(nodes.len()).unwrap();
            assert_eq!(parse(value, size).unwrap(), nodes, "{value}");
        }
    }

    #[test]
    fn impossible_mappings_are_named() {
        for value in [
            "",
            "(vector)",
            "(vector,)",
            "(vector,(0,1))",
            "(vector,(0,1,1,1))",
            "(vector,(0,1,-1))",
            "(vector,(0,1,1)",
            "(vector,(0,0,1))",
            "(vector,(0,1,0),(1,1,0))",
            "(matrix,(0,1,1))",
            "(vector,0",
            "(vector0)",
            "(vector,[0]x)",
            "(vector,[0]2)",
            "(vector,[]x2)",
            "(vector,[0,[1]x2]x2)",
            "(vector,[0]x0)",
            "(vector,0,)",
            "(vector,(0,1,99999999999))",
        ] {
            let text = parse(value, 2).unwrap_err();
            let begin = format!("PMI_process_mapping is '{value}', expected (vector,");
            assert!(text.starts_with(&begin), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_value_is_refused_or_covers_all_ranks(value in "\\(vector(,[0-9]{1,2}|,\\([0-9]{0,10},[0-9]{0,10},[0-9]{0,3}\\)|,\\[(3|\\(0,2,1\\)),1\\]x[0-9]{1,10}){0,3}\\)|.*", size in 1u32..300) {
            if let Ok(node_of) = parse(&value, size) {
                prop_assert_eq!(node_of.len(), size as usize);
                prop_assert!(node_of.iter().all(|&node| node < size));
                prop_assert_eq!(node_of[0], 0);
            }
        }
    }
}
