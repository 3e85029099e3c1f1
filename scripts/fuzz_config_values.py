"""The valid configs of scripts/fuzz-configs: models, data and values of keys, from which configs are drawn.

A config is a dict of dotted keys to Python values. Keys that must not change a bit of the result are drawn
separately from the others, so that several trials share one reference.
"""
import math
import random
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Config = dict[str, Any]

GPT = """name = "gpt"
input = { tokens = 8, vocabulary = 256 }
layers = [
  { name = "wte", kind = "embedding", embedding_dim = 16, init_std = 0.02 },
  { name = "wpe", kind = "learned_positions", init_std = 0.02 },
  { name = "h", block = "block", repeat = 2 },
  { name = "ln", kind = "layer_norm" },
  { name = "head", kind = "linear", out_features = 256, bias = false, tied = "wte" },
]
[blocks.block]
layers = [
  { name = "ln_1", kind = "layer_norm" },
  { name = "qkv", kind = "linear", out_features = 48 },
  { name = "heads", kind = "attention", heads = 2, causal = true },
  { name = "dropout", kind = "dropout", p = 0.1 },
  { name = "sum_1", kind = "add", inputs = ["dropout", "input"] },
  { name = "fc", kind = "linear", out_features = 32 },
  { name = "gelu", kind = "gelu" },
  { name = "proj", kind = "linear", out_features = 16 },
  { name = "sum_2", kind = "add", inputs = ["proj", "sum_1"] },
]
"""
TRANSLATION = """name = "translation"
input = { source = 16, target = 16, vocabulary = 32 }
label_smoothing = 0.1
layers = [
  { name = "read", kind = "embedding", embedding_dim = 16, inputs = ["source"] },
  { name = "encoder", kind = "lstm", hidden_size = 8, bidirectional = true, padding = 0, inputs = ["read", "source"] },
  { name = "write", kind = "embedding", embedding_dim = 16, tied = "read", inputs = ["target"] },
  { name = "decoder", kind = "lstm", hidden_size = 16 },
  { name = "query", kind = "linear", out_features = 16, bias = false },
  { name = "keys", kind = "linear", out_features = 16, bias = false, inputs = ["encoder"] },
  { name = "context", kind = "additive_attention", padding = 0, inputs = ["query", "keys", "encoder", "source"] },
  { name = "both", kind = "concat", inputs = ["decoder", "context"] },
  { name = "dropout", kind = "dropout", p = 0.2 },
  { name = "out", kind = "lstm", hidden_size = 16 },
  { name = "head", kind = "linear", out_features = 32, bias = false, tied = "read" },
]
"""
WORDS = "ado bel cade dobe echo fade gibe hoc idle jade kobe lace mode node oboe page quad robe side tube".split()

# Keys for any model: how often each is drawn, and its values.
COMMON: dict[str, tuple[float, list]] = {
    "model.trainable": (0.2, [["*weight*"], ["*.bias"], ["fc*", "head.*"], ["*"], []]),
    "data.batch_size": (1, [8, 8, 8, 12, 6]),
    "data.shuffle": (0.2, [True, False]),
    "data.drop_last": (0.3, [True, False]),
    "pipeline.microbatches": (1, [1, 2, 4, 4, 4, 8, 3]),
    "pipeline.warmup": (0.3, ["1f1b", "double", "full"]),
    "pipeline.replicas": (0.15, [1, 2, 2, [2, 1], [3, 1], [1, 2, 1]]),
    "pipeline.vertical_sync": (0.2, [True, False]),
    "pipeline.gradient_rule": (0.2, ["saved", "recompute"]),
    "pipeline.recompute": (0.4, ["none", "stage", "segments", ["relu"], ["gelu", "layer_norm"], ["dropout"]]),
    "pipeline.segment_stages": (0.2, [0, 1, 2, 3, 5]),
    "pipeline.pipemare.anneal_steps": (0.3, [0, 2, 100]),
    "pipeline.pipemare.decay": (0.3, [0.0, 0.135, 0.9]),
    "pipeline.pipemare.sync_warmup_epochs": (0.2, [0, 1]),
    "pipeline.timeprest.times": (0.4, ["slots", "busy"]),
    "pipeline.timeprest.forward": (0.1, [1, 3]),
    "pipeline.timeprest.backward": (0.2, [0, 1, 7]),
    "pipeline.timeprest.in_flight": (0.2, [0, 1, 2, 5]),
    "pipeline.i_timeprest.lambda": (0.2, [0.0, 1.0, 5]),
    "pipeline.i_timeprest.sigma": (0.3, ["exp", "inverse", "power_of_two", "constant"]),
    "pipeline.i_timeprest.stash": (0.3, [True, False]),
    "pipeline.i_timeprest.decay": (0.2, [0.0, 0.5]),
    "optimizer.kind": (0.7, ["sgd", "adam", "adamw"]),
    "optimizer.lr": (0.9, [0.0, 0.01, 0.01, 0.1, 1, 1e6, 1e30]),
    "optimizer.momentum": (0.3, [0, 0.9]),
    "optimizer.nesterov": (0.2, [True, False]),
    "optimizer.weight_decay": (0.3, [0, 0.01]),
    "optimizer.decay": (0.2, ["all", "matrices"]),
    "optimizer.beta1": (0.1, [0, 0.5]),
    "optimizer.beta2": (0.1, [0.5, 0.98]),
    "optimizer.eps": (0.1, [1e-8, 1.0]),
    "optimizer.max_norm": (0.3, [0, 0.1, 1.0, 1e9]),
    "lr_schedule.kind": (0.5, ["constant", "step", "linear", "cosine", "inverse_sqrt"]),
    "lr_schedule.warmup_steps": (0.4, [0, 1, 2, 50]),
    "lr_schedule.milestones": (0.3, [[2], [1, 3], [3, 2], []]),
    "lr_schedule.gamma": (0.2, [0.1, 2]),
    "lr_schedule.min_lr": (0.2, [0, 0.001, 1]),
    "training.steps": (0.85, [1, 2, 3, 4, 6]),
    "training.epochs": (0.15, [1, 2]),
    "training.seed": (0.3, [0, 1, 7]),
    "training.precision": (0.5, ["f32", "bf16"]),
    "training.on_nonfinite": (0.2, ["stop", "skip"]),
    "validation.every_steps": (0.3, [0, 1, 2]),
    "validation.every_epochs": (0.1, [1]),
    "validation.batch_size": (0.2, [0, 1, 5, 64]),
    "validation.before_first_step": (0.2, [True, False]),
    "validation.early_stopping": (0.1, [0, 1]),
    "checkpoint.every_steps": (0.2, [0, 1, 2, 3]),
    "checkpoint.every_epochs": (0.1, [1]),
    "checkpoint.every_minutes": (0.1, [0, 1000]),
    "checkpoint.keep_latest": (0.1, [1, 2]),
    "checkpoint.keep_best": (0.1, [True, False]),
    "stability.every_steps": (0.2, [0, 1, 2]),
    "stability.iterations": (0.1, [1, 3]),
    "hardware.backend": (0.2, ["cpu", "cpu", "reference"]),
}
# Must not change a bit: where things run and with how many threads, and what is logged.
FREE: dict[str, tuple[float, list]] = {
    "hardware.workers": (0.8, ["threads", "threads", "inline", "mpi"]),
    "hardware.peer_timeout": (0.1, [30, 1, 0]),
    "hardware.threads_per_stage": (0.7, [0, 1, 2, 2]),
    "hardware.link.gbits": (0.1, [0.01, 1, 0]),
    "hardware.link.microseconds": (0.1, [1, 200, -1]),
    "hardware.memory_limit": (0.1, ["8GiB", 0, "1KiB"]),
    "metrics.tensorboard": (0.1, [True]),
    "metrics.trace_steps": (0.1, [[1, 2], [2, 2]]),
    "metrics.log_every_steps": (0.1, [1, 1000]),
}
# The cut of the model: may differ from the reference's under a schedule that flushes.
CUT: dict[str, tuple[float, list]] = {
    "pipeline.stages": (0.9, [1, 2, 2, 3, 4, 4, 5]),
    "pipeline.virtual_stages": (0.3, [1, 2, 2, 3]),
    "pipeline.split": (0.2, ["auto", "uniform", "parameters"]),
}


def models(files: Path) -> list[Config]:
    drawn = {"data.train_samples": 24, "data.validation_samples": 7}
    lenet, residual = str(ROOT / "models/lenet5.toml"), str(ROOT / "models/small-residual.toml")
    text = {"data.kind": "text", "data.tokenizer": "bytes", "data.train_text": str(files / "text.txt"),
            "data.validation_fraction": 0.2, "model.file": str(files / "gpt.toml")}
    pairs = {"data.kind": "parallel_text", "data.train_source": str(files / "source.txt"),
             "data.train_target": str(files / "target.txt"), "data.validation_fraction": 0.2,
             "data.pieces": str(files / "pieces.model"), "model.file": str(files / "translation.toml")}
    images = [{"model.file": model, "data.kind": kind} | drawn
              for model in (lenet, residual) for kind in ("glyphs", "synthetic")]
    return [*images, text, pairs, pairs | {"data.batch_tokens": 120, "data.bucket_multiple": 4}]


def write_files(files: Path) -> None:
    files.mkdir(parents=True, exist_ok=True)
    pick = random.Random(1)
    lines = [" ".join(pick.choices(WORDS, k=pick.randint(1, 4))) for _ in range(60)]
    contents = {"gpt.toml": GPT, "translation.toml": TRANSLATION, "text.txt": "\n".join(lines[:12]) + "\n",
                "source.txt": "\n".join(lines) + "\n", "target.txt": "\n".join(line[::-1] for line in lines) + "\n"}
    for name, content in contents.items():
        (files / name).write_text(content)


def draw(table: dict[str, tuple[float, list]], pick: random.Random) -> Config:
    return {key: pick.choice(values) for key, (share, values) in table.items() if pick.random() < share}


def draw_family(schedules: list[str], files: Path, pick: random.Random) -> Config:
    """Draws all keys except those in which trials may differ from their reference: FREE and CUT."""
    config = dict(pick.choice(models(files))) | draw(COMMON, pick)
    if pick.random() < 0.95:
        config["pipeline.schedule"] = pick.choice(schedules)
    return config


def stages_fit(schedule: str, stages: int, microbatches: int) -> bool:
    rules = {"interleaved_1f1b": microbatches % stages == 0, "data_parallel": microbatches % stages == 0,
             "chimera": stages % 2 == 0 and microbatches % 2 == 0, "pipedream_2bw": microbatches >= 2 * stages,
             "v_timeprest": stages <= microbatches + 1}
    return rules.get(schedule, True)


def make_fit(config: Config) -> None:
    """Corrects draws that exclude each other, so that most configs train."""
    if config["data.kind"] != "parallel_text" and config["data.batch_size"] % config["pipeline.microbatches"]:
        config["data.batch_size"] = 2 * config["pipeline.microbatches"]
    if config.get("lr_schedule.kind") == "step":
        config["lr_schedule.milestones"] = config.get("lr_schedule.milestones") or [2]
    if config.get("lr_schedule.kind") == "inverse_sqrt":
        config["lr_schedule.warmup_steps"] = max(1, config.get("lr_schedule.warmup_steps", 0))
    if config.get("lr_schedule.min_lr", 0) > config.get("optimizer.lr", 0.01):
        del config["lr_schedule.min_lr"]
    if config.get("optimizer.nesterov") and not config.get("optimizer.momentum"):
        config["optimizer.momentum"] = 0.5
    if config.get("hardware.backend") == "reference":
        config["training.precision"] = "f32"
    if "training.epochs" in config:
        config.pop("training.steps", None)
    if "validation.every_epochs" in config:
        config.pop("validation.every_steps", None)
    schedule, stages = config.get("pipeline.schedule", "1f1b"), config.get("pipeline.stages", 1)
    if schedule == "chimera":
        config["pipeline.microbatches"] += config["pipeline.microbatches"] % 2
        config["data.batch_size"] = 2 * config["pipeline.microbatches"]
    fitting = [p for p in (stages, 4, 3, 2, 1) if stages_fit(schedule, p, config["pipeline.microbatches"])]
    config["pipeline.stages"] = (fitting or [stages])[0]


def as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {as_toml(v)}" for k, v in value.items()) + " }"
    return str(value)


def as_file(config: Config) -> str:
    tables: dict[str, list[str]] = {}
    for key, value in config.items():
        table, name = key.rsplit(".", 1)
        tables.setdefault(table, []).append(f"{name} = {as_toml(value)}\n")
    return "".join(f"[{table}]\n{''.join(lines)}\n" for table, lines in tables.items())
