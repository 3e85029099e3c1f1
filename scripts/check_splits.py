"""Every split into two stages, compared with split = "auto": see scripts/check-splits."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from pairs import ratios_of, text_of
from places import ROOT
from whole_file import write_whole

MODELS, STAGES = ["vgg16", "resnet18", "gpt"], 2
WANTED = 0.98
BEST, ROUNDS = 6, 5  # how many splits are measured again, and how often
FIRST, AGAIN = 1, 4  # seconds of each measurement, at first and then


class Bench:
    def __init__(self, binary, isa, results):
        self.binary, self.isa, self.results = binary, isa, results
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(results.file.parent / "cache"),
                                **({"ONEDNN_MAX_CPU_ISA": isa} if isa else {}))

    def call(self, verb, model, *words):
        command = [self.binary / "pipetrain", verb, ROOT / f"configs/bench/{model}.toml", *words, "--json"]
        done = subprocess.run([str(w) for w in command], capture_output=True, text=True, check=False,
                              env=self.environment)
        if done.returncode != 0:
            sys.exit(f"check-splits: {' '.join(map(str, command))}\n{done.stderr}")
        return json.loads(done.stdout)

    def per_second(self, model, first, number):
        """Samples per second if the second stage begins with that layer; kept in the file."""
        key = f"{self.isa or 'all'} {model} {first} {number}"
        if key not in self.results.of:
            seconds = AGAIN if number else FIRST
            result = self.call("benchmark", model, "--seconds", seconds, "--set", f'pipeline.split=["{first}"]')["results"][0]
            self.results.add(key, result["samples_per_second"])
            print(f"{key}: {self.results.of[key]:.1f}", file=sys.stderr, flush=True)
        return self.results.of[key]

    def layers(self, model):
        """Names, and where auto begins the second stage by a profile of the config's own micro-batches."""
        auto = ["--dry-run", "--set", 'pipeline.split="auto"']
        plan = self.call("train", model, *auto)
        if "step_ms_predicted" not in plan:
            samples, threads = plan["batch_size"] // plan["microbatches"], len(os.sched_getaffinity(0)) // STAGES
            self.call("profile", model, "--microbatch-sizes", samples, "--threads", max(1, threads),
                      "--output", self.results.file.parent / f"{model}-{self.isa or 'all'}.json")
            plan = self.call("train", model, *auto)
        return [layer["name"] for layer in plan["layers"]], plan["stages"][1]["layer_names"][0]


class Results:
    def __init__(self, file):
        self.file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        self.of = json.loads(file.read_text()) if file.exists() else {}

    def add(self, key, value):
        self.of[key] = value
        write_whole(self.file, json.dumps(self.of, indent=1))


def check(bench, model):
    names, auto = bench.layers(model)
    once = {first: bench.per_second(model, first, 0) for first in names[1:]}
    best = sorted(once, key=once.get, reverse=True)[:BEST]
    rivals = list(dict.fromkeys(best + [auto]))
    again = {first: [] for first in rivals}
    for number in range(1, ROUNDS + 1):
        for first in rivals:
            again[first].append(bench.per_second(model, first, number))
    medians = {first: statistics.median(values) for first, values in again.items()}
    winner = max(medians, key=medians.get)
    ratios = [] if winner == auto else ratios_of(
        lambda first, number: bench.per_second(model, first, ROUNDS + 1 + number), auto, winner, WANTED)
    share = statistics.median(ratios) if ratios else 1.0
    between = f" ({text_of(ratios)})" if ratios else ""
    print(f"| {model} | {bench.isa or 'all'} | {len(names) - 1} | {auto} | {medians[auto]:.0f} | {winner} | "
          f"{medians[winner]:.0f} | {100 * share:.1f}%{between} |", flush=True)
    return share >= WANTED


def main():
    parser = argparse.ArgumentParser(prog="check-splits")
    parser.add_argument("--pipetrain", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--folder", default=ROOT / "build-splits", type=pathlib.Path)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--isa", help="AVX2: that one alone; all: only the processor's own")
    options = parser.parse_args()
    results = Results(options.folder / "splits.json")
    print("| model | instructions | splits | auto begins stage 1 at | samples/s | the best at | samples/s | auto reaches |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    isas = {None: ["", "AVX2"], "all": [""]}.get(options.isa, [options.isa])
    good = [check(Bench(options.pipetrain, isa, results), model)
            for isa in isas for model in options.models.split(",")]
    print(f"{sum(good)} reach {100 * WANTED:.0f}%, {len(good) - sum(good)} do not")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
