"""The files of a run and the tools that open them. See scripts/check-outputs.

Each training is a small pipeline with metrics.tensorboard and metrics.trace_steps. These files are read:
  model.safetensors          by safetensors: names, shapes, types, finite values
  events.out.tfevents.*      by tensorboard's event reader: the numbers of metrics.jsonl, no step twice
  trace.json                 as JSON and by Perfetto's trace processor (outputs_trace.py)
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy
import outputs_trace
from safetensors.numpy import load_file
from tensorboard.backend.event_processing import event_accumulator

CONFIG = """
[model]
name = "small"
input = { shape = [1, 28, 28] }
[[model.layers]]
name = "conv1"
kind = "conv2d"
out_channels = 8
kernel = 5
[[model.layers]]
name = "bn1"
kind = "batch_norm"
[[model.layers]]
name = "relu1"
kind = "relu"
[[model.layers]]
name = "pool1"
kind = "max_pool"
kernel = 2
[[model.layers]]
name = "flatten"
kind = "flatten"
[[model.layers]]
name = "fc1"
kind = "linear"
out_features = 10

[data]
kind = "glyphs"
train_samples = 640
validation_samples = 64
batch_size = 32

[pipeline]
schedule = "1f1b"
stages = 3
microbatches = 4

[optimizer]
lr = 0.05
momentum = 0.9
max_norm = 2.0

[training]
steps = 16

[validation]
every_steps = 6
before_first_step = true

[metrics]
tensorboard = true
trace_steps = [4, 8]
"""
SHAPES = {"conv1.weight": (8, 1, 5, 5), "conv1.bias": (8,), "bn1.weight": (8,), "bn1.bias": (8,),
          "bn1.running_mean": (8,), "bn1.running_var": (8,), "bn1.num_batches_tracked": (),
          "fc1.weight": (10, 1152), "fc1.bias": (10,)}
STEP_NUMBERS = ["loss", "lr", "grad_norm", "samples_per_second", "bubble"]
STAGE_NUMBERS = ["busy", "waiting", "memory_bytes", "staleness"]
# How each run is made, in one call or two: all of these must leave files of the same form.
RUNS = {"1f1b, threads": [[]],
        "1f1b, inline": [["--set", "hardware.workers=inline"]],
        "gpipe, threads": [["--set", "pipeline.schedule=gpipe"]],
        "one stage": [["--set", "pipeline.stages=1"]],
        "again": [[], ["--resume", "never"]],
        "continues": [["--set", "training.steps=9"], []],
        "goes back": [["--set", "checkpoint.every_steps=3", "--set", "checkpoint.keep_latest=9"],
                      ["--set", "checkpoint.every_steps=3", "--set", "checkpoint.keep_latest=9",
                       "--resume", "FOLDER/checkpoints/step-00000003"]]}


class Report:
    """Prints one line per check and counts them."""

    def __init__(self):
        self.agree = self.differ = 0

    def check(self, good, where, what, otherwise=""):
        self.agree += bool(good)
        self.differ += not good
        print(f"{'agrees' if good else 'DIFFERS':8}{where:16}{what}"
              f"{'' if good or not otherwise else ': ' + str(otherwise)}", flush=True)


def train(binary, config, folder, options):
    call = [binary, "train", config, "--output", folder, "--quiet"]
    call += [option.replace("FOLDER", str(folder)) for option in options]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"check-outputs: {' '.join(map(str, call))} ended with {done.returncode}:\n{done.stderr}")


def check_weights(report, where, folder):
    tensors = load_file(folder / "model.safetensors")
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    report.check(shapes == SHAPES, where, "safetensors: every parameter and buffer, by its shape", shapes)
    integers = [name for name, tensor in tensors.items() if tensor.dtype != numpy.float32]
    report.check(integers == ["bn1.num_batches_tracked"], where, "safetensors: float32, but for the count",
                 integers)
    report.check(all(numpy.isfinite(tensor).all() for tensor in tensors.values()), where,
                 "safetensors: every value is finite")


def expected_scalars(events):
    """Tag -> [(step, value)], from metrics.jsonl."""
    scalars = {}

    def add(group, step, numbers):
        for key, value in numbers.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and key != "step":
                scalars.setdefault(f"{group}/{key}", []).append((step, value))

    for event in events:
        if event["event"] not in ("step", "validation"):
            continue
        add("train" if event["event"] == "step" else "validation", event["step"], event)
        for number, stage in enumerate(event.get("stages", [])):
            add(f"stage_{number}", event["step"], stage)
    return scalars


def check_events(report, where, folder, stages):
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    expected = expected_scalars([json.loads(line) for line in lines])
    reader = event_accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0})
    reader.Reload()
    tags = set(reader.Tags()["scalars"])
    wanted = {f"train/{key}" for key in STEP_NUMBERS} | {"validation/loss", "validation/accuracy",
                                                               "validation/top5"}
    wanted |= {f"stage_{s}/{key}" for s in range(stages) for key in STAGE_NUMBERS}
    report.check(wanted <= tags, where, f"tensorboard: {len(wanted)} scalars are there", wanted - tags)
    report.check(tags == set(expected), where, "tensorboard: no others than metrics.jsonl has",
                 tags ^ set(expected))
    rising = [tag for tag in tags
              if any(a.step >= b.step for a, b in zip(reader.Scalars(tag), reader.Scalars(tag)[1:]))]
    report.check(not rising, where, "tensorboard: steps rise strictly", rising)
    wrong = [tag for tag in tags & set(expected) if not same(reader.Scalars(tag), expected[tag])]
    count = sum(len(reader.Scalars(tag)) for tag in tags)
    report.check(not wrong, where, f"tensorboard: {count} values are those of metrics.jsonl", wrong)
    times = [e.wall_time for e in reader.Scalars("train/loss")]
    report.check(times == sorted(times), where, "tensorboard: time does not run backwards")
    report.check(len(list(folder.glob("events.out.tfevents.*"))) == 1, where, "tensorboard: one file")


def same(found, expected):
    return [e.step for e in found] == [step for step, _ in expected] and all(
        e.value == numpy.float32(value) or (math.isnan(e.value) and math.isnan(value))
        for e, (_, value) in zip(found, expected))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(prog="check-outputs", description=__doc__.splitlines()[0])
    parser.add_argument("--pipetrain", type=pathlib.Path, default=root / "build",
                        metavar="BUILD-FOLDER", help="where scripts/build built (default: build)")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="leave the runs there")
    options = parser.parse_args()
    binary = options.pipetrain.resolve() / "pipetrain"
    if not binary.exists():
        sys.exit(f"check-outputs: {binary} is not there; run scripts/build first")
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        base = options.keep or pathlib.Path(scratch)
        base.mkdir(parents=True, exist_ok=True)
        config = base / "small.toml"
        config.write_text(CONFIG)
        for number, (where, calls) in enumerate(RUNS.items()):
            folder = base / f"run-{number}"
            for call in calls:
                train(binary, config, folder, call)
            stages = len(json.loads((folder / "plan.json").read_text())["stages"])
            check_weights(report, where, folder)
            check_events(report, where, folder, stages)
            outputs_trace.check(report, where, folder, first=4, last=8)
    without = "; Perfetto's trace processor was not here to be asked" if outputs_trace.ABSENT else ""
    print(f"{report.agree} checks agree, {report.differ} do not{without}")
    sys.exit(1 if report.differ else 0)


if __name__ == "__main__":
    main()
