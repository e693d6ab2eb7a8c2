//! Runs a test function on N ranks and asserts on every rank's outcome.
