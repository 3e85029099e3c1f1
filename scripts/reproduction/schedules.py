"""What `memory` and `utilisation` share: every schedule with its settings, and a network of equal layers for it."""
import dataclasses
import json
import pathlib
import subprocess
from collections.abc import Callable

from page import BINARY

LAYERS, WIDTH = 32, 256  # a multiple of two parts per worker for 16 workers
V = 2  # parts per worker under interleaved_1f1b
PARTS = ("weights", "gradients", "optimizer", "activations", "workspace", "packets")  # of a stage's memory in a dry run's JSON
BACKWARD, HALVES, SLOTS = {"F": 1.0, "B": 2.0}, {"F": 1.0, "B": 1.0, "W": 1.0}, {"F": 1.0, "B": 1.0}
TRANSFERS = BACKWARD | {"transfer": 0.5}


@dataclasses.dataclass(frozen=True)
class Method:
    schedule: str
    settings: dict[str, str] = dataclasses.field(default_factory=dict)

    def allows(self, p: int, n: int) -> bool:
        """May it run N micro-batches on P workers?"""
        if self.schedule in ("interleaved_1f1b", "data_parallel"):
            return n % p == 0
        if self.schedule == "chimera":
            return p % 2 == 0 and n % 2 == 0
        if self.schedule == "pipedream_2bw":
            return n >= p
        return self.schedule != "v_timeprest" or p <= n + 1

    @property
    def busy(self) -> bool:
        return "pipeline.timeprest.times" in self.settings


METHODS = {name: Method(name) for name in ("gpipe", "1f1b", "1f1b_sno", "fbp_as", "zb_h1", "zb_h2", "zb_v", "chimera",
                                           "data_parallel", "pipedream", "pipedream_2bw", "pipemare", "pipelined_backpropagation",
                                           "timeprest", "v_timeprest", "i_timeprest")}
METHODS["pipemare"] = Method("pipemare", {"pipeline.pipemare.anneal_steps": "0"})  # T1 takes neither memory nor time
METHODS |= {f"{name}, busy": Method(name, {"pipeline.timeprest.times": '"busy"'}) for name in METHODS if name.endswith("timeprest")}
METHODS["interleaved_1f1b"] = Method("interleaved_1f1b", {"pipeline.virtual_stages": str(V)})

# For P workers, N micro-batches, K mini-batches: the work of a worker per mini-batch, and the makespan. Under the
# timeprests B is the backward of a whole mini-batch; under zb_* it is the half for the previous stage, and W the one
# for the update.
Formula = tuple[str, dict[str, float], Callable[[int, int], float], Callable[[int, int, int], float]]
FLUSH: Formula = ("K(N + P - 1)(F + B)", BACKWARD, lambda p, n: 3 * n, lambda p, n, k: k * (n + p - 1) * 3)
NEVER: Formula = ("(KN + P - 1)(F + B)", BACKWARD, lambda p, n: 3 * n, lambda p, n, k: (k * n + p - 1) * 3)
NF1B: Formula = ("K(PB + (N + 1 - P)F) + 2(P - 1)F", BACKWARD, lambda p, n: 3 * n,
                 lambda p, n, k: k * (p * 2 * n + n + 1 - p) + 2 * (p - 1))
NF1B_BUSY: Formula = ("K(NF + B) + (P - 1)(F + B)", BACKWARD, lambda p, n: 3 * n, lambda p, n, k: k * 3 * n + (p - 1) * (1 + 2 * n))
NF1B_SLOTS: Formula = ("K(N + 1) + 2(P - 1)", SLOTS, lambda p, n: n + 1, lambda p, n, k: k * (n + 1) + 2 * (p - 1))
FORMULAS: dict[str, Formula] = {
    "gpipe": FLUSH, "1f1b": FLUSH, "1f1b_sno": FLUSH, "fbp_as": FLUSH,
    "interleaved_1f1b": ("K(NV + P - 1)(F + B)", BACKWARD, lambda p, n: 3 * n * V, lambda p, n, k: k * (n * V + p - 1) * 3),
    "zb_h1": ("K(3N + P - 1)", HALVES, lambda p, n: 3 * n, lambda p, n, k: k * (3 * n + p - 1)),
    "zb_h2": ("3NK + P - 1", HALVES, lambda p, n: 3 * n, lambda p, n, k: 3 * n * k + p - 1),
    "zb_v": ("6NK + P - 1", HALVES, lambda p, n: 6 * n, lambda p, n, k: 6 * n * k + p - 1),
    "chimera": ("K(N(F + B) + (P - 2)B + (N/P - 1)(P - 2)(B - F))", BACKWARD, lambda p, n: 3 * n,
                lambda p, n, k: k * (3 * n + (p - 2) * 2 + (n / p - 1) * (p - 2))),
    "data_parallel": ("K(N/P)(F + B)", BACKWARD, lambda p, n: 3 * n / p, lambda p, n, k: k * n / p * 3),
    "pipedream": NEVER, "pipedream_2bw": NEVER, "pipemare": NEVER, "pipelined_backpropagation": NEVER,
    "timeprest": NF1B, "v_timeprest": NF1B, "i_timeprest": NF1B,
    "timeprest, busy": NF1B_BUSY, "v_timeprest, busy": NF1B_BUSY, "i_timeprest, busy": NF1B_BUSY,
}
# With transfers of S, for schedules made for devices whose transfers are not free.
WITH_TRANSFERS: dict[str, Formula] = {
    "1f1b_sno": ("K((N + P - 1)(F + B) + (2(N + P - 2) - 1)S); P = 2: K(N + 1)(F + B + S)", TRANSFERS, lambda p, n: 3 * n,
                 lambda p, n, k: k * ((n + p - 1) * 3 + (n + 1 if p == 2 else 2 * (n + p - 2) - 1) / 2)),
    "fbp_as": ("K((N + P - 1)(F + B) + 2(P - 1)S)", TRANSFERS, lambda p, n: 3 * n,
               lambda p, n, k: k * ((n + p - 1) * 3 + (p - 1))),
}


def call(*arguments: str) -> str:
    run = subprocess.run([BINARY, *arguments], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"pipetrain {' '.join(arguments[:2])}: {run.stderr}")
    return run.stdout


def write_config(file: pathlib.Path, micro_batch: int, workers: str) -> None:
    """Linear layers of one size with nothing between them, so that all cuts are equal."""
    layers = [f'{{ name = "fc{i}", kind = "linear", out_features = {WIDTH} }}' for i in range(LAYERS)]
    file.with_name("model.toml").write_text(f'name = "equal"\nloss = "mse"\ninput = {{ shape = [{WIDTH}] }}\nlayers = [\n  '
                                            + ",\n  ".join(layers) + "\n]\n")
    file.write_text(f"""
model.file = "model.toml"
data = {{ kind = "synthetic", train_samples = {64 * micro_batch}, validation_samples = 1 }}
optimizer = {{ kind = "sgd", lr = 1e-6, momentum = 0.9 }}
hardware.workers = "{workers}"
pipeline.split = "uniform"
""")


def sets(method: Method, p: int, n: int, micro_batch: int, more: dict[str, str] | None = None) -> list[str]:
    keys = {"pipeline.schedule": f'"{method.schedule}"', "pipeline.stages": str(p), "pipeline.microbatches": str(n),
            "data.batch_size": str(n * micro_batch)} | method.settings | (more or {})
    return [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]


def train(config: pathlib.Path, arguments: list[str]) -> list[dict]:
    """The `step` events of a run, which leaves its files in the folder `run` next to the config."""
    folder = config.with_name("run")
    call("train", str(config), "--quiet", "--resume", "never", "--output", str(folder), *arguments)
    events = (json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines())
    return [event for event in events if event["event"] == "step"]


def benchmark(config: pathlib.Path, arguments: list[str]) -> dict:
    return json.loads(call("benchmark", str(config), "--json", *arguments))["results"][0]


def copies(program: str, stages: int) -> list[list[int]]:
    """For each stage, the workers that have it: the program's placement, or one worker per stage if it has none."""
    if "placement=" not in program:
        return [[s] for s in range(stages)]
    return [[int(w) for w in place.split("+")] for place in program.split("placement=")[1].split()[0].split(",")]


def whole_backward(name: str) -> bool:
    return METHODS[name].schedule.endswith("timeprest")


def formula(made: Formula, p: int, n: int, k: int) -> float:
    return max(0.0, 1 - k * made[2](p, n) / made[3](p, n, k))


def simulated(name: str, times: dict[str, float], p: int, n: int, k: int) -> float:
    method = METHODS[name]
    if whole_backward(name) and times is not SLOTS:
        times = times | {"B": n * times["B"]}
    if method.busy:  # whole numbers: in thousandths
        times = {key: round(1000 * value) for key, value in times.items()}
    given = ",".join(f"{key}={value:.8g}" for key, value in ({"transfer": 0.0} | times).items())
    more = ["--virtual-stages", str(V)] if name == "interleaved_1f1b" else ["--busy"] if method.busy else []
    return json.loads(call("schedule", method.schedule, "--stages", str(p), "--microbatches", str(n), "--steps", str(k), "--times", given,
                           "--format", "json", *more))["bubble"]
