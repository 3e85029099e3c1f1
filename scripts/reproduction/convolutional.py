"""Asynchronous schedules on convolutional networks.

For anyone who trains convolutional networks and asks what a pipeline that never drains costs in accuracy, and what it gains
in time.

ResNet-18 and VGG-16 for images of 32 x 32 ([models](../vision.md), both with BatchNorm), in 4 and in 8 stages of
`split = "auto"`, on {images}: 4,000 to train, 1,000 to validate. Every method makes the same number of updates from the same
initial weights, at two learning rates, with sgd, momentum 0.9 and a linear rise of the rate over the first epoch.
"""
import argparse
import gzip
import json
import math
import random

from kept import Kept
from page import FOLDER as PAGES, ROOT, draw, table, write_page
from runs import DIGITS, LABELS, MNIST, data_of, have_digits, train
from schedules import PARTS, call
from vision import draw_image

FOLDER, DATA = ROOT / "runs/reproduce-convolutional", PAGES / "convolutional.json"
MODELS, STAGES, RATES = ("resnet18-32", "vgg16-32"), (4, 8), (0.01, 0.03)
TRAINED, VALIDATED, BATCH, EPOCHS, SEED, SIDE = 4000, 1000, 40, 3, 1, 32
EPOCH = TRAINED // BATCH  # updates
STEPS, EVERY = EPOCHS * EPOCH, EPOCH // 2
FLUSH = "1f1b"
BUSY = {"pipeline.timeprest.times": '"busy"'}
METHODS = {FLUSH: {}, "pipedream": {}, "pipedream_2bw": {}, "pipelined_backpropagation": {}, "pipemare": {},
           "pipemare, one epoch synchronous": {"pipeline.pipemare.sync_warmup_epochs": "1"},
           "timeprest": BUSY, "v_timeprest": BUSY, "i_timeprest": BUSY}


def digit_images(pick: random.Random, count: int) -> list[bytes]:
    """Records of cifar10: handwritten digits with 2 pixels around them, in a colour drawn for each, on another."""
    pixels, labels = gzip.decompress(DIGITS.read_bytes())[16:], gzip.decompress(LABELS.read_bytes())[8:]
    records = []
    for i in range(count):
        digit = pixels[784 * i : 784 * (i + 1)]
        back, front = [pick.uniform(0, 110) for _ in range(3)], [pick.uniform(145, 255) for _ in range(3)]
        if pick.random() < 0.5:
            back, front = front, back
        record = bytearray([labels[i]])
        for a, b in zip(back, front, strict=True):
            for y in range(-2, 30):
                for x in range(-2, 30):
                    share = digit[28 * y + x] / 255 if 0 <= x < 28 and 0 <= y < 28 else 0
                    record.append(round(a + share * (b - a)))
        records.append(bytes(record))
    return records


def write_files() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    pick = random.Random(SEED)
    count = TRAINED + VALIDATED
    records = digit_images(pick, count) if have_digits() else [draw_image(i % 10, pick) for i in range(count)]
    (FOLDER / "train.bin").write_bytes(b"".join(records[:TRAINED]))
    (FOLDER / "validation.bin").write_bytes(b"".join(records[TRAINED:]))
    (FOLDER / "config.toml").write_text(f"""
[data]
kind = "cifar10"
train_files = "train.bin"
validation_files = "validation.bin"
batch_size = {BATCH}
mean = [0.5, 0.5, 0.5]
std = [0.25, 0.25, 0.25]
[optimizer]
kind = "sgd"
momentum = 0.9
[lr_schedule]
warmup_steps = {EPOCH}
[training]
steps = {STEPS}
[validation]
every_steps = {EVERY}
[hardware]
workers = "inline"
threads_per_stage = 1
""")


def settings(method: str, model: str, stages: int) -> dict[str, str]:
    """N = P: as few as pipedream_2bw takes, and one more than v_timeprest needs."""
    return {"model.file": f'"{ROOT}/models/{model}.toml"', "pipeline.schedule": f'"{method.split(",")[0]}"',
            "pipeline.stages": str(stages), "pipeline.microbatches": str(stages)} | METHODS[method]


def key_of(model: str, stages: int, method: str, rate: float) -> str:
    return f"{model}; {stages}; {method}; {rate}"


def run(work: tuple[str, int, str, float]) -> dict:
    model, stages, method, rate = work
    found = train(FOLDER, settings(method, model, stages), rate, SEED, STEPS, "".join(c if c.isalnum() else "-" for c in key_of(*work)),
                  init=False)
    return {"accuracy": {str(step): round(value, 2) for step, value in found["accuracy"].items()},
            "memory": sum(stage[part] for stage in found["memory"] for part in PARTS)}


def time_of(method: str, stages: int) -> float:
    """Of an update in steady state, on equal stages, in forwards of a micro-batch, of which a backward takes two. Under the
    timeprests B is the backward of a whole mini-batch."""
    name = method.split(",")[0]
    whole = name.endswith("timeprest")
    times = f"F=1,B={2 * stages if whole else 2}"
    ends = [json.loads(call("schedule", name, "--stages", str(stages), "--microbatches", str(stages), "--steps", str(k), "--times", times,
                            "--summary", "--json", *(["--busy"] if whole else [])))["makespan"] for k in (40, 80)]
    return (ends[1] - ends[0]) / 40


def final(run: dict) -> float:
    """The mean of the last two validations; chance once it has diverged."""
    return sum(run["accuracy"].get(str(step), 10.0) for step in (STEPS - EVERY, STEPS)) / 2


def reached(run: dict, target: float) -> float:
    return next((int(step) for step, value in run["accuracy"].items() if value >= target), math.inf)


def best(runs: dict, model: str, stages: int, method: str) -> tuple[float, dict]:
    return max(((rate, runs[key_of(model, stages, method, rate)]) for rate in RATES), key=lambda pair: final(pair[1]))


def one_table(runs: dict, times: dict, model: str, stages: int) -> str:
    flush = final(best(runs, model, stages, FLUSH)[1])
    target, rows = flush - 2, []
    updates_of_flush = reached(best(runs, model, stages, FLUSH)[1], target)
    for method in METHODS:
        rate, made = best(runs, model, stages, method)
        updates = reached(made, target)
        gain = updates_of_flush * times[FLUSH, stages] / (updates * times[method, stages]) if updates < math.inf else 0
        rows.append([method, *(f"{final(runs[key_of(model, stages, method, r)]):.1f}" for r in RATES), str(rate),
                     f"{final(made) - flush:+.1f}", str(updates) if updates < math.inf else "never",
                     f"{times[FLUSH, stages] / times[method, stages]:.2f}", f"{gain:.2f}" if gain else "", f"{made['memory'] / 2**20:.0f}"])
    return f"### {model}, {stages} stages\n\n" + table(
        ["method", *(f"accuracy at {r}, %" for r in RATES), "better at", "beside 1f1b's", f"updates to {target:.1f}%", "updates per time",
         "sooner there", "memory, MiB"], rows)


def verdicts(runs: dict, times: dict) -> str:
    lines = []
    for method in list(METHODS)[1:]:
        apart = [final(best(runs, m, p, method)[1]) - final(best(runs, m, p, FLUSH)[1]) for m in MODELS for p in STAGES]
        faster = [times[FLUSH, p] / times[method, p] for p in STAGES]
        lines.append((min(apart), f"- `{method.split(',')[0]}`{',' + method.split(',')[1] if ',' in method else ''}: {min(apart):+.1f} to "
                                  f"{max(apart):+.1f} points beside 1f1b, at {min(faster):.2f} to {max(faster):.2f} times its updates per time."))
    return "\n".join(text for _, text in sorted(lines))  # what did not hold comes first


def paint(runs: dict, times: dict):
    def figure(pyplot):
        picture, grid = pyplot.subplots(2, 4, figsize=(16, 7.5), layout="constrained", sharey=True)
        colors = pyplot.get_cmap("tab10")
        for column, (model, stages) in enumerate((m, p) for m in MODELS for p in STAGES):
            for i, method in enumerate(METHODS):
                accuracy = best(runs, model, stages, method)[1]["accuracy"]
                steps = [int(step) for step in accuracy]
                for row, scale in enumerate((1, times[method, stages])):
                    grid[row][column].plot([s * scale for s in steps], list(accuracy.values()), color=colors(i), label=method, linewidth=1.2)
            grid[0][column].set(title=f"{model}, {stages} stages", xlabel="updates", ylim=(0, 100))
            grid[1][column].set(xlabel="simulated time, forwards of a micro-batch")
            for axes in (grid[0][column], grid[1][column]):
                axes.grid(alpha=0.3)
        for row in grid:
            row[0].set_ylabel("validation accuracy, %")
        picture.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
        return picture

    return figure


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further training after that long")
    minutes = parser.parse_args().minutes
    write_files()
    works = {key_of(*work): work for work in ((m, p, method, r) for r in RATES for m in MODELS for p in STAGES for method in METHODS)}
    kept = Kept(DATA)
    runs = kept.all_of("runs", works, run, 60 * minutes)
    if missing := len(works) - len(runs):
        print(f"{missing} of {len(works)} trainings are missing: run this command again, then the page is made")
        return
    times = {(method, p): time_of(method, p) for method in METHODS for p in STAGES}
    images = ("handwritten digits (MNIST), each in a colour of its own on a ground of its own"
              if data_of(kept.parts) == MNIST else "drawn stripes, whose angle is the class, in random colours "
              "(MNIST was not there: `scripts/fetch-dataset mnist` gets it)")
    tables = "\n".join(one_table(runs, times, m, p) for m in MODELS for p in STAGES)
    write_page("convolutional", f"""{__doc__.replace("{images}", images).strip().replace(
        "Asynchronous schedules on convolutional networks.", "# Asynchronous schedules on convolutional networks", 1)}

`scripts/reproduce/convolutional` makes this page, in parts if need be (`--minutes 40`). A mini-batch has {BATCH} images, in as many micro-batches as there are stages;
{EPOCHS} epochs of {EPOCH} updates; `pipemare` has T1 and T2; the timeprests run in the work-conserving order (`times = "busy"`).
One run for each cell, so differences of a point or so say little.

## What came out

The better of the two rates for each method, over both networks and both numbers of stages, the worst first:

{verdicts(runs, times)}

## In numbers

Accuracy: the mean of the last two validations (10.0: it diverged, or learnt nothing). Updates to: at the first validation that is
as good as 1f1b's end less 2 points; there is one every {EVERY} updates. Updates per time: in steady state on equal stages where B = 2F,
simulated, 1f1b's being 1; without PipeMare's synchronous epoch. Sooner there: how many times less simulated time than 1f1b takes. Memory: all stages, in training.

{tables}
![accuracy by updates and by simulated time](convolutional.png)
""")
    draw("convolutional", paint(runs, times))


if __name__ == "__main__":
    main()
