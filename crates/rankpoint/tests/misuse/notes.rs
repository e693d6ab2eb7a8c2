// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the compiler says about programs that it refuses.

/// Bodies of programs in which `world` is a communicator of one thread, and parts of the errors.
pub(super) const NOTES: &[(&str, &[&str])] = &[
    (
        "std::thread::scope(|threads| {
             threads.spawn(|| world.rank());
         });",
        &[
            "one thread uses MPI in this program",
            "`Universe::init_threaded` in place of `Universe::init`",
        ],
    ),
    (
        "let mut data = Vec::<f64>::new();
         world.recv(&mut data, 0, 0)?;",
        &[
            "`Vec<f64>` cannot be received into",
            "a vector as `data[..]`",
            "`recv_vec` makes a vector",
        ],
    ),
    (
        "let (text, _) = world.recv_vec::<String>(0, 0)?;",
        &["`String` cannot travel in a message", "text as its bytes"],
    ),
    (
        "#[derive(Clone, Copy, rankpoint::Datatype)]
         #[repr(C)]
         struct Switch {
             on: bool,
         }",
        &[
            "`bool` cannot travel in a message",
            "a `bool` travels as a `u8`",
        ],
    ),
    (
        "#[derive(Clone, Copy)]
         struct Point(f64, f64);
         let (points, _) = world.recv_vec::<Point>(0, 0)?;",
        &[
            "`#[derive(Clone, Copy, rankpoint::Datatype)]`",
            "`#[repr(C)]`",
        ],
    ),
];
