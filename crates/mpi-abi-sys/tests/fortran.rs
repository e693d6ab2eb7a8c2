// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of the Fortran faces: properties of all lines, and which procedures each face has. `tests/fortran` compiles and calls them.

use mpi_abi_sys::fortran::{
    Life, Role, mpi_f08_f90, mpi_f90, mpif_h, procedures, sentinels_f90, types_f90,
};

/// What stands in columns 7 to 72 of the lines that hold statements.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('!'))
}

#[test]
fn lines_are_fixed_and_free_source_form() {
    for text in [
        mpif_h(true),
        mpif_h(false),
        mpi_f90(),
        mpi_f08_f90(),
        types_f90(),
        sentinels_f90(),
    ] {
        let mut continues = false;
        for line in statements(&text) {
            assert!(line.len() <= 73 && line.is_ascii(), "{line}");
            let (start, rest) = line.split_at(6);
            assert_eq!(start, if continues { "     &" } else { "      " }, "{line}");
            assert!(!rest.starts_with(' '), "{line}");
            continues = line.len() == 73;
            assert!(!continues || line.ends_with('&'), "{line}");
        }
        assert!(!continues);
    }
}

/// Behind column 72, the end of a continued line is a comment only if the lines of fixed form end there.
#[test]
fn no_line_of_the_header_is_continued() {
    for text in [mpif_h(true), mpif_h(false)] {
        let longest = statements(&text).max_by_key(|line| line.len());
        assert!(longest.is_some_and(|line| line.len() <= 72), "{longest:?}");
    }
}

#[test]
fn each_face_has_every_procedure() {
    let (header, module, modern) = (mpif_h(true), mpi_f90(), mpi_f08_f90());
    for procedure in procedures().iter().filter(|it| !it.is_large()) {
        let name = procedure.function.name;
        let declared = if procedure.is_function() {
            format!("EXTERNAL {name}\n")
        } else {
            format!("SUBROUTINE {name}(")
        };
        assert!(header.contains(&declared), "mpif.h: {name}");
        for prefix in ["", "P"] {
            let head = format!(" {prefix}{name}(");
            assert!(module.contains(&head), "mpi: {prefix}{name}");
            let is_old = name.starts_with("MPI_Attr") || name.starts_with("MPI_Keyval");
            let generic = format!("INTERFACE {prefix}{name}\n");
            assert_eq!(
                modern.contains(&generic),
                !is_old,
                "mpi_f08: {prefix}{name}"
            );
        }
    }
}

#[test]
fn buffers_that_outlive_a_call_get_no_copies() {
    for procedure in procedures() {
        let stores_request = (procedure.arguments.iter())
            .any(|argument| argument.base_type() == "MPI_Request" && argument.is_stored());
        let is_one_sided = procedure.function.chapter == "rma";
        let has_buffer = procedure.has_buffer();
        if has_buffer && (stores_request || is_one_sided) {
            assert!(
                procedure.life() != Life::Call,
                "{}",
                procedure.function.name
            );
        }
    }
    let blocking = |name: &str| {
        let found = procedures().into_iter().find(|it| it.function.name == name);
        found.is_some_and(|procedure| procedure.life() == Life::Call)
    };
    assert!(
        ["MPI_Send", "MPI_Recv_c", "MPI_Alltoallw", "MPI_Pack"]
            .iter()
            .all(|name| blocking(name))
    );
    assert!(!blocking("MPI_Buffer_attach") && !blocking("MPI_File_read_all_begin"));
}

#[test]
fn every_argument_has_a_role() {
    let all = procedures();
    let count = |role| {
        let arguments = all.iter().flat_map(|procedure| &procedure.arguments);
        arguments.filter(|argument| argument.role == role).count()
    };
    assert!(all.len() > 580);
    for (role, least) in [
        (Role::Buffer, 300),
        (Role::Handle, 800),
        (Role::Status, 50),
        (Role::Text, 40),
    ] {
        assert!(count(role) >= least, "{role:?}: {}", count(role));
    }
    // Waitany, Testany, Waitsome, Testsome, and the two that ask only.
    assert_eq!(count(Role::Index), 6);
}
