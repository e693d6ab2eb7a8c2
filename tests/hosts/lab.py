#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Several hosts on one Linux machine, for tests that must cross hosts.

usage: lab.py FOLDER up N             start the hosts h1 ... hN, which replace those of an earlier `up`
       lab.py FOLDER exec HOST CMD... run a command on a host, in the current directory
       lab.py FOLDER link HOST up|down
                                      plug or unplug a host's cable
       lab.py FOLDER kill HOST        unplug it, then end all of its processes at once
       lab.py FOLDER restart HOST     the same, and the host is there again with its address
       lab.py FOLDER down             end all hosts

A host is a process with network, host name, shared memory, process ids and mounts of its own; the file system is shared. Host K has the
address 10.83.NET.K on a bridge, which lives in a namespace of its own, so that the machine's own network is neither used nor
changed. Each host runs an sshd with keys of this lab, if there is one on the machine, and its ssh reaches the others. FOLDER holds the state of one lab.
While hosts are up, the kernel does not group processes by session (kernel.sched_autogroup_enabled is 0): some kernels (docs/clusters.md)
let sessions that share cores and sleep often starve each other for seconds, and the hosts are such sessions.
Needs root, util-linux and iproute2; exits with status 77 and says why where hosts cannot be made.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

UNAVAILABLE = 77
TOOLS = ["unshare", "nsenter", "ip", "mount", "hostname"]
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
LIMIT_S = 20
# More than any test has ranks.
SLOTS = 64
AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")


class Unavailable(Exception):
    """Why hosts cannot be made here."""


def run(*command, check=True):
    """Runs a command in silence."""
    command = [str(word) for word in command]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if check and done.returncode != 0:
        raise Unavailable(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done


def started_at(pid):
    """When a process was started, in the kernel's ticks; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def set_autogroup(value):
    """Sets whether the kernel groups processes by session; what it was, or None where the kernel has no such setting."""
    try:
        before = AUTOGROUP.read_text(encoding="ascii").strip()
        AUTOGROUP.write_text(value, encoding="ascii")
    except OSError:
        return None
    return before


class Lab:
    """The hosts whose state a folder holds."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.file = self.folder / "lab.json"
        self.state = json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else {"processes": {}}

    @property
    def hosts(self):
        """The names of the hosts."""
        return [name for name in self.state["processes"] if name != "bridge"]

    def address(self, host):
        """The address of a host."""
        return f"10.83.{self.state['net']}.{host[1:]}"

    def pid(self, name):
        """The first process of a host, or of the bridge."""
        pid, start = self.state["processes"].get(name, (None, None))
        if pid is None or started_at(pid) != start:
            raise Unavailable(f"{name} is not running")
        return pid

    def up(self, count):
        """Starts hosts."""
        if os.geteuid() != 0:
            raise Unavailable("only root makes network namespaces")
        missing = [tool for tool in TOOLS if not shutil.which(tool)]
        if missing:
            raise Unavailable(f"not found: {', '.join(missing)}")
        self.down()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.state = {"net": os.getpid() % 250, "processes": {}, "autogroup": set_autogroup("0")}
        try:
            self.start("bridge", ["unshare", "--net"])
            self.in_bridge("ip", "link", "add", "br0", "type", "bridge")
            self.in_bridge("ip", "link", "set", "br0", "up")
            hosts = [f"h{number}" for number in range(1, count + 1)]
            names = "".join(f"{self.address(host)} {host}\n" for host in hosts)
            (self.folder / "names").write_text("127.0.0.1 localhost\n" + names, encoding="utf-8")
            for host in hosts:
                self.start_host(host)
            if os.access(SSHD, os.X_OK) and shutil.which("ssh-keygen"):
                self.start_sshd()
        except BaseException:
            self.down()
            raise

    def start(self, name, unshare):
        """Starts the process that holds namespaces: `sleep`, or a child of it in a process namespace."""
        own = "--pid" in unshare
        log = (self.folder / f"{name}.log").open("w")
        process = subprocess.Popen(
            [*unshare, "sleep", "infinity"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        until = time.monotonic() + LIMIT_S
        pid = None
        while time.monotonic() < until:
            if process.poll() is not None:
                text = (self.folder / f"{name}.log").read_text(encoding="utf-8").strip()
                raise Unavailable(f"{' '.join(unshare)}: {text}")
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
            pid = int(children[0]) if own and children else None if own else process.pid
            # The namespaces are there once the program is.
            if pid and Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip() == "sleep":
                break
            time.sleep(0.005)
        else:
            raise Unavailable(f"{' '.join(unshare)} takes too long")
        self.state["processes"][name] = (pid, started_at(pid))
        self.save()

    def start_host(self, host, card=None):
        """Starts a host and plugs in its cable, with the address of its network card, if that has to be a certain one."""
        spaces = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self.start(host, ["unshare", *spaces])
        pid, cable = self.pid(host), f"to-{host}"
        self.in_bridge("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", pid)
        self.in_bridge("ip", "link", "set", cable, "master", "br0", "up")
        address = f" && ip link set eth0 address {card}" if card else ""
        setup = (
            f"hostname {host} && mount -t tmpfs -o mode=1777 shm /dev/shm && mount -t tmpfs -o mode=755 run /run"
            f" && mkdir /run/sshd && mount --bind {self.folder}/names /etc/hosts"
            f"{address} && ip link set lo up && ip addr add {self.address(host)}/24 dev eth0 && ip link set eth0 up"
        )
        run(*self.enter(host), "sh", "-c", setup)

    def start_sshd(self):
        """Starts sshd on every host, with one key for all."""
        keys = self.folder / "ssh"
        shutil.rmtree(keys, ignore_errors=True)
        keys.mkdir(mode=0o700)
        for name in ["user", "host"]:
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name)
        shutil.copy(keys / "user.pub", keys / "authorized")
        key = " ".join((keys / "host.pub").read_text(encoding="ascii").split()[:2])
        (keys / "known").write_text("".join(f"{host} {key}\n" for host in self.hosts), encoding="ascii")
        client = f"""
IdentityFile {keys}/user
IdentitiesOnly yes
IdentityAgent none
UserKnownHostsFile {keys}/known
StrictHostKeyChecking yes
LogLevel ERROR
"""
        server = f"""
HostKey {keys}/host
AuthorizedKeysFile {keys}/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
MaxStartups 100
"""
        (keys / "config").write_text(client, encoding="ascii")
        (keys / "sshd_config").write_text(server, encoding="ascii")
        for host in self.hosts:
            self.start_sshd_on(host)

    def start_sshd_on(self, host):
        """Starts sshd on a host, with the key that all have."""
        keys = self.folder / "ssh"
        if Path("/etc/ssh/ssh_config").exists():
            run(*self.enter(host), "mount", "--bind", keys / "config", "/etc/ssh/ssh_config")
        run(*self.enter(host), SSHD, "-f", keys / "sshd_config", "-E", self.folder / f"{host}.sshd.log")

    @property
    def ssh(self):
        """The words of an ssh that knows the hosts; None without sshd."""
        config = self.folder / "ssh/config"
        return ["ssh", "-F", str(config)] if config.exists() else None

    def enter(self, host):
        """The words of a command that runs another one on a host."""
        return ["nsenter", "-t", str(self.pid(host)), "-m", "-u", "-i", "-n", "-p", "--"]

    def flags(self, count):
        """The flags of an mpiexec outside of the hosts that spread ranks over the first so many of them, in turn."""
        launcher = f"{sys.executable} {Path(__file__).resolve()} {self.folder} exec"
        names = ",".join(f"{host}:{SLOTS}" for host in self.hosts[:count])
        return ["-hosts", names, "--map-by", "node", "--launcher", launcher]

    def in_bridge(self, *command):
        """Runs a command where the bridge is."""
        return run("nsenter", "-t", self.pid("bridge"), "-n", "--", *command)

    def link(self, host, state):
        """Plugs a host's cable in or out."""
        self.in_bridge("ip", "link", "set", f"to-{host}", state)

    def kill(self, host):
        """A host loses its power: nobody gets a last packet from it."""
        self.link(host, "down")
        self.end(host)

    def restart(self, host):
        """A host loses its power, and is there again with its address at once."""
        card = run(*self.enter(host), "ip", "-brief", "link", "show", "eth0").stdout.split()[2]
        self.kill(host)
        # The cable of the old one goes with it, sooner or later.
        run("nsenter", "-t", self.pid("bridge"), "-n", "--", "ip", "link", "del", f"to-{host}", check=False)
        self.start_host(host, card)
        if self.ssh:
            self.start_sshd_on(host)

    def end(self, name):
        """Ends a host or the bridge."""
        pid, start = self.state["processes"].pop(name)
        self.save()
        if started_at(pid) == start:
            os.kill(pid, signal.SIGKILL)
            until = time.monotonic() + LIMIT_S
            while started_at(pid) == start and time.monotonic() < until:
                time.sleep(0.005)

    def down(self):
        """Ends all hosts."""
        for name in list(self.state["processes"]):
            self.end(name)
        if before := self.state.pop("autogroup", None):
            set_autogroup(before)
        if (self.folder / "lab.json").exists():
            shutil.rmtree(self.folder)

    def save(self):
        """Writes the state."""
        self.file.write_text(json.dumps(self.state), encoding="utf-8")

    def processes(self, host):
        """The command lines of what runs on a host, beside what belongs to it."""
        script = "for each in /proc/[0-9]*; do tr '\\0' ' ' <$each/cmdline 2>/dev/null && echo; done"
        lines = run(*self.enter(host), "sh", "-c", script).stdout.splitlines()
        own = ("sleep infinity", "sshd", SSHD, "sh -c for each", "tr ")
        return [line.strip() for line in lines if line.strip() and not line.startswith(own)]


def main(words):
    """The command line."""
    lab, verb, *rest = Lab(words[0]), *words[1:]
    if verb == "exec":
        command = [*lab.enter(rest[0]), "sh", "-c", 'cd "$1" 2>/dev/null; shift; exec "$@"', "sh", os.getcwd(), *rest[1:]]
        os.execvp(command[0], command)
    if verb == "up":
        lab.up(int(rest[0]))
    else:
        {"link": lab.link, "kill": lab.kill, "restart": lab.restart, "down": lab.down}[verb](*rest)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Unavailable as why:
        print(f"lab: {why}", file=sys.stderr)
        sys.exit(UNAVAILABLE)
    except (IndexError, KeyError, ValueError):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
