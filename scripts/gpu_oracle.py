"""Every schedule against oracle/oracle.py of the extras (PIPETRAIN_EXTRAS), several schedules at a time. See scripts/gpu-check."""

import collections
import concurrent.futures
import os
import re
import sys

from places import extras

Result = collections.namedtuple("Result", "agree wrong schedules unfinished")


def path(root):
    """In the checkout's own shared/, which a machine for a single session brings, or in the extras."""
    scripts = [folder / "oracle/oracle.py" for folder in (root / "shared", extras())]
    return next((script for script in scripts if script.exists()), None)


def schedules_of(script):
    """The names that the oracle knows, as it lists them itself."""
    text = script.read_text()
    rows = re.findall(r'^(?:SYNC|ASYNC) = \((.*)\)$', text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r'"(\w+)"', row)]


def covering(names):
    """The fewest names that cover all: every name contains one of them, and --only takes a part of a name."""
    return [name for name in names if not any(other != name and other in name for other in names)]


def missing(check):
    """Why the oracle cannot run here, or an empty text."""
    if path(check.root) is None:
        return f"oracle/oracle.py is missing in {extras()}, which PIPETRAIN_EXTRAS names"
    if check.run(sys.executable, "-c", "import numpy").code != 0:
        return f"{sys.executable} has no numpy"
    return ""


def run(check):
    script = path(check.root)
    names = schedules_of(script)
    environment = {**check.environment, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def one(part):
        return check.run(sys.executable, script, "all", "--only", part, "--pipetrain", check.binary,
                         "--set", f'hardware.backend="{check.backend}"', environment=environment)

    parts = covering(names)
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        ended = dict(zip(parts, pool.map(one, parts)))
    lines = [line for part in parts for line in ended[part].text.splitlines()]
    agree = sum(line.startswith("ok ") for line in lines)
    wrong = [line for line in lines if line.startswith("FAIL")]
    unfinished = [part for part in parts if ended[part].code is None]
    broken = [part for part in parts if ended[part].code not in (None, 0) and not wrong]
    wrong += [f"oracle.py --only {part} ended with {ended[part].code}: {ended[part].text[-300:]}" for part in broken]
    return Result(agree, wrong, len(names), unfinished)
