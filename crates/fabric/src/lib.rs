//! How bytes move: shared memory segments, rings, doorbells, cross-process copy.
