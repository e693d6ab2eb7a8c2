// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole outputs of `rankpoint explain type`, and errors as users see them.

use layout::Isa;

use super::answer::explain;
use super::options::TypeOptions;

fn options(expression: &str) -> TypeOptions {
    TypeOptions {
        expression: expression.to_owned(),
        same_as: None,
        elements: 1,
        measure: false,
    }
}

/// What is printed, with the kernels of every processor.
fn explained(expression: &str) -> String {
    layout::limit_isa(Isa::Portable);
    explain(&options(expression), Isa::Portable).unwrap()
}

fn same(expression: &str, other: &str) -> String {
    let mut options = options(expression);
    options.same_as = Some(other.to_owned());
    let text = explain(&options, Isa::Portable).unwrap();
    let last = text.lines().last().unwrap();
    last.strip_prefix("same as").unwrap().trim().to_owned()
}

#[test]
fn a_vector_step_by_step() {
    let expected = "\
vector          repeat    8 B at 0 x 2 every 8 B
                fold      16 B at 0
                repeat    16 B at 0 x 4 every 64 B

form            16 B at 0 x 4 every 64 B
kind            strided block of 2 dimensions
size            64 B in 4 blocks of 16 B
extent          208 B from 0
true extent     208 B from 0
kernel          rows of 16-byte runs: 4 runs, 64 B
predicted       7.1 B a cycle out of the level-1 cache (a rough model)
";
    assert_eq!(
        explained("vector(count=4,blocklen=2,stride=8,double)"),
        expected
    );
    assert_eq!(explained("MPI_Type_vector(4, 2, 8, MPI_DOUBLE)"), expected);
}

#[test]
fn a_box_of_bytes_step_by_step() {
    let expected = "\
subarray        repeat    1 B at 0 x 24 every 1 B
                fold      24 B at 0
                repeat    24 B at 0 x 256 every 2560 B
                repeat    24 B at 0 x 256 every 2560 B x 256 every 670720 B
                elide     24 B at 2019864 x 256 every 2560 B x 256 every 670720 B

form            24 B at 2019864 x 256 every 2560 B x 256 every 670720 B
kind            strided block of 3 dimensions
size            1572864 B in 65536 blocks of 24 B
extent          175728640 B from 0
true extent     171686424 B from 2019864
kernel          rows of 24-byte runs: 65536 runs, 1572864 B
predicted       1.0 B a cycle out of the level-3 cache (a rough model)
";
    let text = explained("subarray([262,262,2560],[256,256,24],[3,3,24],byte)");
    assert_eq!(text, expected);
}

#[test]
fn records_step_by_step() {
    let expected = "\
struct          pieces    [4 B at 0; 8 B at 8; 6 B at 16]
                fold      [4 B at 0; 14 B at 8]
contiguous      repeat    [4 B at 0; 14 B at 8] x 100 every 24 B

form            [4 B at 0; 14 B at 8] x 100 every 24 B
kind            repeated list of pieces
size            1800 B in 200 blocks
extent          2400 B from 0
true extent     2398 B from 0
kernel          records of 18 bytes: 200 runs, 1800 B
predicted       4.5 B a cycle out of the level-1 cache (a rough model)
";
    let text = explained("contiguous(100, struct([1,1,6],[0,8,16],[int,double,char]))");
    assert_eq!(text, expected);
}

#[test]
fn a_repeated_list_and_a_distributed_array() {
    let text = explained("indexed_block(1,[0,3,7,20,23,27],double)");
    let expected = "form            8 B at 3 offsets (0, 24, 56) x 2 every 160 B\n";
    assert!(text.contains(expected), "{text}");
    let regular = "regular   8 B at 3 offsets (0, 24, 56) x 2 every 160 B\n";
    assert!(text.contains(regular), "{text}");
    assert!(
        text.contains("table           3 offsets of 2 B each\n"),
        "{text}"
    );
    let wide = explained("hindexed_block(1,[0,262144,100000000001],byte)");
    assert!(
        wide.contains("table           3 offsets of 8 B each\n"),
        "{wide}"
    );

    let array = "darray(4,1,[10,10],[block,cyclic],[default,2],[2,2],fortran,double_int)";
    let expected = "form            12 B at 320 x 5 every 16 B x 2 every 160 B x 2 every 640 B\n";
    assert!(explained(array).contains(expected), "{}", explained(array));
}

#[test]
fn contiguous_and_empty_types_need_no_kernel() {
    let text = explained("resized(-8,64,contiguous(3,int))");
    assert!(text.contains("kind            contiguous\n"), "{text}");
    assert!(text.contains("size            12 B in 1 block of 12 B\n"));
    assert!(text.contains("extent          64 B from -8\n"));
    assert!(text.contains("kernel          none: the data are contiguous, from 0 on\n"));
    let sent = "predicted       nothing is packed: messages send these bytes as plain ones\n";
    assert!(text.ends_with(sent), "{text}");
    let mut apart = options("resized(0,64,contiguous(3,int))");
    apart.elements = 2;
    let text = explain(&apart, Isa::Portable).unwrap();
    assert!(text.contains(" B a cycle out of"), "{text}");
    let text = explained("dup(contiguous(0,int))");
    assert!(text.contains("kind            empty\n") && !text.contains("kernel"));
}

#[test]
fn types_are_compared() {
    let vector = "vector(4,2,8,double)";
    let cases = [
        (
            "indexed_block(2,[0,8,16,24],double)",
            "yes: the same form and bounds",
        ),
        ("hvector(4,16,64,byte)", "yes: the same form and bounds"),
        (
            "resized(0,256,vector(4,2,8,double))",
            "one element is: the same form; the bounds differ: lower bound 0 and extent 208, not 0 and 256",
        ),
        ("vector(4,2,8,float)", "no: 64 bytes, not 32"),
        (
            "hvector(2,1,8,vector(4,1,8,double))",
            "no: the same bytes in another order, from packed byte 8 on",
        ),
        (
            "vector(4,2,7,double)",
            "no: other bytes, from packed byte 16 on",
        ),
    ];
    for (other, expected) in cases {
        assert_eq!(same(vector, other), expected, "{other}");
    }
    // Rows with holes whose ends touch.
    let rows = "hvector(2,1,12,vector(2,1,2,int))";
    let listed = "indexed([1,2,1],[0,2,5],int)";
    assert_eq!(
        same(rows, listed),
        "yes: the same bytes in the same order, in different forms"
    );
}

#[test]
fn every_constructor_is_understood() {
    let cases = [
        ("contiguous(2, double)", "16 B at 0"),
        ("vector(2, 1, 2, int)", "4 B at 0 x 2 every 8 B"),
        ("hvector(int, 2, 1, stride=-12)", "4 B at 0 x 2 every -12 B"),
        ("indexed([1,2], [3,0], int)", "[4 B at 12; 8 B at 0]"),
        (
            "hindexed([1,1], displs=[4,0], short)",
            "2 B at 4 x 2 every -4 B",
        ),
        ("indexed_block(2, [0,3], int)", "8 B at 0 x 2 every 12 B"),
        ("hindexed_block(1, [0,5], char)", "1 B at 0 x 2 every 5 B"),
        ("struct([1,1], [0,9], [int,double])", "[4 B at 0; 8 B at 9]"),
        (
            "subarray([4,4],[2,2],[1,1],f,int)",
            "8 B at 20 x 2 every 16 B",
        ),
        (
            "darray(2,1,[5],[cyclic],[default],[2],int)",
            "4 B at 4 x 2 every 8 B",
        ),
        ("darray(1,0,[5],[none],[default],[1],int)", "20 B at 0"),
        ("resized(0, 3*4, type=int)", "4 B at 0"),
        ("dup(2int)", "8 B at 0"),
    ];
    for (expression, form) in cases {
        let text = explained(expression);
        let line = text.lines().find(|line| line.starts_with("form ")).unwrap();
        assert_eq!(
            line.strip_prefix("form").unwrap().trim(),
            form,
            "{expression}"
        );
    }
}

/// Expression, column and complaint.
const MISTAKES: &[(&str, usize, &str)] = &[
    (
        "vector(4,-2,8,double)",
        10,
        "blocklen is -2, expected 0 or more",
    ),
    (
        "vector(4,2,double)",
        1,
        "stride is missing, expected vector(count, blocklen, stride, type)",
    ),
    (
        "vector(1,2,3,4,double)",
        14,
        "one argument too many, expected vector(count, blocklen, stride, type)",
    ),
    (
        "vector(1,2,x=3,double)",
        12,
        "no argument `x` in vector(count, blocklen, stride, type)",
    ),
    ("vector(1,2,3,double,count=1)", 21, "count is given twice"),
    (
        "vector",
        1,
        "expected vector(count, blocklen, stride, type)",
    ),
    (
        "contiguous(2,7)",
        14,
        "one argument too many, expected contiguous(count, type)",
    ),
    (
        "contiguous(2,type=7)",
        19,
        "expected a type, such as double or contiguous(3, double)",
    ),
    ("contiguous([2],int)", 12, "expected a number for count"),
    (
        "contiguous(9223372036854775807,int)",
        1,
        "a size or an offset of the type exceeds 63 bits",
    ),
    (
        "contiguous(2,dubble)",
        14,
        "no predefined type is called `dubble`; expected one such as double, int or MPI_INT32_T",
    ),
    (
        "indexed([1],[1,2],int)",
        13,
        "displs has 2 entries, expected 1 as in blocklens",
    ),
    (
        "indexed(1,[1,2],int)",
        9,
        "expected a list for blocklens, such as [1,2,3]",
    ),
    (
        "subarray([4,4],[2,5],[0,0],int)",
        19,
        "subsizes[1]: expected 1..=4",
    ),
    ("subarray([4],[2],[3],int)", 19, "starts[0]: expected 0..=2"),
    (
        "subarray([4],[2],[0],order=7,int)",
        28,
        "expected the order c or fortran",
    ),
    (
        "darray(4,4,[8],[block],[default],[4],int)",
        10,
        "rank is 4, expected less than 4",
    ),
    (
        "darray(4,0,[8],[block],[1],[4],int)",
        25,
        "dargs[0]: expected blocks that cover 8 elements",
    ),
    (
        "darray(4,0,[8],[blok],[1],[4],int)",
        17,
        "distribs[0]: expected block, cyclic or none",
    ),
    (
        "darray(4,0,[8],[block],[2],[3],int)",
        28,
        "psizes: expected sizes with the product 4",
    ),
];

#[test]
fn errors_point_at_the_column_and_say_what_was_expected() {
    for &(expression, column, expected) in MISTAKES {
        let error = explain(&options(expression), Isa::Portable).unwrap_err();
        let first = error.lines().next().unwrap();
        assert_eq!(first, format!("column {column}: {expected}"));
        let mark = error.lines().nth(2).unwrap();
        assert_eq!(mark.find('^'), Some(column + 1), "{error}");
    }
    let error = explain(&options("vektor(4)"), Isa::Portable).unwrap_err();
    assert!(
        error.starts_with("column 1: no constructor is called `vektor`; there are contiguous,")
    );
}

#[test]
fn deep_nesting_and_many_steps_are_cut_short() {
    let deep = format!("{}int{}", "contiguous(1,".repeat(150), ")".repeat(150));
    let text = explained(&deep);
    assert!(text.contains("... 100 more steps"), "{text}");
    let mut large = options("contiguous(3,int)");
    large.elements = usize::MAX / 4;
    let error = explain(&large, Isa::Portable).unwrap_err();
    assert!(
        error.ends_with("elements exceed the address space"),
        "{error}"
    );
}

#[test]
fn copies_of_an_irregular_type_stay_together() {
    let text = explained("indexed([1000,2000],[0,5000],short_int)");
    let lines = [
        "form            [([2 B at 0; 4 B at 4] x 1000 every 8 B) at 0; ([2 B at 0; 4 B at 4] x 2000 every 8 B) at 40000]",
        "kind            list of forms",
        "size            18000 B in 6000 blocks",
    ];
    for expected in lines {
        assert!(text.lines().any(|line| line == expected), "{text}");
    }
}
