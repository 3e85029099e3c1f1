"""Predictions compared with measurements: see scripts/validate-plan."""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys

from methods import flushes_of
from places import ROOT
from validate_sample import MODELS, microbatches_of, sample

STEP_MEDIAN, STEP_WORST = 0.03, 0.10  # of the measured step; the worst one, beyond the runs' own spread
MEMORY_SHARE, MEMORY_BYTES = 0.02, 1 << 20
BUBBLE = 0.03
ORDER_SHARE, BEST_WITHIN = 0.95, 0.02
SECONDS = 2  # of each run in each pass: several short ones, minutes apart, see more of a machine's noise than a long one
PASSES, PROFILES = 3, 2  # a later pass takes the first ones' profiles, which take half of a pass's time


def call(arguments):
    # Without a cache, so that a model is cut alike in every pass, whatever its profile says.
    environment = dict(os.environ, XDG_CACHE_HOME=os.devnull)
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def settings(model, precision, keys):
    config, _, own = MODELS[model]
    sets = {**own, "training.precision": f'"{precision}"', "hardware.threads_per_stage": 1, **keys}
    return [ROOT / config] + [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]


def measure_profile(binary, model, precision, file):
    samples = MODELS[model][1]
    call([binary, "profile", *settings(model, precision, {"data.batch_size": 8 * samples}),
          "--microbatch-sizes", samples, "--threads", 1, "--output", file])


def benchmark(binary, run, profile):
    model, (workers, stages), schedule, precision = run
    microbatches = microbatches_of(schedule, stages)
    keys = {"pipeline.schedule": f'"{schedule}"', "pipeline.stages": stages,
            "pipeline.microbatches": microbatches, "data.batch_size": microbatches * MODELS[model][1],
            "hardware.workers": f'"{workers}"'}
    out = call([binary, "benchmark", *settings(model, precision, keys), "--profile", profile, "--json",
                "--seconds", SECONDS])
    result = json.loads(out)["results"][0]
    return {"step_ms": result["step_ms_median"], "predicted_ms": result["step_ms_predicted"],
            "bubble": result["bubble"], "predicted_bubble": result["bubble_predicted"],
            "bytes": result["process"]["pipeline_bytes"],
            "predicted_bytes": sum(s["memory_bytes_predicted"] for s in result["stages"])
            + result["process"]["kernel_bytes"],
            "samples": microbatches * MODELS[model][1]}


class Results:
    """One JSON object per line: a run in a pass."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.file = folder, folder / "runs.jsonl"
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.of = {}
        for line in lines:
            entry = json.loads(line)
            self.of[entry["pass"], key_of(entry["run"])] = entry

    def has(self, number, run):
        return (number, key_of(run)) in self.of

    def add(self, number, run, measured):
        entry = {"pass": number, "run": run, **measured}
        self.of[number, key_of(run)] = entry
        with open(self.file, "a") as file:
            file.write(json.dumps(entry) + "\n")

    def of_run(self, run):
        return [entry for (_, key), entry in sorted(self.of.items()) if key == key_of(run)]


def key_of(run):
    model, place, schedule, precision = run
    return f"{model} {place[0]}-{place[1]} {schedule} {precision}"


def measure(binary, runs, passes, results):
    for number in range(passes):
        for group, members in itertools.groupby(runs, key=lambda run: (run[0], run[3])):
            members = [run for run in members if not results.has(number, run)]
            if not members:
                continue
            profile = results.folder / f"{group[0]}-{group[1]}-{number % PROFILES}.json"
            if number < PROFILES or not profile.exists():
                measure_profile(binary, *group, profile)
            for run in members:
                results.add(number, run, benchmark(binary, run, profile))
                print(key_of(run), file=sys.stderr, flush=True)


def summary(entries):
    """One run over all passes. What else the machine does only makes runs and profiles slower, so the fastest count."""
    measured, predicted = (min(entries, key=lambda e: e[time]) for time in ("step_ms", "predicted_ms"))
    step = measured["step_ms"]
    return {"step": step, "spread": (max(e["step_ms"] for e in entries) - step) / 2 / step,
            "predicted": predicted["predicted_ms"], "error": predicted["predicted_ms"] / step - 1,
            "bubble": predicted["predicted_bubble"] - measured["bubble"],
            "bytes": entries[0]["bytes"], "predicted_bytes": entries[0]["predicted_bytes"],
            "samples": entries[0]["samples"]}


def order_of(summaries):
    """(right, pairs that differ by more than their spread, how much longer than the best the predicted best is)"""
    each = [(s["step"] / s["samples"], s["predicted"] / s["samples"], s["spread"]) for s in summaries]
    right = pairs = 0
    for a, b in itertools.combinations(each, 2):
        if abs(a[0] - b[0]) <= a[2] * a[0] + b[2] * b[0]:
            continue
        pairs += 1
        right += (a[0] < b[0]) == (a[1] < b[1])
    chosen = min(each, key=lambda e: e[1])
    return right, pairs, chosen[0] / min(e[0] for e in each) - 1


def percent(value):
    return f"{100 * value:.1f}%"


def report(runs, results):
    done = [(run, summary(results.of_run(run))) for run in runs if results.of_run(run)]
    print(f"{len(done)} runs of {len(runs)}\n")
    print("| model | runs | median error | worst | beyond its spread | bubble, worst | order | predicted best |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |")
    agree = True
    right_of_all = pairs_of_all = 0
    for model in MODELS:
        of_model = [(run, s) for run, s in done if run[0] == model]
        if not of_model:
            continue
        errors = [abs(s["error"]) for _, s in of_model]
        beyond = max(max(0.0, abs(s["error"]) - s["spread"]) for _, s in of_model)
        bubbles = max(abs(s["bubble"]) for _, s in of_model)
        right = pairs = 0
        best = 0.0
        for precision in ("f32", "bf16"):
            r, p, b = order_of([s for run, s in of_model if run[3] == precision] or [of_model[0][1]])
            right, pairs, best = right + r, pairs + p, max(best, b)
        right_of_all, pairs_of_all = right_of_all + right, pairs_of_all + pairs
        agree = agree and beyond <= STEP_WORST and bubbles <= BUBBLE and best <= BEST_WITHIN
        print(f"| {model} | {len(of_model)} | {percent(statistics.median(errors))} | {percent(max(errors))} | "
              f"{percent(beyond)} | {100 * bubbles:.1f} points | {right} of {pairs} | {percent(best)} longer |")
    errors = [abs(s["error"]) for _, s in done]
    print(f"\nmedian error {percent(statistics.median(errors))}, median spread "
          f"{percent(statistics.median(s['spread'] for _, s in done))}")
    memory = [run for run, s in done if abs(s["bytes"] - s["predicted_bytes"])
              > MEMORY_SHARE * s["bytes"] + MEMORY_BYTES]
    print(f"memory within {percent(MEMORY_SHARE)} plus 1 MiB: {len(done) - len(memory)} of {len(done)}")
    for run in memory[:10]:
        s = summary(results.of_run(run))
        print(f"  {key_of(run)}: {s['bytes']} measured, {s['predicted_bytes']} predicted")
    worst = sorted(done, key=lambda d: -abs(d[1]["error"]))[:12]
    print("largest errors:")
    for run, s in worst:
        print(f"  {key_of(run)}: {s['step']:.3f} ms measured (spread {percent(s['spread'])}), "
              f"{percent(s['error'])}, bubble {100 * s['bubble']:+.1f} points")
    agree = agree and statistics.median(errors) <= STEP_MEDIAN and not memory
    agree = agree and right_of_all >= ORDER_SHARE * pairs_of_all
    print("agrees" if agree else "does not agree")
    return agree


def main():
    parser = argparse.ArgumentParser(prog="validate-plan")
    parser.add_argument("--pipetrain", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--passes", default=PASSES, type=int)
    parser.add_argument("--folder", default=ROOT / "build-validate", type=pathlib.Path)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    binary = options.pipetrain / "pipetrain"
    layers = {}
    for model in MODELS:
        plan = json.loads(call([binary, "train", *settings(model, "f32", {"pipeline.stages": 1}), "--dry-run", "--json"]))
        layers[model] = len(plan["layers"])
    # 1f1b_sno and fbp_as compute the same as 1f1b here, with another warm-up.
    schedules = [name for name in flushes_of(binary) if name not in ("1f1b_sno", "fbp_as")]
    runs = sample(schedules, layers)
    results = Results(options.folder)
    if not options.report:
        measure(binary, runs, options.passes, results)
    return 0 if report(runs, results) else 1


if __name__ == "__main__":
    sys.exit(main())
