// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of multi-dimensional arrays (MPI-5.0, section 5.1.3 and 5.1.4): boxes, and the parts of distributed arrays.

use std::sync::Arc;

use layout::{ArrayOrder, Layout, Share, Slice};

use super::construct::natural;
use super::contents::Combiner;
use super::few::Few;
use super::{Argument, Datatype, Width, limits};
use crate::errors::{Error, ErrorClass, Result};

const ORDER_C: i32 = 12;
const ORDER_FORTRAN: i32 = 15;
const DISTRIBUTE_NONE: i32 = 16;
const DISTRIBUTE_BLOCK: i32 = 17;
const DISTRIBUTE_CYCLIC: i32 = 18;
/// MPI_DISTRIBUTE_DFLT_DARG.
const DEFAULT_ARGUMENT: i32 = 19;

fn order_of(order: i32) -> Result<ArrayOrder> {
    match order {
        ORDER_C => Ok(ArrayOrder::C),
        ORDER_FORTRAN => Ok(ArrayOrder::Fortran),
        _ => {
            let expected = "MPI_ORDER_C or MPI_ORDER_FORTRAN";
            Err(Error::argument(
                ErrorClass::ERR_ARG,
                "order",
                order,
                expected,
            ))
        }
    }
}

#[cold]
fn bad_dimension(name: &'static str, value: i64, index: usize, expected: String) -> Error {
    let value = format!("{value} at index {index}");
    Error::argument(ErrorClass::ERR_ARG, name, value, expected)
}

/// A distributed array, as MPI_Type_create_darray describes it; one entry per dimension in each list.
#[derive(Clone, Copy, Debug)]
pub struct Distribution<'a> {
    /// Number of processes.
    pub size: i32,
    /// The process whose part is meant.
    pub rank: i32,
    /// Elements of the global array.
    pub global_sizes: &'a [i64],
    /// MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE.
    pub distributions: &'a [i32],
    /// Block lengths, or MPI_DISTRIBUTE_DFLT_DARG.
    pub arguments: &'a [i32],
    /// Processes of the grid.
    pub process_sizes: &'a [i32],
    /// MPI_ORDER_C or MPI_ORDER_FORTRAN: of the array. The process grid is always in C order.
    pub order: i32,
}

impl Datatype {
    /// A box of an array (MPI_Type_create_subarray).
    ///
    /// # Errors
    /// MPI_ERR_ARG when the box is not inside the array, or the type gets too large.
    pub fn subarray<N: Argument>(
        sizes: &[N],
        subsizes: &[N],
        starts: &[N],
        order: i32,
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        let array_order = order_of(order)?;
        if sizes.is_empty() || subsizes.len() != sizes.len() || starts.len() != sizes.len() {
            let expected = "1 or more, with as many sizes, subsizes and starts";
            return Err(Error::argument(
                ErrorClass::ERR_ARG,
                "ndims",
                sizes.len(),
                expected,
            ));
        }
        let mut slices = Few::<Slice, 4>::new(Slice::default());
        for (index, ((&size, &subsize), &start)) in
            sizes.iter().zip(subsizes).zip(starts).enumerate()
        {
            let (size, subsize, start) = (size.to_i64(), subsize.to_i64(), start.to_i64());
            if size < 1 {
                return Err(bad_dimension(
                    "array_of_sizes",
                    size,
                    index,
                    "1 or more".to_owned(),
                ));
            }
            if subsize < 1 || subsize > size {
                let expected = format!("from 1 to {size}");
                return Err(bad_dimension("array_of_subsizes", subsize, index, expected));
            }
            if start < 0 || start > size - subsize {
                let expected = format!("from 0 to {}", size - subsize);
                return Err(bad_dimension("array_of_starts", start, index, expected));
            }
            slices.push(Slice {
                size: size as usize,
                subsize: subsize as usize,
                start: start as usize,
            });
        }
        let layout = Layout::subarray(&slices, array_order, old.layout())
            .map_err(|error| limits::of_sizes(error, "array_of_sizes", sizes, array_order, old))?;
        Self::derived(layout, Combiner::Subarray, old, |contents| {
            contents.integers.push(sizes.len() as i32);
            contents
                .numbers(width, sizes)
                .numbers(width, subsizes)
                .numbers(width, starts);
            contents.integers.push(order);
        })
    }

    /// One process's part of a distributed array (MPI_Type_create_darray).
    ///
    /// # Errors
    /// MPI_ERR_ARG when the distribution contradicts itself, or the type gets too large.
    pub fn darray(array: Distribution<'_>, old: &Arc<Self>, width: Width) -> Result<Arc<Self>> {
        let order = order_of(array.order)?;
        check_grid(&array)?;
        let dimensions = array.global_sizes.len();
        let coordinates = coordinates(&array);
        let shares: Vec<Share> = (0..dimensions)
            .map(|index| share(&array, index, coordinates[index]))
            .collect::<Result<_>>()?;
        let global = array.global_sizes;
        let layout = Layout::darray(&shares, order, old.layout())
            .map_err(|error| limits::of_sizes(error, "array_of_gsizes", global, order, old))?;
        Self::derived(layout, Combiner::Darray, old, |contents| {
            contents
                .integers
                .extend_from_slice(&[array.size, array.rank, dimensions as i32]);
            contents.numbers(width, array.global_sizes);
            contents.integers.extend_from_slice(array.distributions);
            contents.integers.extend_from_slice(array.arguments);
            contents.integers.extend_from_slice(array.process_sizes);
            contents.integers.push(array.order);
        })
    }
}

fn check_grid(array: &Distribution<'_>) -> Result<()> {
    let dimensions = array.global_sizes.len();
    let lengths = [
        array.distributions.len(),
        array.arguments.len(),
        array.process_sizes.len(),
    ];
    if dimensions == 0 || lengths.iter().any(|&length| length != dimensions) {
        let expected = "1 or more, with as many entries in every array";
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            "ndims",
            dimensions,
            expected,
        ));
    }
    if array.size < 1 {
        let expected = "1 or more processes";
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            "size",
            array.size,
            expected,
        ));
    }
    if let Some(index) = array.process_sizes.iter().position(|&size| size < 1) {
        let value = i64::from(array.process_sizes[index]);
        let expected = "1 or more".to_owned();
        return Err(bad_dimension("array_of_psizes", value, index, expected));
    }
    let processes = array
        .process_sizes
        .iter()
        .try_fold(1i32, |product, &n| product.checked_mul(n));
    if processes != Some(array.size) {
        let value = format!("{:?}", array.process_sizes);
        let expected = format!("sizes with the product {}, which is 'size'", array.size);
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            "array_of_psizes",
            value,
            expected,
        ));
    }
    if array.rank < 0 || array.rank >= array.size {
        let expected = format!("from 0 to {}", array.size - 1);
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            "rank",
            array.rank,
            expected,
        ));
    }
    Ok(())
}

/// The place of the process in the grid, which is in C order.
fn coordinates(array: &Distribution<'_>) -> Vec<usize> {
    let mut rest = array.rank;
    let mut coordinates: Vec<usize> = array
        .process_sizes
        .iter()
        .rev()
        .map(|&processes| {
            let here = rest % processes;
            rest /= processes;
            here as usize
        })
        .collect();
    coordinates.reverse();
    coordinates
}

/// The share of one dimension that a process owns.
fn share(array: &Distribution<'_>, index: usize, coordinate: usize) -> Result<Share> {
    let argument = array.arguments[index];
    let global = array.global_sizes[index];
    if global < 1 {
        let expected = "1 or more".to_owned();
        return Err(bad_dimension("array_of_gsizes", global, index, expected));
    }
    let global = natural("array_of_gsizes", global)?;
    let processes = array.process_sizes[index] as usize;
    let length = |default: usize| match argument {
        DEFAULT_ARGUMENT => Ok(default),
        1.. => Ok(argument as usize),
        _ => {
            let expected = "1 or more, or MPI_DISTRIBUTE_DFLT_DARG".to_owned();
            let argument = i64::from(argument);
            Err(bad_dimension("array_of_dargs", argument, index, expected))
        }
    };
    match array.distributions[index] {
        DISTRIBUTE_NONE if processes == 1 => Ok(Share::all(global)),
        DISTRIBUTE_NONE => {
            let expected = "1 process where nothing is distributed".to_owned();
            let processes = processes as i64;
            Err(bad_dimension("array_of_psizes", processes, index, expected))
        }
        DISTRIBUTE_BLOCK => {
            let length = length(global.div_ceil(processes))?;
            if length.saturating_mul(processes) < global {
                let expected = format!("blocks that cover {global} elements");
                let length = length as i64;
                return Err(bad_dimension("array_of_dargs", length, index, expected));
            }
            Ok(Share::block(global, length, coordinate))
        }
        DISTRIBUTE_CYCLIC => Ok(Share::cyclic(global, length(1)?, processes, coordinate)),
        other => {
            let expected = "MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE";
            Err(bad_dimension(
                "array_of_distribs",
                i64::from(other),
                index,
                expected.to_owned(),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Predefined;
    use super::*;

    fn int() -> Arc<Datatype> {
        Predefined::find(super::super::predefined::INT)
            .unwrap()
            .datatype()
            .clone()
    }

    fn indices(datatype: &Datatype) -> Vec<i64> {
        let blocks = datatype.layout().blocks();
        blocks
            .iter()
            .flat_map(|block| (0..block.bytes as i64 / 4).map(|i| block.offset / 4 + i))
            .collect()
    }

    /// The parts of all processes cover every element of the array once, as the distribution says.
    #[test]
    fn parts_of_a_distributed_array_cover_it() {
        type Case = (
            &'static [i64],
            &'static [i32],
            &'static [i32],
            &'static [i32],
        );
        let cases: [Case; 4] = [
            (&[10], &[DISTRIBUTE_CYCLIC], &[3], &[2]),
            (
                &[7, 5],
                &[DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC],
                &[DEFAULT_ARGUMENT; 2],
                &[2, 3],
            ),
            (
                &[4, 6, 9],
                &[DISTRIBUTE_NONE, DISTRIBUTE_CYCLIC, DISTRIBUTE_BLOCK],
                &[DEFAULT_ARGUMENT, 2, 5],
                &[1, 2, 2],
            ),
            (&[3], &[DISTRIBUTE_BLOCK], &[2], &[4]),
        ];
        for (global_sizes, distributions, arguments, process_sizes) in cases {
            for order in [ORDER_C, ORDER_FORTRAN] {
                let total: i64 = global_sizes.iter().product();
                let mut owner = vec![None; total as usize];
                let size = process_sizes.iter().product();
                for rank in 0..size {
                    let part = Distribution {
                        size,
                        rank,
                        global_sizes,
                        distributions,
                        arguments,
                        process_sizes,
                        order,
                    };
                    let datatype = Datatype::darray(part, &int(), Width::Int).unwrap();
                    assert_eq!(datatype.layout().extent(), total * 4);
                    let mine = indices(&datatype);
                    assert!(mine.is_sorted());
                    for index in mine {
                        assert_eq!(owner[index as usize].replace(rank), None);
                    }
                }
                assert!(owner.iter().all(Option::is_some), "{global_sizes:?}");
            }
        }
    }

    #[test]
    fn cyclic_blocks_go_round() {
        let part = Distribution {
            size: 2,
            rank: 1,
            global_sizes: &[11],
            distributions: &[DISTRIBUTE_CYCLIC],
            arguments: &[2],
            process_sizes: &[2],
            order: ORDER_C,
        };
        let datatype = Datatype::darray(part, &int(), Width::Count).unwrap();
        assert_eq!(indices(&datatype), [2, 3, 6, 7, 10]);
        assert_eq!(datatype.contents().integers[..], [2, 1, 1, 18, 2, 2, 12]);
        assert_eq!(datatype.contents().counts[..], [11]);
    }

    #[test]
    fn boxes_outside_the_array_are_errors() {
        let make = |subsize, start, order| {
            Datatype::subarray(&[4], &[subsize], &[start], order, &int(), Width::Int)
        };
        assert!(make(2, 2, ORDER_C).is_ok());
        for (subsize, start, order) in [(0, 0, 12), (5, 0, 12), (2, 3, 12), (2, -1, 12), (2, 0, 7)]
        {
            let error = make(subsize, start, order).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_ARG);
        }
    }
}
