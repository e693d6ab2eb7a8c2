// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine knows the names of all collective calls of this API, for reports and for comparing what ranks do.

use std::fs;
use std::path::Path;

use engine::call::CallName;

/// Files whose calls are no collectives, and calls of other files that are none.
const OTHER_FILES: &[&str] = &[
    "attribute.rs",
    "envelope.rs",
    "message.rs",
    "owned.rs",
    "p2p.rs",
    "partitioned.rs",
    "persistent.rs",
    "scope.rs",
    "start.rs",
    "universe.rs",
];
const OTHER_CALLS: &[&str] = &["Cart::coords_of"];

#[test]
fn every_collective_call_has_a_number() {
    let types = [
        "Cart",
        "Communicator",
        "Graph",
        "InterCommunicator",
        "Scope",
        "Universe",
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut known = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        if OTHER_FILES.contains(&file.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for literal in text.split('"') {
            let is_call = literal
                .split_once("::")
                .is_some_and(|(kind, name)| types.contains(&kind) && !name.contains([' ', ':']));
            if !is_call || OTHER_CALLS.contains(&literal) {
                continue;
            }
            assert_eq!(CallName::of(literal).name(), Some(literal), "{file}");
            known += 1;
        }
    }
    assert!(known >= 80, "{known}");
}
