"""The experiments that scripts/check-stability describes."""
import argparse
import json
import math
import random
import statistics
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
DIVERGED = 5  # exit code
TENFOLD = 10.0
LEAP = 2.0  # a net's loss that doubles has left the region in which it trains smoothly


@dataclass
class Case:
    name: str
    config: Path
    steps: int  # enough for a rate above the edge to show
    growth: float  # a loss of that many times the first one is unstable
    sets: list[str] = field(default_factory=list)


@dataclass
class Course:
    losses: list[float]
    events: list[dict]  # measurements
    warnings: list[dict]

    def grown_at(self, growth: float = TENFOLD) -> float:
        """The first step whose loss is that many times the first one; infinite: none."""
        return next((k for k, loss in enumerate(self.losses, 1) if loss >= growth * self.losses[0]), math.inf)

    def failed(self, growth: float) -> bool:
        """Its loss grew, or it learnt nothing: a net whose ReLUs have died stays at the loss of chance."""
        return self.grown_at(growth) < math.inf or sum(self.losses[-10:]) / 10 > 0.95 * self.losses[0]

    def warned_at(self) -> float:
        return min((event["step"] for event in self.warnings), default=math.inf)


def write_npy(path: Path, rows: list[list[float]]) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (64 - (10 + len(header) + 1) % 64) + "\n"
    values = [value for row in rows for value in row]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values))


class Lab:
    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary, self.folder, self.runs = binary, folder, 0

    def train(self, case: Case, lr: float, steps: int, *more: str) -> Course:
        self.runs += 1
        run = self.folder / f"run{self.runs}"
        sets = [f"optimizer.lr={lr!r}", f"training.steps={steps}", *case.sets, *more]
        command = [self.binary, "train", case.config, "--quiet", "--output", run]
        for one in sets:
            command += ["--set", one]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, DIVERGED):
            raise SystemExit(f"{case.name}: exit {done.returncode}: {done.stderr}")
        events = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        losses = [math.inf if e["loss"] is None else e["loss"] for e in events if e["event"] == "step"]
        if done.returncode == DIVERGED:
            losses.append(math.inf)
        return Course(losses, *([e for e in events if e["event"] == kind] for kind in ("stability", "warning")))

    # The largest rate at which training does not fail, to within one per cent.
    def edge(self, case: Case, begin: float) -> float:
        def fails(lr: float) -> bool:
            return self.train(case, lr, case.steps).failed(case.growth)

        low = high = begin
        while fails(low):
            high, low = low, low / 2
        while high == low or not fails(high):
            low, high = max(low, high if high > low else low), high * 2
        while high / low > 1.01:
            middle = math.sqrt(low * high)
            if fails(middle):
                high = middle
            else:
                low = middle
        return low


def quadratic(folder: Path, stages: int) -> Case:
    draw = random.Random(7)
    write_npy(folder / "x.npy", [[draw.gauss(0, 2 if f == 0 else 0.7) for f in range(4)] for _ in range(32)])
    write_npy(folder / "y.npy", [[draw.gauss(0, 1) for _ in range(4)] for _ in range(32)])
    flat = "".join(f"  {{ name = 'flat{s}', kind = 'flatten' }},\n" for s in range(1, stages))
    model = folder / f"quadratic{stages}.toml"
    model.write_text("name = 'quadratic'\nloss = 'mse'\ninput = { shape = [4] }\nlayers = [\n"
                     f"  {{ name = 'fc', kind = 'linear', out_features = 4, bias = false }},\n{flat}]\n")
    config = folder / f"train{stages}.toml"
    config.write_text(f"""[model]
file = "{model}"
[data]
kind = "npy"
train_inputs = "{folder}/x.npy"
train_labels = "{folder}/y.npy"
batch_size = 32
[pipeline]
schedule = "pipedream"
stages = {stages}
[hardware]
workers = "inline"
""")
    return Case(f"quadratic, delay {stages - 1}", config, 2000, TENFOLD)


def sentences(folder: Path) -> Path:
    """A text that can be learnt, the same one always."""
    draw = random.Random(11)
    verbs = ("sends", "computes", "keeps", "waits for", "updates")
    things = ("a gradient", "its weights", "an activation", "the next micro-batch", "version")
    text = folder / "sentences.txt"
    text.write_text("".join(f"Stage {draw.randrange(8)} {draw.choice(verbs)} {draw.choice(things)} {draw.randrange(100)}.\n"
                            for _ in range(4000)))
    return text


def network(name: str, folder: Path) -> Case:
    sets = ['pipeline.schedule="pipedream"', "pipeline.stages=4", "pipeline.microbatches=1", "optimizer.momentum=0",
            'optimizer.kind="sgd"', "optimizer.max_norm=0", 'lr_schedule.kind="constant"', "lr_schedule.warmup_steps=0",
            "validation.every_steps=0", "validation.every_epochs=0", "metrics.trace_steps=[]", 'hardware.workers="inline"']
    if name == "lenet5":
        return Case(name, SOURCE / "configs/quickstart.toml", 300, LEAP, sets)
    return Case(name, SOURCE / "configs/bench/gpt.toml", 60, LEAP,
                [*sets, "data.batch_size=4", 'data.kind="text"', 'data.tokenizer="bytes"', "data.stride=1",
                 f'data.train_text="{sentences(folder)}"'])


def reported(course: Course) -> float:
    return course.events[0]["lr_edge"]


def seeds_at(lab: Lab, case: Case, lr: float, seeds: int, every: int) -> tuple[int, int, int]:
    """Of these runs, how many grew tenfold, how many of these were warned before that, and how many were warned at all."""
    grown = early = warned = 0
    for seed in range(1, seeds + 1):
        course = lab.train(case, lr, case.steps, f"stability.every_steps={every}", f"training.seed={seed}")
        grown += course.grown_at() < math.inf
        early += course.warned_at() < course.grown_at() < math.inf
        warned += course.warned_at() < math.inf
    return grown, early, warned


def check_quadratics(lab: Lab, seeds: int) -> bool:
    holds = True
    print("quadratic: delay | edge reported | found | reported over found | at twice that edge: grew tenfold, warned before | at half of it: warned")
    for stages in (1, 2, 4, 8):
        case = quadratic(lab.folder, stages)
        edge = reported(lab.train(case, 1e-3, 50, "stability.every_steps=50", "stability.iterations=300"))
        found = lab.edge(case, edge)
        grown, early, _ = seeds_at(lab, case, 2 * found, seeds, 5)
        _, _, warned = seeds_at(lab, case, found / 2, seeds, 5)
        holds &= abs(edge / found - 1) < 0.05 and 10 * early >= 9 * seeds and 10 * warned <= seeds
        print(f"  {stages - 1} | {edge:.4f} | {found:.4f} | {edge / found:.3f} | {grown} of {seeds}, {early} | {warned} of {seeds}", flush=True)
    return holds


def report_network(lab: Lab, name: str, seeds: int) -> None:
    """A net is not quadratic: its curvature changes at every step. Nothing here has to hold."""
    case = network(name, lab.folder)
    edge = lab.edge(case, 0.5)
    course = lab.train(case, edge, case.steps, f"stability.every_steps={case.steps // 20}", "stability.iterations=50")
    ratios = [math.inf if event["lr_edge"] is None else event["lr_edge"] / edge for event in course.events]
    print(f"{name}: edge found {edge:.3g}; edge reported over it: before the first step {ratios[0]:.3g}, along a training at that rate "
          f"median {statistics.median(ratios):.2f}, least {min(ratios):.2f}", flush=True)
    for factor in (2.0, 0.5):
        grown, early, warned = seeds_at(lab, case, factor * edge, seeds, case.steps // 6)
        print(f"{name} at {factor:g} times the edge found: {grown} of {seeds} grew tenfold, {early} of these warned before; {warned} of all warned", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check-stability", description=__doc__)
    parser.add_argument("--pipetrain", type=Path, default=SOURCE / "build", help="the build folder (default: build)")
    parser.add_argument("--only", default="quadratic,lenet5,gpt-mini")
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(arguments.pipetrain.resolve() / "pipetrain", Path(folder))
        for name in arguments.only.split(","):
            if name == "quadratic":
                holds &= check_quadratics(lab, arguments.seeds)
            else:
                report_network(lab, name, arguments.seeds)
    print("check-stability:", "all hold" if holds else "not all hold")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
