// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of files on ranks that are threads of one program.
