"""docs/reproductions/convolutional.md: asynchronous schedules on convolutional networks. See scripts/reproduce/convolutional."""
import argparse
import dataclasses
import gzip
import json
import math
import random

from convolutional_page import page, paint
from kept import Kept
from page import FOLDER as PAGES, ROOT, draw, write_page
from runs import DIGITS, LABELS, have_digits, train
from schedules import PARTS, call
from vision import draw_image

FOLDER, DATA = ROOT / "runs/reproduce-convolutional", PAGES / "convolutional.json"
MODELS, STAGES, RATES = ("resnet18-32", "vgg16-32"), (4, 8), (0.005, 0.02)
TRAINED, VALIDATED, BATCH, EPOCHS, SEED = 4000, 1000, 40, 3, 1
EPOCH = TRAINED // BATCH  # updates
STEPS, EVERY = EPOCHS * EPOCH, EPOCH // 2


@dataclasses.dataclass(frozen=True)
class Method:
    """Divided: into as many micro-batches as there are stages, as few as pipedream_2bw takes and one more than v_timeprest
    needs. Undivided, as in the papers of the others: there a delay is of whole updates, P - 1 - s on stage s."""
    schedule: str
    divided: bool
    sets: dict = dataclasses.field(default_factory=dict)

    def microbatches(self, stages: int) -> int:
        return stages if self.divided else 1

    def busy(self) -> bool:
        return "pipeline.timeprest.times" in self.sets


BUSY = {"pipeline.timeprest.times": '"busy"'}
SYNCHRONOUS = {"pipeline.pipemare.sync_warmup_epochs": "1"}
METHODS = {"1f1b": Method("1f1b", True), "1f1b, undivided": Method("1f1b", False),
           "pipedream": Method("pipedream", False), "pipedream_2bw": Method("pipedream_2bw", True),
           "pipelined_backpropagation": Method("pipelined_backpropagation", False), "pipemare": Method("pipemare", False),
           "pipemare, T3": Method("pipemare", False, SYNCHRONOUS), "timeprest": Method("timeprest", True, BUSY),
           "v_timeprest": Method("v_timeprest", True, BUSY), "i_timeprest": Method("i_timeprest", True, BUSY)}


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
kind = "cosine"
warmup_steps = {EPOCH}
[training]
steps = {STEPS}
[validation]
every_steps = {EVERY}
[hardware]
workers = "inline"
threads_per_stage = 1
""")


def key_of(model: str, stages: int, name: str, rate: float) -> str:
    return f"{model}; {stages}; {name}; {rate}"


def run(work: tuple[str, int, str, float]) -> dict:
    model, stages, name, rate = work
    method = METHODS[name]
    sets = {"model.file": f'"{ROOT}/models/{model}.toml"', "pipeline.schedule": f'"{method.schedule}"',
            "pipeline.stages": str(stages), "pipeline.microbatches": str(method.microbatches(stages))} | method.sets
    found = train(FOLDER, sets, rate, SEED, STEPS, "".join(c if c.isalnum() else "-" for c in key_of(*work)), init=False)
    return {"accuracy": {str(step): round(value, 2) for step, value in found["accuracy"].items()}, "versions": found["versions"],
            "memory": sum(stage[part] for stage in found["memory"] for part in PARTS)}


def time_of(method: Method, stages: int) -> float:
    """Of an update in steady state, on equal stages, in forwards of a micro-batch of the divided methods, of which a backward
    takes two. Under the timeprests B is the backward of a whole mini-batch."""
    times = f"F=1,B={2 * stages if method.busy() else 2}" if method.divided else f"F={stages},B={2 * stages}"
    ends = [json.loads(call("schedule", method.schedule, "--stages", str(stages), "--microbatches", str(method.microbatches(stages)), "--steps",
                            str(k), "--times", times, "--summary", "--json", *(["--busy"] if method.busy() else [])))["makespan"]
            for k in (40, 80)]
    return (ends[1] - ends[0]) / 40


def simulated_times() -> dict[str, dict]:
    """By method and stages: the time of an update, and of each of T3's synchronous updates, with which a run begins."""
    flush = {p: time_of(METHODS["1f1b, undivided"], p) for p in STAGES}
    return {f"{name}; {p}": {"update": time_of(method, p), "first_updates": EPOCH if method.sets == SYNCHRONOUS else 0, "first_update": flush[p]}
            for name, method in METHODS.items() for p in STAGES}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further training after that long")
    minutes = parser.parse_args().minutes
    write_files()
    works = {key_of(*work): work for work in ((m, p, name, r) for r in RATES for m in MODELS for p in STAGES for name in METHODS)}
    kept = Kept(DATA)
    runs = kept.all_of("runs", works, run, 60 * minutes)
    if missing := len(works) - len(runs):
        print(f"{missing} of {len(works)} trainings are missing: run this command again, then the page is made")
        return
    kept.keep("times", simulated_times())
    kept.keep("setting", {"models": MODELS, "stages": STAGES, "rates": RATES, "methods": list(METHODS), "steps": STEPS, "every": EVERY,
                          "epoch": EPOCH, "batch": BATCH, "trained": TRAINED, "validated": VALIDATED})
    write_page("convolutional", page(kept.parts))
    draw("convolutional", paint(kept.parts))


if __name__ == "__main__":
    main()
