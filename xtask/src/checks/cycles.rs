// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cycles among the modules of a crate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::modules::Modules;

/// Modules that reach each other.
pub(super) type Component = BTreeSet<String>;

/// Sites of a use that are told.
const SITES: usize = 3;

/// The components of more than one module.
pub(super) fn components(modules: &Modules) -> Vec<Component> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = modules
        .uses
        .keys()
        .map(|node| (node, reached(modules, node)))
        .collect();
    let mut found: Vec<Component> = Vec::new();
    for (node, forward) in &reach {
        if found.iter().any(|component| component.contains(*node)) {
            continue;
        }
        let component: Component = forward
            .iter()
            .filter(|other| reach[**other].contains(*node))
            .map(|other| (*other).clone())
            .collect();
        if component.len() > 1 {
            found.push(component);
        }
    }
    found
}

fn reached<'a>(modules: &'a Modules, from: &String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for next in modules.uses.get(node).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}

/// A shortest cycle of a component: its modules in order, the first one not repeated.
fn shortest(modules: &Modules, component: &Component) -> Vec<String> {
    let cycles = component
        .iter()
        .filter_map(|node| back_to(modules, component, node));
    cycles.min_by_key(Vec::len).unwrap_or_default()
}

/// A shortest way from a module back to it.
fn back_to(modules: &Modules, component: &Component, start: &String) -> Option<Vec<String>> {
    let mut before: BTreeMap<&String, &String> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for next in modules.uses.get(node)?.keys() {
            if next == start {
                let mut cycle = vec![node.clone()];
                let mut at = node;
                while at != start {
                    at = before.get(at)?;
                    cycle.push(at.clone());
                }
                cycle.reverse();
                return Some(cycle);
            }
            if component.contains(next) && !before.contains_key(next) {
                before.insert(next, node);
                open.push_back(next);
            }
        }
    }
    None
}

/// One shortest cycle, with a file and a line of each use.
pub(super) fn told(modules: &Modules, component: &Component) -> String {
    let cycle = shortest(modules, component);
    let uses = cycle.iter().enumerate().map(|(index, from)| {
        let to = &cycle[(index + 1) % cycle.len()];
        format!("{from} -> {to} ({})", modules.uses[from][to][0])
    });
    uses.collect::<Vec<_>>().join(", ")
}

/// All uses among the modules of a component: those that stand in the fewest lines first.
pub(super) fn uses_within(modules: &Modules, component: &Component) -> Vec<String> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for from in component {
        for (to, sites) in &modules.uses[from] {
            if component.contains(to) {
                let first: Vec<&str> = sites.iter().take(SITES).map(String::as_str).collect();
                let more = if sites.len() > SITES { ", ..." } else { "" };
                let text = format!(
                    "{from} -> {to}: {} uses: {}{more}",
                    sites.len(),
                    first.join(", ")
                );
                found.push((sites.len(), text));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(edges: &[(&str, &str)]) -> Modules {
        let mut modules = Modules::default();
        for (from, to) in edges {
            modules.uses.entry((*to).to_owned()).or_default();
            let uses = modules.uses.entry((*from).to_owned()).or_default();
            uses.entry((*to).to_owned())
                .or_default()
                .push(format!("{from}.rs:1"));
        }
        modules
    }

    #[test]
    fn cycles_are_found_and_the_shortest_is_told() {
        let modules = modules(&[
            ("a", "b"),
            ("b", "c"),
            ("c", "d"),
            ("d", "b"),
            ("c", "b"),
            ("x", "y"),
            ("y", "x"),
            ("x", "a"),
        ]);
        let found = components(&modules);
        let names: Vec<String> = found
            .iter()
            .map(|component| component.iter().cloned().collect::<Vec<_>>().join(""))
            .collect();
        assert_eq!(names, ["bcd", "xy"]);
        assert_eq!(
            told(&modules, &found[0]),
            "b -> c (b.rs:1), c -> b (c.rs:1)"
        );
        assert_eq!(uses_within(&modules, &found[1]).len(), 2);
    }

    #[test]
    fn layers_have_no_cycle() {
        assert!(components(&modules(&[("a", "b"), ("a", "c"), ("b", "c")])).is_empty());
    }
}
