#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Starts the first ranks of a job that has many more, and says what private memory rank 0 needs for those that it talks to.

usage: few.py PROGRAM RANKS PEERS [ARGUMENT]...

A server of PMI-1 gives each process a job of RANKS ranks on as many nodes, of which 1 + PEERS exist. PROGRAM is few.c, built; its arguments
are PEERS and ARGUMENT. What it prints is printed.
"""

import os
import socket
import subprocess
import sys
import threading

LIMIT_S = 120


class Server:
    """The keys of all processes, and a barrier of those that exist."""

    def __init__(self, ranks, count):
        self.keys = {"PMI_process_mapping": f"(vector,(0,{ranks},1))"}
        self.barrier = threading.Barrier(count)
        self.asked = set()

    def answer(self, words):
        """The line that answers a request."""
        request = dict(word.split("=", 1) for word in words)
        kind = request["cmd"]
        if kind == "barrier_in":
            self.barrier.wait(LIMIT_S)
            return "cmd=barrier_out rc=0"
        if kind == "put":
            self.keys[request["key"]] = request["value"]
            return "cmd=put_result rc=0"
        if kind == "get":
            self.asked.add(request["key"])
            value = self.keys.get(request["key"])
            return "cmd=get_result rc=1" if value is None else f"cmd=get_result rc=0 value={value}"
        return {
            "init": "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1",
            "get_maxes": "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024",
            "get_appnum": "cmd=appnum rc=0 appnum=0",
            "get_universe_size": "cmd=universe_size rc=0 size=-1",
            "get_my_kvsname": "cmd=my_kvsname rc=0 kvsname=few",
            "finalize": "cmd=finalize_ack rc=0",
        }[kind]

    def serve(self, end):
        """Answers one process until it ends."""
        with end, end.makefile("rw") as stream:
            for line in stream:
                stream.write(self.answer(line.split()) + "\n")
                stream.flush()


def main(words):
    program, ranks, peers = words[0], int(words[1]), int(words[2])
    server = Server(ranks, peers + 1)
    processes = []
    for rank in range(peers + 1):
        here, there = socket.socketpair()
        threading.Thread(target=server.serve, args=(here,), daemon=True).start()
        settings = {"PMI_FD": str(there.fileno()), "PMI_RANK": str(rank), "PMI_SIZE": str(ranks)}
        with there:
            process = subprocess.Popen([program, str(peers), *words[3:]], env={**os.environ, **settings}, pass_fds=[there.fileno()])
        processes.append(process)
    try:
        ends = [process.wait(LIMIT_S) for process in processes]
    finally:
        for process in processes:
            process.kill()
    print(f"{len(server.keys) - 1} values put, {len(server.asked) - 1} of them asked for")
    return max(ends, key=abs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
