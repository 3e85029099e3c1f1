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
from pairs import ratios_of, text_of
from places import ROOT
from validate_sample import MODELS, microbatches_of, sample
from whole_file import write_whole

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
        self.pairs_file = folder / "pairs.json"
        self.ratios = json.loads(self.pairs_file.read_text()) if self.pairs_file.exists() else {}

    def has(self, number, run):
        return (number, key_of(run)) in self.of

    def add(self, number, run, measured):
        entry = {"pass": number, "run": run, **measured}
        self.of[number, key_of(run)] = entry
        with open(self.file, "a") as file:
            file.write(json.dumps(entry) + "\n")

    def add_ratios(self, one, other, ratios):
        self.ratios[f"{key_of(one)} over {key_of(other)}"] = ratios
        write_whole(self.pairs_file, json.dumps(self.ratios, indent=1))

    def kept_ratios(self, one, other):
        return self.ratios.get(f"{key_of(one)} over {key_of(other)}", [])

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


def order_of(runs):
    """(right, pairs that differ by more than their spread)"""
    each = [(s["step"] / s["samples"], s["predicted"] / s["samples"], s["spread"]) for s in runs]
    right = pairs = 0
    for a, b in itertools.combinations(each, 2):
        if abs(a[0] - b[0]) <= a[2] * a[0] + b[2] * b[0]:
            continue
        pairs += 1
        right += (a[0] < b[0]) == (a[1] < b[1])
    return right, pairs


def best_of(done):
    """(the run that is predicted best, the one that is measured best, how much longer the first takes)"""
    chosen, best = (min(done, key=lambda d: d[1][time] / d[1]["samples"]) for time in ("predicted", "step"))
    longer = chosen[1]["step"] / chosen[1]["samples"] / (best[1]["step"] / best[1]["samples"]) - 1
    return chosen[0], best[0], longer


def summaries(runs, results):
    return [(run, summary(results.of_run(run))) for run in runs if results.of_run(run)]


def groups_of(done):
    """Of one model and one precision each."""
    pairs = itertools.product(MODELS, ("f32", "bf16"))
    groups = [[d for d in done if (d[0][0], d[0][3]) == pair] for pair in pairs]
    return [group for group in groups if group]


def compare_bests(binary, runs, results):
    """Measures both in pairs where the predicted best seems to take longer than it may."""
    for group in groups_of(summaries(runs, results)):
        chosen, best, longer = best_of(group)
        if longer <= BEST_WITHIN or results.kept_ratios(chosen, best):
            continue
        print(f"{key_of(chosen)} beside {key_of(best)}", file=sys.stderr, flush=True)

        def ms_of_a_sample(run, _):
            measured = benchmark(binary, run, results.folder / f"{run[0]}-{run[3]}-0.json")
            return measured["step_ms"] / measured["samples"]

        results.add_ratios(chosen, best, ratios_of(ms_of_a_sample, chosen, best, 1 + BEST_WITHIN))


def percent(value):
    return f"{100 * value:.1f}%"


def bests(groups, results):
    """(how much longer than the measured best the predicted best takes at most, the same as text)"""
    longest, pairs = 0.0, []
    for group in groups:
        chosen, best, longer = best_of(group)
        if ratios := results.kept_ratios(chosen, best):
            longer = max(0.0, statistics.median(ratios) - 1)
            pairs.append(text_of(ratios))
        longest = max(longest, longer)
    return longest, f"{percent(longest)} longer" + "".join(f" ({text})" for text in pairs)


def report(runs, results):
    done = summaries(runs, results)
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
        groups = groups_of(of_model)
        best, best_text = bests(groups, results)
        for group in groups:
            r, p = order_of([s for _, s in group])
            right, pairs = right + r, pairs + p
        right_of_all, pairs_of_all = right_of_all + right, pairs_of_all + pairs
        agree = agree and beyond <= STEP_WORST and bubbles <= BUBBLE and best <= BEST_WITHIN
        print(f"| {model} | {len(of_model)} | {percent(statistics.median(errors))} | {percent(max(errors))} | "
              f"{percent(beyond)} | {100 * bubbles:.1f} points | {right} of {pairs} | {best_text} |")
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
        compare_bests(binary, runs, results)
    return 0 if report(runs, results) else 1


if __name__ == "__main__":
    sys.exit(main())
