"""BaPipe's exploration on its kinds of clusters, compared with the claims in its abstract."""
from page import table, write_page
from planning import GIB, MODELS, largest_gib, layers, plan, replicas, require_profiles

CLUSTERS = {"bapipe-gpu-4": 4, "bapipe-gpu-8": 8, "bapipe-fpga-4": 4, "bapipe-fpga-mixed": 4}
UNEVEN = ("bapipe-fpga-mixed",)  # PipeDream's optimizer knows devices of one kind
SAMPLES = 64  # how many a graph.txt's mini-batch counts as
FASTER, SMALLER = 3.2, 4.0  # what the abstract claims


def simulated_step(found: dict) -> float | None:
    """Of BaPipe's own plan, as a program of `train`; None if it does not fit."""
    return next((row["step_ms"] for row in found["compared"] if row["what"].startswith("bapipe's plan: ")), None)


def best_step(found: dict, schedule: str) -> float:
    return min(row["step_ms"] for row in found["compared"] if row["step_ms"] and row["what"].split(",")[0] == schedule)


class Case:
    """A model on a cluster."""

    def __init__(self, model: str, cluster: str):
        self.model, self.cluster, self.devices = model, cluster, CLUSTERS[cluster]
        where = ("--cluster", cluster)
        self.bapipe = plan(model, *where, "--objective", "bapipe")
        self.simulate = plan(model, *where, "--objective", "simulate", "--allow-stale")
        self.pipedream = None if cluster in UNEVEN else plan(model, *where, "--objective", "pipedream")
        self.bytes = layers(model)

    @property
    def parallel(self) -> bool:
        return self.bapipe["schedule"] == "data_parallel"

    def over_data_parallel(self) -> float:
        return best_step(self.bapipe, "data_parallel") / self.bapipe["step_ms"]

    def over_gpipe(self) -> float | None:
        own = simulated_step(self.simulate)
        return best_step(self.simulate, "gpipe") / own if own else None

    def over_pipedream(self) -> float | None:
        return self.pipedream["step_ms"] / self.bapipe["step_ms"] if self.pipedream else None

    def gib(self, names: list[str], share: float) -> float:
        """Twice the weights, and the activations of a share of the mini-batch."""
        nodes = [self.bytes[name.split(" ")[0]] for name in names]
        return sum(2 * weights + share * activations for activations, weights in nodes) / GIB

    def data_parallel_gib(self) -> float:
        names = [name for stage in self.bapipe["stages"] for name in stage["layer_names"]]
        return self.gib(names, 1 / self.devices)

    def gpipe_gib(self) -> float:
        return max(self.gib(stage["layer_names"], 1) for stage in self.bapipe["stages"])

    def row(self) -> list[str]:
        name = "data_parallel" if self.parallel else self.bapipe["schedule"]
        own = largest_gib(self.bapipe)
        pipedream = self.over_pipedream()
        simulated, gpipe = simulated_step(self.simulate), self.over_gpipe()
        whole = ", whole layers" if self.bapipe["shared_layers"] else ""
        memory = ["", ""] if self.parallel else [f"{self.data_parallel_gib() / own:.2f}x", f"{self.gpipe_gib() / own:.2f}x"]
        return [self.model, self.cluster, f"{name}, {self.bapipe['microbatches']} micro-batches", f"{self.bapipe['step_ms']:.4g} ms",
                f"{simulated:.4g} ms{whole}" if simulated else "-", f"{self.over_data_parallel():.2f}x", f"{gpipe:.2f}x" if gpipe else "-",
                f"{pipedream:.2f}x" if pipedream else "-",
                f"{own:.2f} GiB", *memory]


def shown(found: dict | None) -> str:
    if not found:
        return "-"
    name, stages = replicas(found), len(found["stages"])
    if name == "straight":
        name = f"{stages} stages"
    elif stages == 1:
        name = f"{name} replicas"
    return f"{found['schedule']}, {name}: {found['step_ms']:.4g} ms"


def failures(cases: list[Case]) -> list[str]:
    def largest(value):
        return max(((value(case), case) for case in cases if value(case) is not None), key=lambda pair: pair[0])

    def ratio(of):
        return lambda case: None if case.parallel else of(case) / largest_gib(case.bapipe)

    lines = []
    for claim, what, value in ((FASTER, "the speed-up over data parallelism, by formula", Case.over_data_parallel), (FASTER, "the speed-up over GPipe, simulated", Case.over_gpipe),
                               (FASTER, "the speed-up over PipeDream, by formula", Case.over_pipedream),
                               (SMALLER, "the memory beside data parallelism", ratio(Case.data_parallel_gib)), (SMALLER, "the memory beside GPipe", ratio(Case.gpipe_gib))):
        best, case = largest(value)
        if best < claim:
            lines.append(f"- {what[0].upper()}{what[1:]}: claimed up to {claim:g}x, here at most {best:.2f}x ({case.model} on {case.cluster}).")
        else:
            lines.append(f"- {what[0].upper()}{what[1:]}: claimed up to {claim:g}x, here up to {best:.1f}x ({case.model} on {case.cluster}).")
    chosen = [f"{case.model} on {case.cluster}" for case in cases if case.parallel]
    if chosen:
        lines.append(f"- For {', '.join(chosen)} data parallelism is what BaPipe's own exploration chooses: no pipeline is faster.")
    return sorted(lines, key=lambda line: "here up to" in line)


def main() -> None:
    require_profiles()
    cases = [Case(model, cluster) for model in MODELS for cluster in CLUSTERS]
    lines = failures(cases)
    short = [line for line in lines if "here up to" not in line]
    met = [line for line in lines if "here up to" in line]
    write_page("bapipe", f"""# BaPipe on its clusters

For those who ask what BaPipe's exploration gains (Zhao et al., "BaPipe", [arXiv 2012.12544](https://arxiv.org/abs/2012.12544)): VGG-16, ResNet-50 and GNMT on clusters of GPUs and simulated FPGA boards.
Its abstract claims "up to 3.2x speedup and 4x memory reduction" over frameworks of data parallelism and pipelines.

## Did not hold

{chr(10).join(short)}

Nothing here was run on such devices. The paper's body was not available to us: its clusters and how it split the work are assumed ([planning-bapipe.md](../planning-bapipe.md)), the profiles are those that
PipeDream's authors released, and the times of micro-batches are taken in proportion to theirs, which favours small micro-batches.

## Held, or more

{chr(10).join(met) if met else "Nothing."}

## Step and memory

BaPipe's plan, and how many times as long or as much the others take. A mini-batch counts as {SAMPLES} samples. Each ratio is of two steps of one kind:

- By formula, beside BaPipe's step by its formula: data parallelism, and the bottleneck that PipeDream's optimizer finds (`--objective pipedream`), never drained and with replicas; it knows devices of one kind only.
- Simulated, beside BaPipe's plan simulated: the best plan of GPipe (`--objective simulate --allow-stale`), at any number of stages and with replicas. A simulated transfer takes its time on the link, where the formula may take it to be hidden.
  BaPipe's plan is simulated as a program of `train`: `fbp_as` as `1f1b` with `warmup = "full"`; where BaPipe shares layers, its best plan of whole layers.

Memory: of the fullest device, weights twice and activations; data parallelism with its part of the mini-batch at once, GPipe with the whole mini-batch on the stages of BaPipe's plan. GPipe keeps every activation here; the paper's recomputes them, and would take far less.

{table(["model", "cluster", "BaPipe chooses", "step by formula", "step simulated", "data parallel, by formula", "GPipe, simulated", "PipeDream, by formula", "memory", "memory: data parallel", "memory: GPipe"], [case.row() for case in cases])}
## What each objective chooses

`bapipe` and `pipedream` give the step by their formulas, `simulate` the simulated one.

{table(["model", "cluster", "bapipe", "pipedream", "simulate, stale weights allowed"], [[case.model, case.cluster, shown(case.bapipe), shown(case.pipedream), shown(case.simulate)] for case in cases])}
```
scripts/reproduce/bapipe
pipetrain plan --profile vgg16.graph.txt --cluster bapipe-gpu-4 --objective bapipe
```

## Next

[BaPipe's exploration](../planning-bapipe.md) for how it finds these plans, [planning](../planning.md) to plan for a cluster of your own, [the plans that PipeDream's papers print](plans.md) for another planner on the
same profiles.
""")


main()
