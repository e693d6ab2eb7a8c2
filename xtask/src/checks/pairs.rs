// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partners of memory orderings: every ordering stronger than Relaxed has a label, every label both sides.

use std::collections::BTreeMap;

use super::{conclude, read, shipped, shown, sources};

/// A label stands at most this many lines above its ordering.
const REACH: usize = 8;

/// Whether a label was seen with a releasing and with an acquiring ordering.
#[derive(Default)]
struct Sides {
    release: bool,
    acquire: bool,
}

/// Every ordering stronger than Relaxed stands at or below a comment `PAIRS: label`.
pub(crate) fn pairs() -> Result<usize, String> {
    let mut labels: BTreeMap<String, Sides> = BTreeMap::new();
    let (mut wrong, mut orderings) = (Vec::new(), 0);
    for path in sources() {
        let name = shown(&path);
        if name.contains("/tests/") || name.starts_with("xtask/") {
            continue;
        }
        let text = read(&path)?;
        let all: Vec<&str> = text.lines().collect();
        for (number, line) in shipped(&text).lines().enumerate() {
            for strong in strong_orderings(line) {
                orderings += 1;
                let Some(label) = label(&all[number.saturating_sub(REACH)..=number]) else {
                    wrong.push(format!("{name}:{} has no PAIRS label", number + 1));
                    continue;
                };
                let sides = labels.entry(label).or_default();
                sides.release |= strong != "Acquire";
                sides.acquire |= strong != "Release";
            }
        }
    }
    let lonely = labels
        .iter()
        .filter(|(_, sides)| !(sides.release && sides.acquire));
    wrong.extend(lonely.map(|(label, sides)| {
        let side = if sides.release {
            "releasing"
        } else {
            "acquiring"
        };
        format!("label {label} has its {side} side only")
    }));
    let what = format!("orderings with {} labels", labels.len());
    conclude("pairs", orderings, &what, &wrong)
}

fn strong_orderings(line: &str) -> Vec<&'static str> {
    let code = line.split("//").next().unwrap_or("");
    ["Acquire", "Release", "AcqRel", "SeqCst"]
        .into_iter()
        .flat_map(|name| {
            let times = code.matches(&format!("Ordering::{name}")).count();
            std::iter::repeat_n(name, times)
        })
        .collect()
}

/// The label nearest to the last of these lines.
fn label(lines: &[&str]) -> Option<String> {
    let text = lines
        .iter()
        .rev()
        .find_map(|line| line.split("PAIRS: ").nth(1))?;
    let word = text.split([' ', ',', ';']).next()?;
    Some(word.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_label_counts() {
        let lines = [
            "// PAIRS: ring.consumed. Because.",
            "x",
            "// PAIRS: ring.published",
            "y",
        ];
        assert_eq!(label(&lines).as_deref(), Some("ring.published"));
        assert_eq!(label(&lines[..2]).as_deref(), Some("ring.consumed"));
        assert_eq!(label(&["x"]), None);
    }

    #[test]
    fn relaxed_and_comments_need_no_label() {
        assert!(strong_orderings("x.load(Ordering::Relaxed); // not Ordering::Acquire").is_empty());
        assert_eq!(
            strong_orderings("cas(Ordering::AcqRel, Ordering::Acquire)"),
            ["Acquire", "AcqRel"]
        );
    }
}
