"""The sample of scripts/validate-plan: runs that cover every possible pair of values."""

import itertools
import random

from places import ROOT

RUNS = 150

# name: (config, samples per micro-batch, keys that replace the config's)
SYNTHETIC = {"data.kind": '"synthetic"'}
MODELS = {
    "mlp": ("configs/bench/mlp.toml", 16, {}),
    "lenet5": ("configs/bench/lenet5.toml", 16, {}),
    "vgg16": ("configs/bench/vgg16.toml", 8, {}),
    "resnet18": ("configs/bench/resnet18.toml", 8, {}),
    "gpt": ("configs/bench/gpt.toml", 2, {}),
    "transformer-mini": ("configs/bench/gpt.toml", 4, {"model.file": f'"{ROOT}/models/transformer-mini.toml"'}),
    "gnmt-mini": ("configs/bench/gpt.toml", 4, {"model.file": f'"{ROOT}/models/gnmt-mini.toml"'}),
}
PLACES = [("threads", 1), ("threads", 2)] + [("inline", stages) for stages in range(1, 9)]
PRECISIONS = ["f32", "bf16"]


def parts_of(schedule, stages):
    """How many parts the schedule cuts the model into; see `pipetrain methods`."""
    if schedule in ("interleaved_1f1b", "zb_v"):
        return 2 * stages
    return 1 if schedule == "data_parallel" else stages


def microbatches_of(schedule, stages):
    """Eight, or the next number that the schedule allows."""
    if schedule in ("interleaved_1f1b", "data_parallel"):
        return -(-8 // stages) * stages
    return 8


def can_be(run, layers):
    model, (_, stages), schedule, _ = run
    if schedule == "chimera" and stages % 2:
        return False
    return parts_of(schedule, stages) <= layers[model]


def pairs_of(run):
    return set(itertools.combinations(enumerate(run), 2))


def sample(schedules, layers):
    """At least RUNS runs, always the same ones: greedily those with the most pairs that are still missing."""
    draw = random.Random(1)
    every = [run for run in itertools.product(MODELS, PLACES, schedules, PRECISIONS) if can_be(run, layers)]
    draw.shuffle(every)
    missing = set().union(*(pairs_of(run) for run in every))
    runs = []
    while missing or len(runs) < RUNS:
        best = max(every, key=lambda run: len(pairs_of(run) & missing)) if missing else every[0]
        runs.append(best)
        every.remove(best)
        missing -= pairs_of(best)
    return sorted(runs, key=lambda run: (list(MODELS).index(run[0]), run[3], run[1], run[2]))
