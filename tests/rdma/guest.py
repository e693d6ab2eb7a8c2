#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A virtual machine with an RDMA device, which is emulated over a network card of its own (soft-RoCE).

usage: guest.py CACHE LIMIT_S CMD...

Runs CMD in the machine, in the current directory and environment, prints its output and ends with its status. The machine runs
Debian's kernel, emulated by QEMU without hardware support; its root is the host's, read-only, under an overlay in memory: programs
are where they are on the host, and what they write is lost. The device is rxe0 at the address 10.78.0.1. CACHE keeps
the kernel. Exits with status 77 and says why where no such machine can be made. Times taken inside say nothing about any hardware.
"""

import lzma
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

UNAVAILABLE = 77
ADDRESS = "10.78.0.1"
DEVICE = "rxe0"
QEMU = "qemu-system-x86_64"
TOOLS = [QEMU, "busybox", "apt-cache", "apt-get", "dpkg-deb", "rdma", "ip"]
MODULES = [
    "virtio_pci", "9pnet_virtio", "9p", "overlay", "dummy", "crc32_generic", "crc32_pclmul", "ib_uverbs", "rdma_ucm", "rdma_rxe",
]
MEMORY_MIB = 3072
CORES = 2
# Seconds within which the machine has started, on a busy host.
START_S = 180
# How much faster or slower than the host's its clock may be.
CLOCK_TOLERANCE = 0.1

# The first process: loads modules, and makes the host's root its own.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for each in $(cat /modules/order); do insmod /modules/$each; done
share=trans=virtio,version=9p2000.L,msize=512000
mount -t tmpfs memory /memory; mkdir /memory/upper /memory/work
mount -t 9p -o $share,ro,cache=loose root /lower
mount -t overlay -o lowerdir=/lower,upperdir=/memory/upper,workdir=/memory/work root /root
for each in proc sys dev; do mount --move /$each /root/$each; done
mount -t tmpfs run /root/run; mkdir /root/run/guest
mount -t 9p -o $share control /root/run/guest
exec switch_root /root /bin/bash /run/guest/begin
"""

# The second one, with the host's programs: makes the device, runs the command and leaves its status.
BEGIN = """cd /run/guest
end() { echo "$1" >status.new; mv status.new status; echo o >/proc/sysrq-trigger; sleep 60; }
mkdir -p /dev/shm /dev/pts /run/lock
mount -t tmpfs -o mode=1777 memory /dev/shm; mount -t devpts -o ptmxmode=666 pts /dev/pts
ln -s /proc/self/fd /dev/fd; ln -s fd/0 /dev/stdin; ln -s fd/1 /dev/stdout; ln -s fd/2 /dev/stderr
hostname guest; echo "ADDRESS guest" >>/etc/hosts
ip link set lo up
{ ip link add net0 mtu 4200 type dummy && ip addr add ADDRESS/24 dev net0 && ip link set net0 up &&
    rdma link add DEVICE type rxe netdev net0; } >log 2>&1 || end device
for _ in $(seq 200); do grep -qs '[1-9a-f]' /sys/class/infiniband/DEVICE/ports/1/gids/1 && break; sleep 0.05; done
ulimit -l unlimited
date +%s.%N >began
( . ./environment; cd "$DIRECTORY" && exec timeout -k 5 "$LIMIT_S" COMMAND ) >out 2>&1 </dev/null
status=$?
date +%s.%N >ended
end $status
"""


class Unavailable(Exception):
    """Why the machine cannot be made here."""


def output(*words, cwd=None):
    """What a command prints."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def unpacked(kernel):
    """The kernel's own executable, which starts at once, if a compressed image holds it in the usual form."""
    image = kernel.read_bytes()
    start = image.find(b"\xfd7zXZ\0")
    try:
        inner = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(image[start:]) if start >= 0 else b""
    except lzma.LZMAError:
        inner = b""
    return inner if inner.startswith(b"\x7fELF") else image


def module_order(tree, release):
    """The files of the modules, each behind those that it needs."""
    output("busybox", "depmod", "-b", tree, release)
    needs = {}
    for line in (tree / f"lib/modules/{release}/modules.dep").read_text(encoding="ascii").splitlines():
        file, _, others = line.partition(":")
        needs[file] = others.split()
    named = {file.rpartition("/")[2].partition(".")[0].replace("-", "_"): file for file in needs}
    order = []

    def take(file):
        if file not in order:
            for other in needs[file]:
                take(other)
            order.append(file)

    for name in MODULES:
        if name not in named:
            raise Unavailable(f"the kernel {release} has no module {name}")
        take(named[name])
    return order


class Guest:
    """The machine, and where its kernel is kept."""

    def __init__(self, cache):
        self.cache = Path(cache).resolve()

    def prepare(self):
        """Gets the kernel, and makes the file system that it starts from."""
        if platform.machine() != "x86_64":
            raise Unavailable(f"the machine is for x86-64, this is {platform.machine()}")
        missing = [tool for tool in TOOLS if not shutil.which(tool)]
        if missing:
            raise Unavailable(f"not found: {', '.join(missing)}")
        if (self.cache / "kernel").exists():
            return
        self.cache.mkdir(parents=True, exist_ok=True)
        depends = output("apt-cache", "depends", "linux-image-amd64")
        package = next((word for word in depends.split() if word.startswith("linux-image-") and word[12].isdigit()), None)
        if not package:
            raise Unavailable("apt knows no linux-image-amd64")
        release = package.removeprefix("linux-image-").removesuffix("-unsigned")
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            tree, start = Path(folder) / "tree", Path(folder) / "start"
            tree.mkdir()
            output("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package, cwd=folder)
            output("dpkg-deb", "-x", next(Path(folder).glob("*.deb")), tree)
            for name in ["bin", "dev", "lower", "memory", "modules", "proc", "root", "sys"]:
                (start / name).mkdir(parents=True)
            shutil.copy(shutil.which("busybox"), start / "bin/busybox")
            (start / "init").write_text(INIT, encoding="ascii")
            (start / "init").chmod(0o755)
            order = []
            for file in module_order(tree, release):
                name = Path(file).name
                module = (tree / f"lib/modules/{release}" / file).read_bytes()
                order.append(name.removesuffix(".xz"))
                (start / "modules" / order[-1]).write_bytes(lzma.decompress(module) if name.endswith(".xz") else module)
            (start / "modules/order").write_text("\n".join(order), encoding="ascii")
            pack = f"find . | busybox cpio -o -H newc >{shlex.quote(str(self.cache / 'start'))}"
            output("sh", "-c", pack, cwd=start)
            whole = Path(folder) / "kernel"
            whole.write_bytes(unpacked(tree / f"boot/vmlinuz-{release}"))
            whole.rename(self.cache / "kernel")

    def run(self, command, limit_s, out=sys.stdout):
        """Runs a command in the machine; its status. What it prints appears as it comes."""
        self.prepare()
        with tempfile.TemporaryDirectory() as folder:
            return self.run_in(Path(folder), command, limit_s, out)

    def run_in(self, control, command, limit_s, out):
        """The same with a folder that host and machine share."""
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in os.environ.items() if name.isidentifier())
        settings = f"DIRECTORY={shlex.quote(os.getcwd())}\nLIMIT_S={limit_s}\n"
        (control / "environment").write_text(exports + settings, encoding="utf-8")
        begin = BEGIN.replace("ADDRESS", ADDRESS).replace("DEVICE", DEVICE).replace("COMMAND", shlex.join(map(str, command)))
        (control / "begin").write_text(begin, encoding="utf-8")
        console, printed = control / "console", control / "out"
        with (control / "qemu").open("w", encoding="utf-8") as errors:
            machine = subprocess.Popen(self.words(control, console), stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        read, begun, until = 0, None, time.monotonic() + START_S
        try:
            while machine.poll() is None and not (control / "status").exists() and time.monotonic() < until:
                if begun is None and (control / "began").exists():
                    begun = time.monotonic()
                    until = begun + limit_s + 60
                read = passed_on(printed, read, out)
                time.sleep(0.1)
        finally:
            machine.kill()
            machine.wait()
        passed_on(printed, read, out)
        if not (control / "status").exists():
            last = console.read_text(encoding="utf-8", errors="replace") if console.exists() else ""
            where = "does not start" if begun is None else "does not end"
            raise Unavailable(f"the machine {where}: {(control / 'qemu').read_text(encoding='utf-8')}{last[-2000:]}")
        status = (control / "status").read_text(encoding="ascii").strip()
        if status == "device":
            raise Unavailable(f"no device {DEVICE}: {(control / 'log').read_text(encoding='utf-8').strip()}")
        if int(status) != 0:
            check_clock(control)
        return int(status)

    def words(self, control, console):
        """The command that starts the machine."""
        def share(name, folder, more=""):
            folder = str(folder).replace(",", ",,")
            device = f"virtio-9p-pci,fsdev={name},mount_tag={name}"
            return ["-fsdev", f"local,id={name},path={folder},security_model=none,multidevs=remap{more}", "-device", device]

        # A busy host spoils the calibration of the clock, so the kernel is told its rate, or does without it.
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        rates = [line.split(":")[1] for line in facts.splitlines() if line.startswith("cpu MHz")]
        clock = f"tsc=reliable tsc_early_khz={float(rates[0]) * 1000:.0f}" if rates and "aperfmperf" not in facts else "clocksource=acpi_pm"
        return [
            QEMU, "-machine", "pc", "-cpu", "max", "-accel", "tcg,thread=multi", "-smp", str(CORES), "-m", str(MEMORY_MIB),
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", str(self.cache / "kernel"), "-initrd", str(self.cache / "start"),
            "-append", f"console=ttyS0 quiet panic=-1 mitigations=off apparmor=0 {clock}",
            "-chardev", f"file,id=console,path={console}", "-serial", "chardev:console",
            *share("root", "/", ",readonly=on"), *share("control", control),
        ]  # fmt: skip


def passed_on(file, read, out):
    """Copies what has come in a file since; how much of it has been read."""
    if not file.exists():
        return read
    with file.open("rb") as source:
        source.seek(read)
        text = source.read()
    out.write(text.decode(errors="replace"))
    out.flush()
    return read + len(text)


def check_clock(control):
    """Refuses the result of a machine whose clock was wrong: limits of time then mean nothing."""
    if not (control / "ended").exists():
        return
    inside = [float((control / name).read_text(encoding="ascii")) for name in ["began", "ended"]]
    outside = [(control / name).stat().st_mtime for name in ["began", "ended"]]
    took, here = inside[1] - inside[0], outside[1] - outside[0]
    if here > 1 and abs(took / here - 1) > CLOCK_TOLERANCE:
        raise Unavailable(f"the machine's clock is wrong: {took:.1f} s there were {here:.1f} s here")


def main(words):
    """Runs one command."""
    cache, limit_s, *command = words
    try:
        return Guest(cache).run(command, int(limit_s))
    except Unavailable as why:
        print(f"skipped: {why}")
        return UNAVAILABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
