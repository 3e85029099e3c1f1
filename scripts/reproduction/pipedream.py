"""docs/reproductions/pipedream.md: time to an accuracy under PipeDream and what it is compared with. See scripts/reproduce/pipedream."""
import argparse
import dataclasses
import json
import os
import shutil
import statistics
import subprocess

from kept import Kept
from page import BINARY, FOLDER as PAGES, draw, write_page
from pipedream_page import page, paint
from pipedream_plans import (BATCH, CONFIG, FOLDER, LATENCY, LINKS, PROFILE, SEEDS, WORKERS, Plan, bytes_per_sample, choose, plan_of,
                             step_ms, weights_file, write_files)
from pipedream_times import final, samples_to
from schedules import call

DATA = PAGES / "pipedream.json"
EPOCHS, EVERY = 3, 960  # EVERY: samples between two validations, whole updates of 1, 2, 3 and 4 mini-batches
RATES = (0.01, 0.02, 0.04)  # for an update of WORKERS * BATCH samples
SWEEP = [round(0.02 * 10 ** (i / 10), 4) for i in range(38)]  # 0.02 to 100 Gbit/s
PAIR = [Plan("data_parallel", 2, 2), Plan("1f1b", 2, 4, ("fc1",)), Plan("pipedream", 2, 1, ("fc1",))]  # each worker has a core
ROUNDS = 3


# ---- plans

def profiled() -> dict:
    call("profile", str(CONFIG), "--quiet", "--microbatch-sizes", ",".join(str(BATCH // n) for n in (1, 2, 4, 8)), "--threads", "1",
         "--output", str(PROFILE))
    found = json.loads(PROFILE.read_text())
    last = max(found["points"], key=lambda p: (p["samples"], p["neighbours"]))
    return {"machine": found["key"]["machine"], "load": os.getloadavg()[0],
            "layers": [{"name": layer["name"], "parameters": layer["parameter_bytes"], "flops": layer["flops"]} for layer in found["layers"]],
            "point": last}


def plans() -> dict:
    """For each link, the plan with which each method trains, and for each such plan its step over many links."""
    chosen = {f"{gbits:g}": choose(gbits) for gbits in LINKS}
    every = {plan.text(): plan for methods in chosen.values() for plan in methods.values()}
    return {"chosen": {gbits: {name: plan.text() for name, plan in methods.items()} for gbits, methods in chosen.items()},
            "plans": {text: dataclasses.asdict(plan) for text, plan in every.items()},
            "bytes_per_sample": {text: bytes_per_sample(plan) for text, plan in every.items()},
            "steps": {text: {f"{gbits:g}": step_ms(plan, gbits) for gbits in sorted({*LINKS, *SWEEP})} for text, plan in every.items()}}


# ---- courses

def course(plan: Plan, rate: float, seed: int) -> dict[str, float]:
    """Accuracy by samples, in a real training."""
    output = FOLDER / "".join(c if c.isalnum() else "-" for c in f"{plan.course()}-{rate}-{seed}")
    done = subprocess.run([BINARY, "train", str(CONFIG), "--quiet", "--resume", "never", "--output", str(output), *plan.sets({
        "hardware.workers": '"inline"', "training.epochs": EPOCHS, "training.seed": seed, "model.init": json.dumps(str(weights_file(seed))),
        "validation.every_steps": EVERY // plan.batch, "checkpoint.every_epochs": 0,
        "optimizer.lr": rate * plan.update_samples / (WORKERS * BATCH)})], capture_output=True, text=True)
    if done.returncode not in (0, 5):
        raise SystemExit(f"{plan.text()}: {done.stderr}")
    events = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    check_sent(plan, [e["communication"] for e in events if e["event"] == "end" and "communication" in e])
    return {str(e["step"] * plan.batch): round(100 * e["accuracy"], 2) for e in events if e["event"] == "validation"}


def check_sent(plan: Plan, ends: list[dict]) -> None:
    for sent in ends:
        if sent["counted"] != sent["predicted"]:
            raise SystemExit(f"{plan.text()}: sends {sent['counted']}, predicted {sent['predicted']}")


def key_of(name: str, rate: float, seed: int) -> str:
    return f"{name}; {rate}; {seed}"


def train_all(results: Kept, wanted: list[tuple[str, float, int]], plans: dict[str, Plan]) -> None:
    results.all_of("courses", {key_of(*work): work for work in wanted}, lambda work: course(plans[work[0]], *work[1:]))


def best_rate(results: Kept, name: str) -> float:
    """The rate that reaches the accuracy first with the first seed; of several equals, the one that ends best."""
    found = {rate: results.parts["courses"][key_of(name, rate, SEEDS[0])] for rate in RATES}
    return min(RATES, key=lambda rate: (samples_to(found[rate]), -final(found[rate])))


def train_courses(results: Kept, plans: dict[str, Plan]) -> None:
    """The plans by the name of their course; only one of several with the same course."""
    train_all(results, [(name, rate, SEEDS[0]) for name in plans for rate in RATES], plans)
    rates = {name: best_rate(results, name) for name in plans}
    results.keep("rates", rates)
    train_all(results, [(name, rates[name], seed) for name in plans for seed in SEEDS], plans)


# ---- measured

def links(gbits: float | None) -> dict:
    return {} if gbits is None else {"hardware.link.gbits": gbits, "hardware.link.microseconds": LATENCY}


def benchmark(plan: Plan, gbits: float | None) -> dict:
    found = json.loads(call("benchmark", str(CONFIG), "--json", "--profile", str(PROFILE), *plan.sets(links(gbits))))["results"][0]
    return {"predicted": found["step_ms_predicted"], "measured": 1e3 * plan.batch / found["samples_per_second"]}


def measured(plans: dict) -> list[dict]:
    """Goes over all cases in rounds, so that a disturbance affects all alike; takes the median of each case. Four
    workers share the cores, so they are measured where links take most of the step."""
    slowest = min(LINKS)
    four = [plan_of(plans["plans"][text]) for text in plans["chosen"][f"{slowest:g}"].values()]
    cases = [(plan, gbits) for gbits in (None, *LINKS) for plan in PAIR] + [(plan, slowest) for plan in four if plan.workers > 1]
    runs = [[] for _ in cases]
    for turn in range(ROUNDS):
        for case, found in zip(cases, runs):
            found.append(benchmark(*case))
        print(f"measured {turn + 1} of {ROUNDS} times", flush=True)
    return [{"plan": plan.text(), "workers": plan.workers, "gbits": gbits, "predicted": found[0]["predicted"],
             "measured": statistics.median(run["measured"] for run in found), "runs": [run["measured"] for run in found]}
            for (plan, gbits), found in zip(cases, runs)]


# ---- the page

def report(found: dict) -> None:
    write_page("pipedream", page(found))
    draw("pipedream", paint(found))


PARTS = {"profile": ("profile", "plans", "measured"), "courses": ("courses", "rates"), "measured": ("measured",)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", action="store_true", help="make the page of what docs/reproductions/pipedream.json has")
    parser.add_argument("--again", default="", help="parts to run again, with commas: profile, courses, measured")
    options = parser.parse_args()
    if options.report:
        return report(json.loads(DATA.read_text()))
    write_files()
    results = Kept(FOLDER / "results.json")
    for part in filter(None, options.again.split(",")):
        results.forget(PARTS[part])
    results.part("profile", profiled)
    made = results.part("plans", plans)
    results.part("measured", lambda: measured(made))
    train_courses(results, {plan.course(): plan for plan in map(plan_of, made["plans"].values())})
    shutil.copyfile(results.file, DATA)
    report(results.parts)


if __name__ == "__main__":
    main()
