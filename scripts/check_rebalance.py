"""A cut that moves while training: see scripts/check-rebalance."""

import argparse
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from places import ROOT

CONFIG = ROOT / "configs/bench/vgg16.toml"
UNEVEN = "features.33"  # with about three quarters of the work before it
WANTED = 0.97
BUSY_SECONDS = 60


def command(binary, verb, split, *keys):
    sets = [f'pipeline.split={split}', "hardware.threads_per_stage=1", *keys]
    return [str(binary / "pipetrain"), verb, str(CONFIG)] + [w for key in sets for w in ("--set", key)]


def train(binary, folder, split, steps, *keys):
    subprocess.run(command(binary, "train", split, f"training.steps={steps}", *keys) + ["--quiet", "--output", folder],
                   check=True)


def events(folder, kind):
    lines = (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()
    return [e for e in map(json.loads, lines) if e["event"] == kind]


def sum_of(folder):
    return hashlib.sha256((pathlib.Path(folder) / "model.safetensors").read_bytes()).hexdigest()


def per_second(folder, last):
    return statistics.median(e["samples_per_second"] for e in events(folder, "step")[-last:])


def planned(binary):
    """(the layers' names, where auto begins the second stage)"""
    plan = json.loads(subprocess.run(command(binary, "train", '"auto"') + ["--dry-run", "--json"], check=True,
                                     capture_output=True, text=True).stdout)
    return [layer["name"] for layer in plan["layers"]], plan["stages"][1]["layer_names"][0]


def best_cut(binary):
    """Samples per second of the best of the cuts around the one that auto chooses."""
    names, chosen = planned(binary)
    at = names.index(chosen)
    best = 0.0
    for first in names[max(1, at - 4):at + 5]:
        out = subprocess.run(command(binary, "benchmark", f'["{first}"]') + ["--json"], check=True,
                             capture_output=True, text=True).stdout
        best = max(best, json.loads(out)["results"][0]["samples_per_second"])
    return best


def say(good, text):
    print(("holds   " if good else "FAILS   ") + text, flush=True)
    return good


def check_even(binary, folder):
    best = best_cut(binary)
    moving, still = folder / "moving", folder / "still"
    train(binary, moving, f'["{UNEVEN}"]', 200, 'pipeline.rebalance="auto"')
    train(binary, still, '"auto"', 200)
    share = per_second(moving, 40) / best
    moves = [f'{e["step"]}: {e["to"][0]}' for e in events(moving, "rebalance")]
    good = say(share >= WANTED, f"from {UNEVEN} to {100 * share:.1f}% of the best cut's samples per second; moves {moves}")
    return say(sum_of(moving) == sum_of(still), "the weights of a run whose cut stays, to the bit") and good


def burn(core, seconds):
    os.sched_setaffinity(0, {core})
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        stop = time.monotonic() + 0.005
        while time.monotonic() < stop:
            pass
        time.sleep(0.005)


def check_neighbour(binary, folder):
    run = folder / "neighbour"
    process = subprocess.Popen(command(binary, "train", '"auto"', "training.steps=420", 'pipeline.rebalance="auto"')
                               + ["--quiet", "--output", run])
    time.sleep(25)
    begin = len(steps_so_far(run))
    neighbour = multiprocessing.Process(target=burn, args=(min(os.sched_getaffinity(0)), BUSY_SECONDS))
    neighbour.start()
    neighbour.join()
    end = len(steps_so_far(run))
    process.wait()
    moves = events(run, "rebalance")
    print(f"        a neighbour during steps {begin} to {end}; moves: "
          + ", ".join(f'{e["step"]}: {e["from"][0]} to {e["to"][0]}' for e in moves))
    names, first = planned(binary)
    cuts = [names.index(([first] + [m["to"][0] for m in moves if m["step"] <= step])[-1])
            for step in (begin, end, sys.maxsize)]
    return say(cuts[0] > cuts[1] < cuts[2], "the cut moves away from a busy core, and moves back")


def check_killed(binary, folder):
    still = folder / "still-60"
    train(binary, still, '"auto"', 60)
    good = True
    for trial in range(3):
        run = folder / f"killed-{trial}"
        call = command(binary, "train", f'["{UNEVEN}"]', "training.steps=60", 'pipeline.rebalance="auto"',
                       "checkpoint.every_steps=10") + ["--quiet", "--output", run]
        process = subprocess.Popen(call)
        while not (run / "metrics.jsonl").exists() or len(steps_so_far(run)) < 25:
            if process.poll() is not None:
                return say(False, f"the training that was to be killed ended by itself, with exit code {process.returncode}")
            time.sleep(0.02)
        time.sleep(random.Random(trial).uniform(0, 0.6))  # the end of the first window
        process.send_signal(signal.SIGKILL)
        process.wait()
        subprocess.run(call, check=True)
        good = say(sum_of(run) == sum_of(still), f"killed around a move ({trial}), continued to the same bits") and good
    return good


def steps_so_far(run):
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [line for line in lines if line.startswith('{"event":"step"') and line.endswith("}")]


def main():
    parser = argparse.ArgumentParser(prog="check-rebalance")
    parser.add_argument("--pipetrain", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--only", default="even,neighbour,killed")
    options = parser.parse_args()
    checks = {"even": check_even, "neighbour": check_neighbour, "killed": check_killed}
    with tempfile.TemporaryDirectory() as folder:
        good = [checks[name](options.pipetrain, pathlib.Path(folder)) for name in options.only.split(",")]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
