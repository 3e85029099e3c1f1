"""The order of gpu-check's steps, its clock and its report. See scripts/gpu-check; the steps are in gpu_steps.py."""

import argparse
import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import gpu_machine
import gpu_steps
from whole_file import write_whole

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_SECONDS = 535  # for all steps: a command on a borrowed machine may take ten minutes


def descendants(process_id):
    """The ids of all processes that it started, and that those started."""
    children = collections.defaultdict(list)
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            parent = stat.read_text(errors="replace").rpartition(")")[2].split()[1]
            children[int(parent)].append(int(stat.parent.name))

    def below(parent):
        return {found for child in children[parent] for found in (child, *below(child))}

    return below(process_id)


@dataclasses.dataclass
class Ran:
    code: int  # the program's exit code; None: its time was up
    text: str  # what it printed


class Check:
    """What a step gets: the build, the backend to use, and programs that run against the clock."""

    def __init__(self, options, environment, out, log):
        self.root, self.backend, self.build, self.out, self.log = ROOT, options.backend, options.build, out, log
        self.environment = environment
        self.binary = options.build / "pipetrain"
        self.scratch = options.build / "gpu-check"
        self.end = time.monotonic() + options.limit
        self.step_end = self.end

    def left(self):
        return max(0.0, min(self.end, self.step_end) - time.monotonic())

    def run(self, *command, environment=None, logged=True):
        """Runs a program and its children, for no longer than the step may take."""
        process = self.start(*command, environment=environment)
        try:
            text, _ = process.communicate(timeout=self.left())
            if not logged and process.returncode == 0:
                return Ran(0, text)
            return Ran(process.returncode, self.note(command, text, process.returncode))
        except subprocess.TimeoutExpired:
            text = self.kill(process)
            return Ran(None, self.note(command, text, "none: its time was up"))

    def start(self, *command, environment=None):
        return subprocess.Popen([str(word) for word in command], cwd=self.root, text=True, start_new_session=True,
                                env=environment or self.environment, errors="replace",
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def kill(self, process, patience_s=2.0):
        """Ends it and all that it started. Returns what it had printed. SIGTERM comes first, so that Meson starts no
        more tests, each of which has a session of its own; without patience SIGKILL comes at once."""
        started = descendants(process.pid)
        if patience_s:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=patience_s)
            if process.returncode is None:
                started |= descendants(process.pid)
        for call, target in [(os.killpg, process.pid), *((os.kill, one) for one in started)]:
            with contextlib.suppress(ProcessLookupError):
                call(target, signal.SIGKILL)
        return process.communicate()[0]

    def note(self, command, text, code):
        self.log.write(f"$ {' '.join(map(str, command))}\n{text}\n(exit {code})\n\n")
        self.log.flush()
        return text

    def pipetrain(self, *arguments):
        """With the chosen backend."""
        return self.run(*self.call(*arguments))

    def call(self, *arguments):
        return [self.binary, *arguments, "--set", f'hardware.backend="{self.backend}"']


class Report:
    """Prints a line as each step ends, and keeps all figures in one file, which is complete after every step."""

    def __init__(self, file):
        self.file, self.begin, self.steps, self.about = file, time.monotonic(), [], {}

    def add(self, name, status, figure, values, seconds):
        self.steps.append({"name": name, "status": status, "figure": figure, "seconds": round(seconds, 1), **values})
        print(f"{status:<7} {name}: {figure} ({seconds:.0f} s)", flush=True)
        self.write()

    def write(self):
        whole = {**self.about, "seconds": round(time.monotonic() - self.begin, 1), "steps": self.steps}
        write_whole(self.file, json.dumps(whole, indent=1) + "\n")

    def count(self, status):
        return sum(step["status"] == status for step in self.steps)


def take(step, check, report):
    begin = time.monotonic()
    check.step_end = begin + step.limit_s
    check.log.write(f"==== {step.name}\n")
    status, values = "ok", {}
    if check.left() < 1:
        status, figure = "skipped", f"no time was left for it; run gpu-check --only {step.name}"
    else:
        try:
            figure = step.run(check, values)
        except gpu_steps.Skipped as why:
            status, figure = "skipped", str(why)
        except gpu_steps.Failed as why:
            status, figure = "FAILED", str(why)
        except Exception as error:  # a step's own slip: the others still run  # pylint: disable=broad-except
            status, figure = "FAILED", f"{type(error).__name__}: {error}"
    report.add(step.name, status, figure, values, time.monotonic() - begin)
    return status != "FAILED"


def chosen(options, parser):
    if options.build_only:
        return []
    names = [step.name for step in gpu_steps.STEPS]
    wanted = options.only.split(",") if options.only else names
    for name in wanted:
        if name not in names:
            parser.error(f"there is no step {name}; the steps are {', '.join(names)}")
    return [step for step in gpu_steps.STEPS if step.name in wanted]


def main():
    parser = argparse.ArgumentParser(prog="gpu-check", description="See the head of scripts/gpu-check, and docs/gpu.md.")
    parser.add_argument("--only", metavar="STEP,..", help=", ".join(step.name for step in gpu_steps.STEPS))
    parser.add_argument("--build-only", action="store_true", help="no step after the build; needs no GPU")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, metavar="SECONDS", help="for everything")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-gpu", metavar="DIR")
    parser.add_argument("--backend", default="cuda", help="cpu tries the script itself, without a GPU")
    options = parser.parse_args()
    options.build = options.build.resolve()
    steps = chosen(options, parser)
    missing = gpu_machine.gpu_missing() if options.backend == "cuda" and not options.build_only else ""
    if missing:
        print(f"gpu-check: {missing}, so there is nothing to check; --build-only only builds", file=sys.stderr)
        sys.exit(4)

    out = pathlib.Path(os.environ.get("OUT") or options.build)
    out.mkdir(parents=True, exist_ok=True)
    options.build.mkdir(parents=True, exist_ok=True)
    environment, notes = gpu_machine.environment_for(ROOT, options.build)
    for note in notes:
        print(f"gpu-check: {note}", file=sys.stderr)
    report = Report(out / "gpu-check.json")
    with open(out / "gpu-check.log", "w", encoding="utf-8") as log:
        check = Check(options, environment, out, log)
        check.scratch.mkdir(exist_ok=True)
        if take(gpu_steps.BUILD, check, report):
            report.about = gpu_steps.about(check)
            for step in steps:
                take(step, check, report)
    report.write()
    failed, skipped = report.count("FAILED"), report.count("skipped")
    print(f"{report.count('ok')} ok, {failed} failed, {skipped} skipped in {time.monotonic() - report.begin:.0f} s; "
          f"figures in {report.file}, what was printed in {out / 'gpu-check.log'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
