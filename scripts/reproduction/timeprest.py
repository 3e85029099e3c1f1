"""TiMePReSt, V- and I- beside PipeDream.

For anyone who asks what TiMePReSt, V- and I-TiMePReSt reach beside PipeDream, and which of their papers' claims hold here.

A convolutional network, LeNet-5 with a layer of weights per stage, on {digits}: 8,000 to train, 2,000 to validate. Stages run
inline, one after the other. Every method makes the same number of updates from the same initial weights (He's), for five
seeds, at each of three learning rates.
"""
import json
import math
import statistics

from kept import Kept
from page import ROOT, draw, write_page
from runs import data_section, digits_text, spread, train, write_he
from schedules import call
from timeprest_page import BUSY, page

STAGES, MICROBATCHES, BATCH, STEPS, EVERY, WINDOW = 5, 4, 32, 3000, 125, 4
EPOCH = 8000 // BATCH  # updates
SEEDS = (1, 2, 3, 4, 5)
RATES = (0.0025, 0.005, 0.01)
FOLDER = ROOT / "runs/reproduce-timeprest"
LAYERS = {"conv1": [6, 1, 5, 5], "conv2": [16, 6, 5, 5], "fc1": [120, 400], "fc2": [84, 120], "fc3": [10, 84]}
MODEL = """name = "lenet5"
input = { shape = [1, 28, 28] }
layers = [
  { name = "conv1", kind = "conv2d", out_channels = 6, kernel = 5, padding = 2 }, { name = "relu1", kind = "relu" },
  { name = "pool1", kind = "max_pool", kernel = 2 },
  { name = "conv2", kind = "conv2d", out_channels = 16, kernel = 5 }, { name = "relu2", kind = "relu" },
  { name = "pool2", kind = "max_pool", kernel = 2 }, { name = "flatten", kind = "flatten" },
  { name = "fc1", kind = "linear", out_features = 120 }, { name = "relu3", kind = "relu" },
  { name = "fc2", kind = "linear", out_features = 84 }, { name = "relu4", kind = "relu" },
  { name = "fc3", kind = "linear", out_features = 10 },
]
"""
LAMBDAS = (0, 0.5, 1, 2, 5)
FLUSH = "flushing (1f1b)"


def schedule(name: str, **keys: str) -> dict:
    return {"pipeline.schedule": f'"{name}"'} | {f"pipeline.{key.replace('__', '.')}": value for key, value in keys.items()}


def methods() -> dict[str, dict]:
    made = {FLUSH: schedule("1f1b"), "PipeDream, N = 1": schedule("pipedream", microbatches="1"),
            "PipeDream": schedule("pipedream"), "I-, λ = 0": schedule("i_timeprest", i_timeprest__lambda="0")}
    for rule in ("saved", "recompute"):
        key = {"pipeline.gradient_rule": f'"{rule}"'}
        made[f"TiMePReSt, {rule}"] = schedule("timeprest") | key
        made[f"V-, {rule}"] = schedule("v_timeprest") | key
        for number in LAMBDAS[1:]:  # with 0, backward reads what forward read, so that both rules are the same
            made[f"I-, λ = {number}, {rule}"] = schedule("i_timeprest", i_timeprest__lambda=str(number)) | key
        made[f"I-, λ = 1, estimated, {rule}"] = schedule("i_timeprest", i_timeprest__stash="false") | key
    for name in ("TiMePReSt, saved", "V-, saved", "I-, λ = 1, saved"):
        made[f"{name}{BUSY}"] = made[name] | {"pipeline.timeprest.times": '"busy"'}
    order = ("flush", "PipeDream", "TiMePReSt", "V-", "I-, λ = 0", "I-")
    return dict(sorted(made.items(), key=lambda item: next(i for i, start in enumerate(order) if item[0].startswith(start))))


def write_files() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for seed in SEEDS:
        write_he(FOLDER / f"init-{seed}.safetensors", seed, LAYERS)
    (FOLDER / "model.toml").write_text(MODEL)
    names = ", ".join(f'"{name}"' for name in list(LAYERS)[1:])
    (FOLDER / "config.toml").write_text(f"""
model.file = "model.toml"
{data_section()}batch_size = {BATCH}
[pipeline]
stages = {STAGES}
microbatches = {MICROBATCHES}
split = [{names}]
[optimizer]
kind = "sgd"
momentum = 0.9
[training]
steps = {STEPS}
[validation]
every_steps = {EVERY}
[hardware]
workers = "inline"
threads_per_stage = 1
""")


def key_of(method: str, rate: float, seed: int) -> str:
    return f"{method}; {rate}; {seed}"


def run(work: tuple[str, float, int]) -> dict:
    method, rate, seed = work
    found = train(FOLDER, methods()[method], rate, seed, STEPS, "".join(c if c.isalnum() else "-" for c in key_of(*work)))
    return {"accuracy": {str(step): round(value, 2) for step, value in found["accuracy"].items()}, "versions": found["versions"],
            "memory": found["memory"]}


def time_of(sets: dict) -> float:
    """Of an epoch, on equal stages, in forwards of a micro-batch of BATCH / MICROBATCHES samples, of which a backward takes two."""
    n = int(sets.get("pipeline.microbatches", MICROBATCHES))
    scale = MICROBATCHES // n
    busy = ["--busy"] if "pipeline.timeprest.times" in sets else []
    times = [] if scale == 1 else ["--times", f"F={scale},B={2 * scale}"]
    made = call("schedule", sets["pipeline.schedule"].strip('"'), "--stages", str(STAGES), "--microbatches", str(n), "--steps", str(EPOCH),
                "--summary", "--json", *busy, *times)
    return json.loads(made)["makespan"]


def smoothed(run: dict) -> dict[float, float]:
    """Accuracy by epoch, each the mean of the last validations; chance once it has diverged."""
    steps = range(EVERY, STEPS + 1, EVERY)
    values = [run["accuracy"].get(str(step), 10.0) for step in steps]
    return {steps[i] / EPOCH: statistics.mean(values[i - WINDOW + 1 : i + 1]) for i in range(WINDOW - 1, len(values))}


def finals(runs: list[dict]) -> list[float]:
    return [smoothed(run)[STEPS / EPOCH] for run in runs]


def epochs_to(runs: list[dict], target: float) -> list[float]:
    """The first epoch from which each run was good enough; infinite if none was."""
    return [next((epoch for epoch, value in smoothed(run).items() if value >= target), math.inf) for run in runs]


def curve(axes, runs: list[dict], **how) -> None:
    curves = [smoothed(run) for run in runs]
    axes.plot(list(curves[0]), [statistics.mean(c[e] for c in curves) for e in curves[0]], **how)


def points(axes, epochs: list[list[float]], first: float, **how) -> None:
    """Means as a line, with the seeds as small dots behind it."""
    places = [first + i for i in range(len(epochs))]
    axes.plot(places, [statistics.mean(e) for e in epochs], **how)
    for place, dots in zip(places, epochs):
        axes.plot([place] * len(dots), dots, ".", color=how["color"], alpha=0.5, markersize=5)


def paint(results: dict, rate: float, target: float):
    def figure(pyplot):
        picture, (left, right) = pyplot.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
        colors = pyplot.get_cmap("tab10")
        for i, name in enumerate((FLUSH, "PipeDream", "PipeDream, N = 1")):
            curve(left, results[name][rate], color=colors(i), label=name)
        for i, name in enumerate(("TiMePReSt", "V-", "I-, λ = 1"), 3):
            for rule, line in (("saved", "-"), ("recompute", "--")):
                curve(left, results[f"{name}, {rule}"][rate], color=colors(i), linestyle=line, label=f"{name}, {rule}")
        left.set(xlabel="epochs", ylabel=f"validation accuracy at {rate}, %", ylim=(90, 100))
        left.legend(fontsize=8, ncol=3, loc="upper center", bbox_to_anchor=(0.5, -0.12))
        for i, rule in enumerate(("saved", "recompute")):
            names = ["I-, λ = 0"] + [f"I-, λ = {number}, {rule}" for number in LAMBDAS[1:]]
            points(right, [epochs_to(results[name][rate], target) for name in names], i * 0.16 - 0.08, color=colors(i),
                   marker="o", label=f"I-, {rule}")
            points(right, [epochs_to(results[f"V-, {rule}"][rate], target)], len(names) + i * 0.16 - 0.08, color=colors(i),
                   marker="s", label=f"V-, {rule}")
        right.set(xticks=range(len(LAMBDAS) + 1), xlabel="λ of I-; V-",
                  ylabel=f"epochs to {target:.1f}% at {rate} (small: each seed)")
        right.set_xticklabels([str(number) for number in LAMBDAS] + ["V-"])
        right.legend(fontsize=8, ncol=2, loc="upper center", bbox_to_anchor=(0.5, -0.12))
        for axes in (left, right):
            axes.grid(alpha=0.3)
        return picture

    return figure


def main() -> None:
    write_files()
    kept = Kept(FOLDER / "results.json")
    works = [(method, rate, seed) for seed in SEEDS for method in methods() for rate in RATES]
    runs = kept.all_of("runs", {key_of(*work): work for work in works}, run)
    results = {method: {rate: [runs[key_of(method, rate, seed)] for seed in SEEDS] for rate in RATES} for method in methods()}
    rate = max(RATES, key=lambda r: statistics.mean(finals(results[FLUSH][r])))  # the first of several equals
    target = statistics.mean(finals(results[FLUSH][rate])) - 2
    final = {m: {r: finals(runs) for r, runs in by_rate.items()} for m, by_rate in results.items()}
    epochs = {m: {r: epochs_to(runs, target) for r, runs in by_rate.items()} for m, by_rate in results.items()}
    every = {m: [run["versions"] for runs in by_rate.values() for run in runs] for m, by_rate in results.items()}
    held = {m: [max(counts) for counts in zip(*versions)] for m, versions in every.items()}
    memory = {m: by_rate[rate][0]["memory"] for m, by_rate in results.items()}
    time = {m: time_of(sets) for m, sets in methods().items()}
    setting = (f"{STAGES} stages, {MICROBATCHES} micro-batches of {BATCH // MICROBATCHES} samples (PipeDream also with N = 1, "
               f"one of {BATCH}: undivided, as in its paper), sgd with momentum 0.9, a constant rate, {STEPS} updates: "
               f"{STEPS // EPOCH} epochs of {EPOCH}. A validation every {EVERY} updates, for which the pipeline is drained.")
    intro = __doc__.format(digits=digits_text(kept.parts))
    write_page("timeprest", page(intro, setting, rate, target, final, epochs, held, memory, time))
    draw("timeprest", paint(results, rate, target))


if __name__ == "__main__":
    main()
