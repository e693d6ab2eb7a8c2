#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
echo "mpifort: Rankpoint has no Fortran bindings yet; C and C++ programs build with mpicc and mpicxx" >&2
exit 1
