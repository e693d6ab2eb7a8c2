// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of a box needs no halos, and what does.

use crate::geometry::Box3;
use crate::radius::Radius;

/// The points of a box whose stencil stays within it. Empty if the box is too thin.
pub fn interior(own: &Box3, radius: &Radius) -> Box3 {
    let mut inner = *own;
    for axis in 0..3 {
        let start = own.start[axis].saturating_add(radius.reach(axis, -1));
        inner.start[axis] = start.min(own.end[axis]);
        let end = own.end[axis].saturating_sub(radius.reach(axis, 1));
        inner.end[axis] = end.max(inner.start[axis]);
    }
    if inner.is_empty() {
        inner.end = inner.start;
    }
    inner
}

/// The rest of the box in at most six slabs without common points: at +x, +y, +z, -x, -y, -z, each of what the ones before have left.
pub fn exterior(own: &Box3, radius: &Radius) -> Vec<Box3> {
    let inner = interior(own, radius);
    if inner.is_empty() {
        return vec![*own];
    }
    let mut rest = *own;
    let mut slabs = Vec::with_capacity(6);
    for is_high in [true, false] {
        for axis in 0..3 {
            let mut slab = rest;
            if is_high {
                slab.start[axis] = inner.end[axis];
                rest.end[axis] = inner.end[axis];
            } else {
                slab.end[axis] = inner.start[axis];
                rest.start[axis] = inner.start[axis];
            }
            if !slab.is_empty() {
                slabs.push(slab);
            }
        }
    }
    slabs
}
