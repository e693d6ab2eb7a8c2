# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fetches sources of Debian packages, from where the machine's own apt gets its packages, and builds them once."""

import hashlib
import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

HELPER = "/usr/lib/apt/apt-helper"


class Unavailable(Exception):
    """The sources cannot be had on this machine, for a reason that is no fault of the code."""


@dataclass(frozen=True)
class Source:
    """An archive of sources."""

    # Who is told of.
    project: str
    version: str
    # The archive and its digest.
    archive: str
    sha256: str
    # A package of the same source, whose place is also that of the source.
    package: str

    def whole(self, path):
        """Whether the file is there with the content that it should have."""
        return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256

    def address(self):
        """Where apt would fetch the package from, or nothing."""
        printed, status = command(["apt-get", "-qq", "download", "--print-uris", self.package])
        found = [line.split()[:2] for line in printed.splitlines() if line.startswith("'")]
        if status != 0 or not found:
            return None
        address, name = found[0]
        # The epoch of a version is no part of the names of sources.
        if not re.sub(r"_\d+%3a", "_", name).startswith(f"{self.package}_{self.version}"):
            raise Unavailable(f"apt has {name} here, and what is expected of it is for {self.project} {self.version} of Debian 12")
        return address.strip("'")

    def fetch(self, folder):
        """Has apt fetch the archive into a folder."""
        path = folder / self.archive
        if self.whole(path):
            return path
        if not Path(HELPER).exists():
            raise Unavailable(f"there is no apt on this machine to fetch {self.archive} with")
        address = self.address()
        if address is None and os.geteuid() == 0:
            print("apt knows no packages: apt-get update", flush=True)
            command(["apt-get", "update", "-qq"])
            address = self.address()
        if address is None:
            raise Unavailable(f"apt knows no package {self.package} (offline, or no lists of packages and not root)")
        address = f"{address.rpartition('/')[0]}/{self.archive}"
        print(f"fetching {self.archive} with apt", flush=True)
        printed, status = command([HELPER, "download-file", address, str(path), f"SHA256:{self.sha256}"])
        if status != 0 or not self.whole(path):
            raise Unavailable(f"apt could not fetch {self.archive}: {' '.join(printed.split())[-200:]}")
        return path

    def unpack(self, folder, part):
        """Fetches the archive and unpacks a folder of it."""
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(self.fetch(folder)) as tar:
            wanted = (member for member in tar if member.name.startswith(part + "/"))
            # What the digest vouches for needs no filter, which older versions of Python do not have.
            tar.extractall(folder, members=wanted)


def command(words, folder=None, settings=None):
    """What a command printed, both ways, and its exit status."""
    done = subprocess.run(
        words, cwd=folder, text=True, errors="replace", env={**os.environ, **(settings or {})},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    return done.stdout, done.returncode


def must(words, folder=None):
    """What a command printed that has to succeed."""
    printed, status = command(words, folder)
    if status != 0:
        sys.exit(f"{' '.join(map(str, words))} ended with {status}:\n{printed[-4000:]}")
    return printed


def once(stamp, state, action):
    """Does something, unless the stamp says that it was done in this state."""
    if stamp.exists() and stamp.read_text(encoding="utf-8") == state:
        return
    action()
    stamp.write_text(state, encoding="utf-8")
