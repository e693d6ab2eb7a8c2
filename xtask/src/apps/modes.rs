// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask apps --table`: what each mode of the mini-apps creates, and how many lines of source it takes beside mode `serial`.
//!
//! A line is one of a mode if it is in a function that only this mode runs, or if it names the mode.

use std::fmt::Write as _;
use std::fs;

use crate::{page, shell};

/// The page with the table.
const PAGE: &str = "docs/mini-apps.md";
const MARKS: (&str, &str) = ("<!-- modes: begin -->\n", "<!-- modes: end -->");
/// Where the sources are.
const SOURCES: &str = "examples/apps/src";

/// Apps that have their sources, and so their modes, in common.
struct Group {
    apps: &'static [&'static str],
    /// Their files, without those of the command line, which only refuse modes.
    files: &'static [&'static str],
    modes: &'static [Mode],
}

/// A mode of these apps.
struct Mode {
    name: &'static str,
    /// What a process creates.
    objects: &'static str,
    /// What the program promises of them.
    hints: &'static str,
    /// What differs from mode `serial`, in words.
    differs: &'static str,
    /// Functions that only this mode runs, with their files; a file alone stands for all that it has.
    own: &'static [(&'static str, Option<&'static str>)],
}

const TAG_HINTS: &str = "`mpi_assert_no_any_source`, `mpi_assert_no_any_tag`, `rankpoint_num_vcis`, `rankpoint_num_tag_bits_for_vci`";
const RECEIVER_HINTS: &str =
    "`mpi_assert_no_any_tag`, `rankpoint_num_vcis`, `rankpoint_num_tag_bits_for_vci`";
const NAIVE: Mode = Mode {
    name: "naive",
    objects: "a communicator for each thread",
    hints: "",
    differs: "the communicator is the sender's; tags: the direction",
    own: &[],
};
const COMM: Mode = Mode {
    name: "comm",
    objects: "communicators of the plan",
    hints: "",
    differs: "as in `naive`, from the tables of the plan",
    own: &[],
};
const TAG: Mode = Mode {
    name: "tag",
    objects: "1 communicator",
    hints: TAG_HINTS,
    differs: "the hints only",
    own: &[("halo/mode.rs", Some("hints"))],
};
const ENDPOINT: Mode = Mode {
    name: "endpoint",
    objects: "an endpoint for each thread",
    hints: "",
    differs: "the communicator, and ranks: process times threads, plus thread; tags: the direction",
    own: &[("halo/job.rs", Some("endpoints"))],
};

const GROUPS: &[Group] = &[
    Group {
        apps: &["halo2d", "halo3d", "uintah"],
        files: &[
            "halo/exchange.rs",
            "halo/job.rs",
            "halo/messages.rs",
            "halo/mode.rs",
            "halo/partitions.rs",
        ],
        modes: &[
            serial("1 communicator"),
            NAIVE,
            COMM,
            TAG,
            ENDPOINT,
            Mode {
                name: "partitioned",
                objects: "1 communicator, and 2 requests for each direction and process",
                hints: "",
                differs: "calls: `MPI_Psend_init`, `MPI_Precv_init`, `MPI_Pready`, `MPI_Parrived`",
                own: &[("halo/partitions.rs", None)],
            },
        ],
    },
    Group {
        apps: &["particles"],
        files: &[
            "halo/mode.rs",
            "particles/job.rs",
            "particles/options.rs",
            "particles/worker.rs",
        ],
        modes: &[
            serial("1 communicator"),
            NAIVE,
            COMM,
            TAG,
            Mode {
                own: &[],
                ..ENDPOINT
            },
        ],
    },
    Group {
        apps: &["bspmm"],
        files: &["bspmm/job.rs", "bspmm/windows.rs", "bspmm/work.rs"],
        modes: &[
            Mode {
                hints: "`accumulate_ordering`, if unordered",
                ..serial("4 windows: A, B, C and the counter")
            },
            Mode {
                objects: "windows of A and B for each thread, 1 of C, 1 of the counter",
                hints: "the same",
                differs: "which window a thread uses",
                ..window("")
            },
            Mode {
                objects: "endpoints, and 4 windows of them",
                hints: "the same",
                differs: "ranks of targets: process times threads",
                own: &[
                    ("bspmm/job.rs", Some("on_endpoints")),
                    ("bspmm/job.rs", Some("on_endpoint")),
                ],
                ..ENDPOINT
            },
        ],
    },
    Group {
        apps: &["ga-dgemm"],
        files: &["dgemm/arrays.rs", "dgemm/job.rs", "dgemm/worker.rs"],
        modes: &[
            serial("1 window"),
            window("which window a thread uses"),
            Mode {
                objects: "endpoints, and 1 window of them",
                differs: "each thread makes the window; the target stays rank 0",
                own: &[("dgemm/job.rs", Some("on_endpoints"))],
                ..ENDPOINT
            },
        ],
    },
    Group {
        apps: &["ebms"],
        files: &["ebms/job.rs", "ebms/stock.rs", "ebms/worker.rs"],
        modes: &[
            serial("1 window"),
            window("which window a thread uses, and places in it"),
            Mode {
                own: &[("ebms/job.rs", Some("on_endpoints"))],
                ..WINDOW_OF_ENDPOINTS
            },
        ],
    },
    Group {
        apps: &["mailbox"],
        files: &["halo/mailboxes.rs"],
        modes: &[
            serial("1 window"),
            window("which window a thread uses, and places in it"),
            Mode {
                own: &[
                    ("halo/mailboxes.rs", Some("on_endpoint")),
                    ("halo/job.rs", Some("endpoints")),
                ],
                ..WINDOW_OF_ENDPOINTS
            },
        ],
    },
    Group {
        apps: &["circuit"],
        files: &[
            "circuit/job.rs",
            "circuit/message.rs",
            "circuit/poller.rs",
            "circuit/task.rs",
        ],
        modes: &[
            serial("1 communicator"),
            Mode {
                objects: "a communicator for each task",
                differs: "the poller has a receive on each",
                ..COMM
            },
            Mode {
                hints: RECEIVER_HINTS,
                differs: "tags name the task; the poller has a receive for each tag",
                own: &[("circuit/job.rs", Some("tags"))],
                ..TAG
            },
            Mode {
                differs: "the communicator, and ranks",
                own: &[("circuit/job.rs", Some("on_endpoints"))],
                ..ENDPOINT
            },
        ],
    },
    Group {
        apps: &["irregular"],
        files: &[
            "irregular/job.rs",
            "irregular/traffic.rs",
            "irregular/worker.rs",
        ],
        modes: &[
            serial("1 communicator"),
            Mode {
                hints: RECEIVER_HINTS,
                differs: "tags name both threads; sums and receives by sending thread",
                own: &[],
                ..TAG
            },
            Mode {
                differs: "the communicator, ranks, and sums over all threads",
                own: &[],
                ..ENDPOINT
            },
        ],
    },
    Group {
        apps: &["collectives"],
        files: &["collectives/job.rs", "collectives/worker.rs"],
        modes: &[
            serial("none"),
            Mode {
                objects: "a communicator for each thread",
                differs: "each thread calls, with a part",
                own: &[("collectives/worker.rs", Some("apart"))],
                ..COMM
            },
            Mode {
                differs: "each thread calls, with all; no sum in shared memory",
                own: &[],
                ..ENDPOINT
            },
        ],
    },
];

const WINDOW_OF_ENDPOINTS: Mode = Mode {
    objects: "endpoints, and 1 window of them",
    differs: "ranks of targets, and places in the window",
    ..ENDPOINT
};

const fn serial(objects: &'static str) -> Mode {
    Mode {
        name: "serial",
        objects,
        hints: "",
        differs: "",
        own: &[],
    }
}

const fn window(differs: &'static str) -> Mode {
    Mode {
        name: "window",
        objects: "a window for each thread",
        hints: "",
        differs,
        own: &[],
    }
}

/// Writes the table into the page.
pub(super) fn write() -> Result<(), String> {
    page::write(PAGE, MARKS, &table()?)?;
    shell::say(&format!("Wrote {PAGE}"));
    Ok(())
}

/// The table in Markdown.
fn table() -> Result<String, String> {
    let mut text = "\n| apps | mode | lines | objects of a process | hints | what differs from `serial` |\n|---|---|---|---|---|---|\n".to_owned();
    for group in GROUPS {
        let apps: Vec<String> = group.apps.iter().map(|app| format!("`{app}`")).collect();
        let mut apps = apps.join(", ");
        for mode in group.modes {
            let lines = match mode.name {
                "serial" => String::new(),
                _ => group.lines(mode)?.to_string(),
            };
            let Mode {
                name,
                objects,
                hints,
                differs,
                ..
            } = mode;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {apps} | `{name}` | {lines} | {objects} | {hints} | {differs} |"
            );
            apps.clear();
        }
    }
    text.push('\n');
    // Empty cells have one space.
    Ok(text.replace("|  |", "| |").replace("|  |", "| |"))
}

impl Group {
    /// Lines that only a mode has.
    fn lines(&self, mode: &Mode) -> Result<usize, String> {
        let mut count = 0;
        for (file, function) in mode.own {
            let text = source(file)?;
            let body = match function {
                None => Some(text.as_str()),
                Some(name) => function_in(&text, name).map(|(_, body)| body),
            };
            let body = body.ok_or_else(|| format!("{SOURCES}/{file} lacks {function:?}"))?;
            count += own_lines(body).count();
        }
        let named = format!("Mode::{}", title(mode.name));
        let planned = format!("Kind::{}", title(mode.name));
        let is_word = |line: &str, word: &str| {
            let mut rest = line.split(word).skip(1);
            rest.any(|after| !after.starts_with(|next: char| next.is_alphanumeric()))
        };
        for file in self.files {
            let mut rest = source(file)?;
            for (_, function) in mode.own.iter().filter(|(of, _)| of == file) {
                rest = match function {
                    None => String::new(),
                    Some(name) => match function_in(&rest, name) {
                        Some((before, body)) => {
                            format!("{before}{}", &rest[before.len() + body.len()..])
                        }
                        None => rest,
                    },
                };
            }
            let lines = own_lines(&rest);
            let naming = lines.filter(|line| is_word(line, &named) || is_word(line, &planned));
            count += naming.count();
        }
        Ok(count)
    }
}

/// Lines without comments and empty ones.
fn own_lines(text: &str) -> impl Iterator<Item = &str> {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    text.lines().filter(is_code)
}

fn source(file: &str) -> Result<String, String> {
    let path = shell::root().join(SOURCES).join(file);
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// What comes before a function, and the function; formatted sources close it where it began.
fn function_in<'t>(text: &'t str, name: &str) -> Option<(&'t str, &'t str)> {
    let heads = ['(', '<'].map(|next| format!("fn {name}{next}"));
    let found = heads.iter().filter_map(|head| text.find(head)).min()?;
    let start = text[..found].rfind('\n').map_or(0, |at| at + 1);
    let (before, rest) = text.split_at(start);
    let indent = rest.len() - rest.trim_start().len();
    let end = format!("\n{}}}\n", " ".repeat(indent));
    let length = rest.find(&end)? + end.len();
    Some((before, &rest[..length]))
}

/// `Tag` for `tag`.
fn title(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_table() {
        let page = fs::read_to_string(shell::root().join(PAGE)).expect("the page");
        let (_, rest) = page.split_once(MARKS.0).expect("a mark");
        let (found, _) = rest.split_once(MARKS.1).expect("a mark");
        assert_eq!(found, table().expect("sources"), "cargo xtask apps --table");
    }

    #[test]
    fn all_programs_are_in_the_table() {
        let folder = shell::root().join(SOURCES).join("bin");
        for file in fs::read_dir(folder).expect("programs") {
            let name = file.expect("a program").file_name();
            let name = name.to_string_lossy().replace(".rs", "");
            let mut apps = GROUPS.iter().flat_map(|group| group.apps);
            assert!(apps.any(|app| *app == name), "{name}");
        }
    }

    #[test]
    fn functions_are_found_whole() {
        let text = "a\n    fn one<T>(\n        t: T,\n    ) {\n        t\n    }\n\n    fn ones() {\n    }\n";
        let (before, one) = function_in(text, "one").expect("a function");
        assert_eq!((before, one.lines().count()), ("a\n", 5));
        assert!(function_in(text, "two").is_none());
    }
}
