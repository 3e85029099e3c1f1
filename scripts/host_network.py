"""Hosts of a cluster on one machine: network namespaces, each joined to a switch by a link of a given rate."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

INTERFACE = "net0"  # on every host
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
RETRANSMISSIONS = 4  # before TCP gives up a silent host: 6 to 13 s, instead of Linux's 15 minutes
BURST, QUEUE = "256kb", "100ms"  # for tc's token bucket

# What mpirun calls instead of ssh: HOST COMMAND. A process keeps the namespaces in which it was started.
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec {prefix}"$host" unshare --uts sh -c '{settle} && exec sh -c "$1"' "$host" "$*"
"""
SETTLE = 'mount --bind {hosts} /etc/hosts && hostname "$0"'


class NoNetwork(Exception):
    """The system does not allow namespaces here."""


@contextlib.contextmanager
def undisturbed():
    """Lets a teardown finish, however impatient the user is."""
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def call(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


class HostNetwork:
    """A network of hosts a, b, ..., which exists inside `with` and is completely removed after it."""

    def __init__(self, count, gbits):
        self.hosts = [chr(ord("a") + i) for i in range(count)]
        self.gbits = gbits
        self.prefix = f"pipetrain-{os.getpid()}-"
        self.folder = None

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        try:
            self.make()
        except subprocess.CalledProcessError as error:
            self.remove()
            raise NoNetwork(f"{' '.join(error.cmd)}: {error.stderr.strip() or 'no reason given'}") from error
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def make(self):
        names = [f"10.0.0.{1 + i} {host}" for i, host in enumerate(self.hosts)]
        (self.folder / "hosts").write_text("\n".join(["127.0.0.1 localhost"] + names) + "\n")
        agent = self.folder / "agent"
        agent.write_text(AGENT.format(prefix=self.prefix, settle=self.settle()))
        agent.chmod(0o755)
        switch = self.prefix + "switch"
        call("ip", "netns", "add", switch)
        call("ip", "-n", switch, "link", "add", "switch", "type", "bridge")
        call("ip", "-n", switch, "link", "set", "dev", "switch", "up")
        for i, host in enumerate(self.hosts):
            self.add_host(host, f"10.0.0.{1 + i}/24", switch)

    def add_host(self, host, address, switch):
        name = self.prefix + host
        call("ip", "netns", "add", name)
        call("ip", "-n", name, "link", "add", INTERFACE, "type", "veth", "peer", "name", host, "netns", switch)
        call("ip", "-n", name, "address", "add", address, "dev", INTERFACE)
        call("ip", "-n", switch, "link", "set", "dev", host, "master", "switch", "up")
        for interface in ("lo", INTERFACE):
            call("ip", "-n", name, "link", "set", "dev", interface, "up")
        call("ip", "netns", "exec", name, "sysctl", "-q", "-w", f"net.ipv4.tcp_retries2={RETRANSMISSIONS}")
        call("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", INTERFACE, "root", "tbf", "rate",
             f"{self.gbits:g}gbit", "burst", BURST, "latency", QUEUE)

    def settle(self):
        return SETTLE.format(hosts=self.folder / "hosts")

    def agent(self):
        return str(self.folder / "agent")

    def on(self, host, command):
        """The command that runs `command` on a host, under the host's name."""
        return ["ip", "netns", "exec", self.prefix + host, "unshare", "--uts", "sh", "-c",
                self.settle() + ' && exec "$@"', host, *command]

    def set_link(self, host, state):  # "down", "up"
        call("ip", "-n", self.prefix + host, "link", "set", "dev", INTERFACE, state)

    def sent_bytes(self):
        """Bytes sent by each host since it was made, including the headers of all packets."""
        shown = (json.loads(call("ip", "-n", self.prefix + host, "-s", "-j", "link", "show", "dev", INTERFACE))
                 for host in self.hosts)
        return [links[0]["stats64"]["tx"]["bytes"] for links in shown]

    def processes(self):
        """What runs on the hosts: (host, process id)."""
        return [(host, int(pid)) for host in self.hosts
                for pid in call("ip", "netns", "pids", self.prefix + host).split()]

    def programs(self):
        """What runs on the hosts: (host, name)."""
        for host, pid in self.processes():
            with contextlib.suppress(OSError):  # it ended meanwhile
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
                yield host, pathlib.Path(words[0]).name

    def end_processes(self):
        for _ in range(50):
            left = self.processes()
            for _, pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not left:
                return
            time.sleep(0.1)

    def remove(self):
        with undisturbed():
            with contextlib.suppress(subprocess.CalledProcessError):  # if it was not made completely
                self.end_processes()
            for name in [*self.hosts, "switch"]:  # a namespace takes its devices with it
                subprocess.run(["ip", "netns", "del", self.prefix + name], capture_output=True, check=False)
            shutil.rmtree(self.folder, ignore_errors=True)
