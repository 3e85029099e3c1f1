"""What scripts/reproduce/pipedream trains: the network, the ways to train it, and how long a plan's step takes."""
import dataclasses
import json
import pathlib

from page import ROOT
from runs import data_section, write_he
from schedules import call

FOLDER = ROOT / "runs/reproduce-pipedream"
CONFIG, PROFILE = FOLDER / "config.toml", FOLDER / "profile.json"
WORKERS, BATCH, LATENCY = 4, 40, 50  # samples per worker, microseconds
LINKS = (10.0, 1.0, 0.1)  # Gbit/s
SEEDS = (1, 2, 3)

BLOCKS, LINEAR = ((16, 16), (32, 32, 32)), (1024, 10)


def layers() -> list[str]:
    """Like VGG: 3x3 convolutions in blocks that end with a pool, then large linear layers."""
    lines = []
    for b, block in enumerate(BLOCKS, 1):
        for i, channels in enumerate(block, 1):
            lines.append(f'name = "conv{b}_{i}", kind = "conv2d", out_channels = {channels}, kernel = 3, padding = 1')
            lines.append(f'name = "relu{b}_{i}", kind = "relu"')
        lines.append(f'name = "pool{b}", kind = "max_pool", kernel = 2')
    lines.append('name = "flatten", kind = "flatten"')
    for i, features in enumerate(LINEAR, 1):
        lines.append(f'name = "fc{i}", kind = "linear", out_features = {features}')
        if i < len(LINEAR):
            lines.append(f'name = "relu_fc{i}", kind = "relu"')
    return lines


def weight_shapes() -> dict[str, list[int]]:
    shapes, channels, side = {}, 1, 28
    for b, block in enumerate(BLOCKS, 1):
        for i, outputs in enumerate(block, 1):
            shapes[f"conv{b}_{i}"] = [outputs, channels, 3, 3]
            channels = outputs
        side //= 2
    features = channels * side * side
    for i, outputs in enumerate(LINEAR, 1):
        shapes[f"fc{i}"] = [outputs, features]
        features = outputs
    return shapes


def weights_file(seed: int) -> pathlib.Path:
    return FOLDER / f"init-{seed}.safetensors"


def write_files() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "model.toml").write_text('name = "vgg-digits"\ninput = { shape = [1, 28, 28] }\nlayers = [\n'
                                       + "".join(f"  {{ {line} }},\n" for line in layers()) + "]\n")
    CONFIG.write_text(f"""\
model.file = "model.toml"
{data_section()}batch_size = {BATCH}
[optimizer]
kind = "sgd"
momentum = 0.9
[hardware]
threads_per_stage = 1
""")
    for seed in SEEDS:
        write_he(weights_file(seed), seed, weight_shapes())
    for gbits in LINKS:
        cluster_file(gbits)


def cluster_file(gbits: float) -> str:
    """Workers as fast as this machine, with a link between any two."""
    file = FOLDER / f"{gbits:.4g}-gbits.toml"
    file.write_text(f'devices = [{{ name = "core", count = {WORKERS} }}]\n'
                    f'levels = [{{ name = "link", size = {WORKERS}, bandwidth = {gbits * 1e9 / 8:.6g}, latency_us = {LATENCY} }}]\n')
    return str(file)


@dataclasses.dataclass(frozen=True)
class Plan:
    schedule: str
    stages: int
    microbatches: int
    split: tuple[str, ...] = ()
    replicas: tuple[int, ...] = ()

    @property
    def batch(self) -> int:
        """Samples per mini-batch: schedules that flush divide it among all workers, PipeDream's workers have one
        each."""
        return BATCH * (1 if self.schedule == "pipedream" else WORKERS)

    @property
    def workers(self) -> int:
        return sum(self.replicas) or self.stages

    @property
    def update_samples(self) -> int:
        """Samples per update of the first stage."""
        return self.batch * (self.replicas[0] if self.replicas else 1)

    def sets(self, more: dict | None = None) -> list[str]:
        keys = {"pipeline.schedule": json.dumps(self.schedule), "pipeline.stages": self.stages, "pipeline.microbatches": self.microbatches,
                "data.batch_size": self.batch}
        if self.schedule in ("1f1b", "pipedream"):
            keys["pipeline.warmup"] = '"1f1b"'
        if self.split:
            keys["pipeline.split"] = json.dumps(self.split)
        if self.replicas:
            keys["pipeline.replicas"] = json.dumps(self.replicas)
        return [word for key, value in (keys | (more or {})).items() for word in ("--set", f"{key}={value}")]

    def text(self) -> str:
        if self.workers == 1:
            return "one worker"
        if self.schedule == "data_parallel":
            return f"data_parallel, {self.stages} workers"
        cut = "" if not self.split else ", cut at " + ", ".join(self.split)
        if self.schedule == "1f1b":
            return f"1f1b, {self.stages} stages, N = {self.microbatches}{cut}"
        return f"pipedream, {'-'.join(map(str, self.replicas)) if self.replicas else 'straight'}{cut}"

    def course(self) -> str:
        """What its training depends on: if the pipeline drains at every update, no cut changes a bit."""
        return f"1f1b, N = {self.microbatches}" if self.schedule == "1f1b" else self.text()


def plan_of(record: dict) -> Plan:
    return Plan(**record | {"split": tuple(record["split"]), "replicas": tuple(record["replicas"])})


def planned(gbits: float, *options: str) -> dict:
    return json.loads(call("plan", str(CONFIG), "--profile", str(PROFILE), "--cluster", cluster_file(gbits), *options, "--json"))


def from_proposal(found: dict, schedule: str) -> Plan:
    stages = found["stages"]
    replicas = tuple(stage["replicas"] for stage in stages)
    return Plan(schedule, len(stages), found["microbatches"], tuple(stage["layer_names"][0] for stage in stages[1:]),
                () if set(replicas) == {1} else replicas)


def step_ms(plan: Plan, gbits: float) -> float:
    """The time of a mini-batch in the steady state, simulated: its program with the profile's times on four
    workers."""
    return planned(gbits, *([] if plan.replicas else ["--straight"]), *plan.sets())["step_ms"]


def bytes_per_sample(plan: Plan) -> float:
    """What all workers send; a run counts the same number of bytes."""
    sent = json.loads(call("train", str(CONFIG), "--dry-run", "--json", *plan.sets())).get("communication")
    return sent["bytes"] / sent["minibatches"] / sent["samples"] if sent else 0.0


def fastest_1f1b(gbits: float) -> Plan:
    """The best of several numbers of micro-batches, each at the split that our search finds."""
    found = [planned(gbits, "--straight", *Plan("1f1b", WORKERS, n).sets()) for n in (4, 8, 16, 32)]
    return from_proposal(min(found, key=lambda plan: plan["step_ms"]), "1f1b")


def choose(gbits: float) -> dict[str, Plan]:
    """How each method trains over such links; PipeDream's two plans are those of its own optimizer."""
    dream = [planned(gbits, "--objective", "pipedream", *more) for more in (["--straight"], [])]
    return {"one worker": Plan("pipedream", 1, 1), "data_parallel": Plan("data_parallel", WORKERS, WORKERS), "1f1b": fastest_1f1b(gbits),
            "pipedream, straight": from_proposal(dream[0], "pipedream"),
            "pipedream, replicas": from_proposal(dream[1], "pipedream")}
