"""Trains every point of a grid of settings (scripts/sweep).

Each point has a run directory below --output, named after its settings, and a log next to it. A point that
fails does not stop the others. To continue, run the same command again: what has finished is left as it is, what
was interrupted is resumed. At the end there are a table (on screen and results.csv) and a plot (results.png);
if points differ only in training.seed, also a table of means and standard deviations (results-over-seeds.csv).

Exit status: 0 all points finished, 1 some failed, 2 the grid or the command line is wrong, 128+n stopped by
signal n.
"""
import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional

from sweep_grid import Grid, GridError, Point, read_grid, refuse_missing_configs
from sweep_plot import have_matplotlib, install_matplotlib, plot
from sweep_results import HIGHER_IS_BETTER, SHARES, Ending, Result, Target, on_screen, result_of, write_csv
from sweep_seeds import has_seeds, on_screen_over_seeds, with_seeds, write_csv_over_seeds

USAGE = 2
BINARY = Path(os.environ.get("PIPETRAIN_BINARY", "build/pipetrain")).resolve()


class Child:
    """The training that is running. It has its own session, so that each signal reaches it only once, from us."""

    def __init__(self) -> None:
        self.process: Optional[subprocess.Popen] = None
        self.stopped_by = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.pass_on)

    def pass_on(self, number: int, _frame) -> None:
        self.stopped_by = number
        if self.process and self.process.poll() is None:
            print("\nsweep: the training ends its mini-batch and stops; the same signal again stops it at once",
                  file=sys.stderr, flush=True)
            self.process.send_signal(number)

    def run(self, command: list[str], folder: Path, log: Path) -> int:
        with open(log, "a", encoding="utf-8") as out:
            out.write(f"$ {shlex.join(command)}\n")
            out.flush()
            self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            start_new_session=True)
            return self.process.wait()


def target(text: str) -> Target:
    name, _, value = text.partition("=")
    if name not in HIGHER_IS_BETTER:
        raise argparse.ArgumentTypeError(f"{text!r}: write NAME=VALUE with one of {', '.join(HIGHER_IS_BETTER)}")
    try:
        return Target(name, float(value))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: {value!r} is no number; write {name}=0.9") from None


def seeds(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isdecimal() for word in words) or len(set(words)) < len(words):
        raise argparse.ArgumentTypeError(f"{text!r}: write different whole numbers, as 1,2,3")
    return [int(word) for word in words]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/sweep", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grid", metavar="GRID.toml", type=Path)
    parser.add_argument("--output", metavar="DIR", type=Path, help="default: runs/sweeps/<name of the grid>")
    parser.add_argument("--dry-run", action="store_true", help="check the points, print their commands, and stop")
    parser.add_argument("--skip-refused", action="store_true", help="leave out the points that train refuses")
    parser.add_argument("--seeds", metavar="1,2,3", type=seeds, help="every point once for each training.seed")
    parser.add_argument("--target", metavar="NAME=VALUE", type=target,
                        help="seconds of training to the first validation with accuracy=0.9 or more, loss=0.5 or less")
    parser.add_argument("--no-plot", action="store_true", help="leave the plot out")
    given = parser.parse_intermixed_args()
    given.output = (given.output or Path("runs/sweeps") / given.grid.stem).resolve()
    return given


def command_of(grid: Grid, point: Point, output: Path) -> list[str]:
    return [str(BINARY), "train", *grid.options(point), "--output", str(output / point.name), "--quiet"]


def refusal_of(grid: Grid, point: Point) -> str:
    """Why train would not begin with this point's config, in its words; empty if it would. Reads no model, no data."""
    command = [str(BINARY), "train", *grid.options(point), "--dump-config"]
    try:
        asked = subprocess.run(command, cwd=grid.file.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise GridError(f"{BINARY}: cannot be run: {error.strerror}; name pipetrain's binary in PIPETRAIN_BINARY") from None
    return "" if asked.returncode == 0 else asked.stderr.strip() or f"ended with status {asked.returncode}, without a message"


def without_refused(grid: Grid, skip: bool) -> Grid:
    """A mistake in the grid is better reported before anything runs than by a point that fails hours later."""
    names: dict[str, list[str]] = {}  # of the points with the same message
    for point in grid.points:
        if message := refusal_of(grid, point):
            names.setdefault(message, []).append(point.name)
    refused = {name for points in names.values() for name in points}
    if not refused:
        return grid
    every = len(refused) == len(grid.points)
    lines = [f"{grid.file}: train refuses " + (
        "every point; correct the grid" if every else
        f"{len(refused)} of {len(grid.points)} points" + (
            ", which are left out" if skip else "; correct the grid, or leave them out with --skip-refused"))]
    for message, points in names.items():
        lines += [points[0] + (f" and {len(points) - 1} more" if len(points) > 1 else "") + ":"]
        lines += [f"  {line}" for line in message.splitlines()]
    if every or not skip:
        raise GridError("\n".join(lines))
    print("sweep: " + "\n".join(lines), file=sys.stderr)
    return grid._replace(points=[point for point in grid.points if point.name not in refused])


def refuse_percent(target: Target) -> None:
    if target.name in SHARES and not 0 <= target.value <= 1:
        share = target.value / 100 if 1 < target.value <= 100 else 0.95
        raise GridError(f"--target {target.name}={target.value:g}: {SHARES[target.name]} is a share from 0 to 1; write {target.name}={share:g}")


def last_message(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    lines = [line for line in lines if line and not line.startswith("$ ")]
    return lines[-1] if lines else "no message"


def ending_of(code: int, stopped: bool, log: Path) -> Ending:
    code = 128 - code if code < 0 else code  # a signal that it did not handle
    if code == 0:
        return Ending("finished", 0)
    if stopped and code > 128:
        return Ending("stopped", code)
    return Ending("failed", code, last_message(log))


def train_points(grid: Grid, output: Path, child: Child, reach: Optional[Target]) -> list[Result]:
    endings = {point.name: Ending("not run") for point in grid.points}

    def results() -> list[Result]:
        return [result_of(point, endings[point.name], output / point.name, reach) for point in grid.points]

    for number, point in enumerate(grid.points, 1):
        if child.stopped_by:
            break
        print(f"[{number}/{len(grid.points)}] {point.name}", end=" ", flush=True)
        began, log = time.monotonic(), output / f"{point.name}.log"
        log.unlink(missing_ok=True)
        code = child.run(command_of(grid, point, output), grid.file.parent, log)
        ending = endings[point.name] = ending_of(code, child.stopped_by != 0, log)
        words = f", exit code {ending.code}: {ending.message}" if ending.message else ""
        print(f" {ending.status} after {time.monotonic() - began:.1f} s{words}", flush=True)
        write_csv(grid, results(), output / "results.csv")
    return results()


def make_plot(results: list[Result], title: str, file: Path) -> None:
    why_not = "no point has made a step" if not any(result.steps for result in results) else ""
    if not why_not and not have_matplotlib():
        why_not = install_matplotlib()
    if why_not:
        print(f"no plot: {why_not}")
        return
    plot(results, title, file)
    print(f"plot   {file}")


def tell_tables(grid: Grid, results: list[Result], output: Path) -> None:
    print("\n" + on_screen(grid, results))
    print(f"\ntable  {output / 'results.csv'}")
    if has_seeds(grid):
        write_csv_over_seeds(results, output / "results-over-seeds.csv")
        print("\nover the seeds, mean ± standard deviation:\n" + on_screen_over_seeds(results))
        print(f"\ntable  {output / 'results-over-seeds.csv'}")


def main() -> int:
    given = arguments()
    try:
        if given.target:
            refuse_percent(given.target)
        grid = read_grid(given.grid.resolve())
        if given.seeds:
            grid = with_seeds(grid, given.seeds)
        refuse_missing_configs(grid)
        grid = without_refused(grid, given.skip_refused)
    except GridError as error:
        print(f"sweep: {error}", file=sys.stderr)
        return USAGE
    if given.dry_run:
        print(f"cd {shlex.quote(str(grid.file.parent))}")
        for point in grid.points:
            print(shlex.join(command_of(grid, point, given.output)))
        return 0
    given.output.mkdir(parents=True, exist_ok=True)
    child = Child()
    results = train_points(grid, given.output, child, given.target)
    tell_tables(grid, results, given.output)
    if child.stopped_by:
        print(f"stopped; to continue: scripts/sweep {shlex.join(sys.argv[1:])}")
        return 128 + child.stopped_by
    if not given.no_plot:
        make_plot(results, given.grid.stem, given.output / "results.png")
    failed = sum(result.ending.status == "failed" for result in results)
    print(f"{len(results) - failed} points finished, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
