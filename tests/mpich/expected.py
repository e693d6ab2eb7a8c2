# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads MPICH's lists of tests, and ours of what is expected of them."""

import re
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

LISTS = ["testlist", "testlist.dtp"]
VERDICTS = ["fails", "unbuilt", "long", "never"]
# Settings of MPICH itself mean nothing to another library, and its mark of a known failure is about MPICH.
FOREIGN = re.compile(r"env=MPIR_|xfail=|strict=|mpiversion=|timeLimit=|mpiexecarg=")


@dataclass
class Test:
    """A program, how it is run, and what is expected of it."""

    name: str
    ranks: int
    arguments: list = field(default_factory=list)
    settings: dict = field(default_factory=dict)
    judge: str = "no errors"
    gibibytes: float = 0.0
    is_long: bool = False
    verdict: str = ""
    why: str = ""

    def words(self):
        return [str(self.ranks), *self.arguments]

    def __str__(self):
        settings = [f"{key}={value}" for key, value in self.settings.items()]
        return " ".join([self.name, *self.words(), *settings])


@dataclass
class Rule:
    """A line of expected.txt: the tests that it is about, and what is said of them."""

    verb: str
    name: str
    words: list
    why: str
    used: int = 0

    def covers(self, test):
        return fnmatch(test.name, self.name) and all(word in test.words() for word in self.words)


def rules(path):
    """The lines of expected.txt."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text, _, why = (part.strip() for part in line.partition("#"))
        if not text:
            continue
        verb, name, *words = text.split()
        if verb not in ["directory", "run", *VERDICTS] or (verb in VERDICTS and not why):
            sys.exit(f"{path}:{number}: a line is 'directory NAME [SETTING=VALUE]', 'run NAME RANKS' or one of "
                     f"{', '.join(VERDICTS)} with a name and the reason after a #")
        found.append(Rule(verb, name, words, why))
    return found


def parse(directory, line):
    """A line of a list of MPICH's, or nothing."""
    words = line.partition("#")[0].split()
    if len(words) < 2 or not words[1].isdigit():
        return None
    test = Test(f"{directory}/{words[0]}", int(words[1]))
    for word in words[2:]:
        key, _, value = word.partition("=")
        if FOREIGN.match(word) or not value:
            continue
        if key == "arg":
            test.arguments.append(value)
        elif key == "env":
            name, _, setting = value.partition("=")
            test.settings[name] = setting
        elif key == "mem":
            test.gibibytes = float(value)
        elif key == "resultTest":
            test.judge = {"TestStatus": "error", "TestErrFatal": "error", "TestStatusNoErrors": "no errors, error"}[value]
        else:
            sys.exit(f"{directory}: '{word}' in a list of tests is not understood")
    return test


def tests(suite, lines):
    """All tests of the directories that the rules name, each with what is expected of it."""
    found = []
    for rule in (rule for rule in lines if rule.verb == "directory"):
        listed = [parse(rule.name, line) for file in LISTS for line in text(suite / rule.name / file)]
        ours = [Test(other.name, int(other.words[0]), other.words[1:], judge="status")
                for other in lines if other.verb == "run" and Path(other.name).parent == Path(rule.name)]
        settings = dict(word.split("=") for word in rule.words)
        for test in filter(None, listed + ours):
            test.settings.update(settings)
            # Lines that differ in settings of MPICH's only are one test here.
            if str(test) not in map(str, found):
                found.append(test)
    for test in found:
        for rule in lines:
            if rule.verb in VERDICTS and rule.covers(test):
                rule.used += 1
                if rule.verb == "long":
                    test.is_long = True
                else:
                    test.verdict, test.why = rule.verb, rule.why
    stale = [f"{rule.verb} {rule.name} {' '.join(rule.words)}" for rule in lines if rule.verb in VERDICTS and not rule.used]
    if stale:
        sys.exit("no test is meant by: " + "; ".join(stale))
    return found


def text(path):
    """The lines of a file that need not be there."""
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
