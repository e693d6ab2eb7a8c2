//! What MPI means: process, matching, protocols, requests, progress, communicators.
