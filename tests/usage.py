# SPDX-License-Identifier: MIT OR Apache-2.0
"""The usage of a script, which the text at its head tells."""

import sys

LEAST = 2


def answer(text):
    """Prints the text and ends where --help asks for it, or where PREFIX or FOLDER is missing, which is an error."""
    words = sys.argv[1:]
    if "--help" in words or "-h" in words:
        print(text.strip())
        sys.exit(0)
    if sum(not word.startswith("--") for word in words) < LEAST:
        print(text.strip(), file=sys.stderr)
        sys.exit(2)
