"""The bubble of every schedule: by its formula, simulated, and measured.

For anyone who chooses a schedule by how busy it keeps its workers.

The bubble is the share of all workers' time in which they do not compute; utilisation is what is left of 1. A formula gives
the makespan of K mini-batches, as on the pages of docs/methods; the bubble is 1 - K work / makespan. `pipetrain schedule` runs
the same program on paper. Then real workers, a thread on a core each, train a perceptron of 32 equal linear layers.
"""
import json
import os
import pathlib
import statistics
import tempfile
from collections import defaultdict

from page import draw, table, write_page
from schedules import (BACKWARD, FORMULAS, HALVES, METHODS, NF1B, NF1B_BUSY, NF1B_SLOTS, TRANSFERS, V, WIDTH, WITH_TRANSFERS, Formula,
                       benchmark, formula, sets, simulated, train, whole_backward, write_config)

WORKERS, STEPS, SAMPLES, RUNS, TRACED = (2, 4, 8, 16), 20, 128, 5, (6, 15)
CORES = len(os.sched_getaffinity(0))  # that this process may use
BOUND = 0.05  # of the workers' time: what we call close
BALANCED = 0.03  # of a stage's computing: cuts that we call balanced


def relation(made: Formula) -> str:
    if made[1] is TRANSFERS:
        return "B = 2F, S = F/2"
    if made[1] is not BACKWARD:
        return "F = I = W = 1" if made[1] is HALVES else "F = B = 1"
    return "B = 2NF" if made in (NF1B, NF1B_BUSY) else "B = 2F"


def on_paper() -> tuple[dict[str, list[tuple[float, float]]], list[list[str]]]:
    values, rows = {}, []
    listed = [*FORMULAS.items(), *((name, NF1B_SLOTS) for name, made in FORMULAS.items() if made is NF1B), *WITH_TRANSFERS.items()]
    for name, made in listed:
        pairs = [(formula(made, p, 2 * p, STEPS), simulated(name, made[1], p, 2 * p, STEPS)) for p in WORKERS]
        label = name + (", in slots" if made is NF1B_SLOTS else ", with transfers" if made[1] is TRANSFERS else "")
        values[label] = pairs
        rows.append([label, relation(made), made[0]] + [f"{a:.4f} {b:.4f}" for a, b in pairs])
    return values, rows


def traced(config: pathlib.Path, p: int, arguments: list[str]) -> dict:
    """Milliseconds of each instruction on a micro-batch: the mean over the stages of the medians. The share of those
    that took more than 1.5 times their median, and the share of the workers' time that updates take: None where each is
    fused into a backward."""
    steps = train(config, arguments + ["--set", f"training.steps={TRACED[1] + 5}", "--set",
                                       f"metrics.trace_steps=[{TRACED[0]}, {TRACED[1]}]"])
    events = json.loads(config.with_name("run").joinpath("trace.json").read_text())["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    passes, updates = defaultdict(float), []
    for e in events:
        if e["ph"] != "X" or e["name"] == "waiting":
            continue
        track = tracks[e["pid"], e["tid"]]
        if track == "compute":
            kind = e["name"][0].replace("T", "B")  # TU: the tail of a backward, with the update
            passes[kind, e["pid"], e["args"]["step"], e["args"]["microbatch"]] += e["dur"] / 1e3
        elif track == "update" and e["name"][0] == "U":
            updates.append(e["dur"] / 1e6)
    stages = defaultdict(lambda: defaultdict(list))
    for (kind, stage, _, _), duration in passes.items():
        stages[kind][stage].append(duration)
    medians = {kind: {s: statistics.median(d) for s, d in each.items()} for kind, each in stages.items()}
    times = {"B" if kind == "I" else kind: statistics.mean(medians[kind].values()) for kind in "FBIW" if kind in medians}
    late = [duration > 1.5 * medians[kind][stage] for (kind, stage, _, _), duration in passes.items()]
    seconds = sum(s["step_seconds"] for s in steps if TRACED[0] <= s["step"] <= TRACED[1])
    return {"times": times, "update": sum(updates) / (p * seconds) if updates else None, "late": statistics.mean(late)}


def imbalance(made: dict) -> float:
    """By how much the stage that computed for longest exceeds the one that computed for the least time."""
    busy = [stage["busy"] for stage in made["stages"]]
    return max(busy) / min(busy) - 1


def on_cores(config: pathlib.Path) -> list[dict]:
    cases = [{"name": name, "p": p, "n": n, "runs": [], "imbalances": []} for p in WORKERS if p <= CORES
             for n in (2 * p, 4 * p) for name in FORMULAS]
    for turn in range(RUNS):
        for case in cases:
            arguments = sets(METHODS[case["name"]], case["p"], case["n"], SAMPLES)
            made = benchmark(config, arguments)
            case["runs"].append(made["bubble"])
            case["imbalances"].append(imbalance(made))
            if turn == 0:
                case |= traced(config, case["p"], arguments)
        print(f"measured {turn + 1} of {RUNS} times", flush=True)
    for case in cases:
        name, p, n = case["name"], case["p"], case["n"]
        case |= {"median": statistics.median(case["runs"]), "formula": formula(FORMULAS[name], p, n, STEPS),
                 "simulated": simulated(name, case["times"], p, n, STEPS)}
    return cases


def measured_row(case: dict) -> list[str]:
    times = " ".join(f"{t:.1f}" for t in case["times"].values())
    return [str(case["p"]), str(case["n"]), case["name"], times, f"{case['formula']:.3f}", f"{case['simulated']:.3f}",
            f"{case['median']:.3f}", f"{min(case['runs']):.3f} to {max(case['runs']):.3f}",
            f"{case['median'] - case['simulated']:+.3f}", "fused" if case["update"] is None else f"{case['update']:.3f}",
            f"{100 * case['late']:.0f}%"]


def paper_verdict(values: dict[str, list[tuple[float, float]]]) -> str:
    worst, label = max((max(abs(a - b) for a, b in pairs), label) for label, pairs in values.items())
    if worst < 1e-9:
        return "Formula and simulation agree everywhere."
    return f"Formula and simulation are at most {worst:.4f} apart ({label})."


def limit() -> str:
    fills = [f"{simulated('pipedream', BACKWARD, 4, 8, k):.4f} for K = {k}" for k in (1, 10, 100, 1000)]
    return ("A schedule that never drains and whose stages never wait pays for the filling of the pipeline once, so its bubble goes to 0: pipedream with P = 4, "
            f"N = 8 has {', '.join(fills)}.")


def measured_verdict(cases: list[dict]) -> str:
    apart = [c["median"] - c["simulated"] for c in cases]
    close = sum(abs(a) <= BOUND for a in apart)
    worst = max(cases, key=lambda c: abs(c["median"] - c["simulated"]))
    spread = statistics.median(max(c["runs"]) - min(c["runs"]) for c in cases)
    updates = [c["update"] for c in cases if c["update"] is not None]
    return (f"{close} of {len(cases)} measured bubbles are within {BOUND} of the simulation; the median difference is "
            f"{statistics.median(apart):+.3f}, the largest {worst['median'] - worst['simulated']:+.3f} ({worst['name']}, N = "
            f"{worst['n']}). The runs of one case spread over {spread:.3f} (median); updates that are "
            f"not fused into a backward take {min(updates):.3f} to {max(updates):.3f} of the workers' time. "
            f"{100 * statistics.mean(c['late'] for c in cases):.0f}% of all passes took more than 1.5 times their median.")


def balance_verdict(cases: list[dict]) -> str:
    """The work-conserving order's bubble, apart where both stages computed for as long, and where not."""
    made = [pair for c in cases if (c["p"], c["n"]) == (2, 8) and METHODS[c["name"]].busy for pair in zip(c["runs"], c["imbalances"])]
    balanced = [bubble for bubble, apart in made if apart <= BALANCED]
    others = [bubble for bubble, apart in made if apart > BALANCED]

    def text(bubbles: list[float]) -> str:
        return f"{statistics.median(bubbles):.3f} (median; {min(bubbles):.3f} to {max(bubbles):.3f})" if bubbles else "not measured"

    return (f"With P = 2, N = 8 the timeprests' busy order has a bubble of {text(balanced)} in the {len(balanced)} of {len(made)} runs in which "
            f"both stages computed for equally long, within {100 * BALANCED:.0f}%; in the others it is {text(others)}: the cut is the same, but the "
            "two cores were not equally fast.")


def paint(values: dict[str, list[tuple[float, float]]], cases: list[dict]):
    def figure(pyplot):
        picture, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5.5), layout="constrained", width_ratios=[1, 1.25])
        curves = defaultdict(list)
        for label, pairs in values.items():
            curves[tuple(a for a, _ in pairs)].append(label)
        for i, (line, labels) in enumerate(curves.items()):
            color = pyplot.get_cmap("tab20")((2 * i) % 20 + i // 10)  # the dark ones first
            left.plot(WORKERS, line, color=color, label=", ".join(labels).replace(", in slots,", ","))
            for label in labels:
                left.plot(WORKERS, [b for _, b in values[label]], "o", color=color, markersize=5)
        left.set(xscale="log", xticks=WORKERS, xticklabels=WORKERS, xlabel="workers P; N = 2P", ylabel="bubble", ylim=(-0.02, 1),
                 title=f"formula (line), simulated (dot), {STEPS} mini-batches")
        left.minorticks_off()
        left.grid(alpha=0.3)
        left.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
        for kind, offset, color in (("formula", -0.27, "#9d9d9d"), ("simulated", 0, "#4c78a8"), ("median", 0.27, "#e8923c")):
            label = {"simulated": "simulated, measured times", "median": f"measured, median of {RUNS}; least and most"}.get(kind, kind)
            right.bar([i + offset for i in range(len(cases))], [c[kind] for c in cases], 0.27, color=color, label=label)
        right.vlines([i + 0.27 for i in range(len(cases))], [min(c["runs"]) for c in cases],
                     [max(c["runs"]) for c in cases], color="black", linewidth=0.8)
        right.set_xticks(range(len(cases)), [f"{c['name']}, N = {c['n']}" for c in cases], rotation=90, fontsize=7)
        right.set(ylabel="bubble", title=f"threads, P = {', '.join(sorted({str(c['p']) for c in cases}))}")
        right.grid(alpha=0.3, axis="y")
        right.set_ylim(0, 1.22 * max(max(c["runs"]) for c in cases))
        right.legend(fontsize=8, loc="upper center", ncols=3)
        return picture

    return figure


def main() -> None:
    if CORES < WORKERS[0]:
        raise SystemExit(f"cannot measure: P = {WORKERS[0]} needs a core for each worker, and this process may use "
                         f"{CORES}; let it use more (taskset, or the container's cpuset)")
    values, rows = on_paper()
    print(paper_verdict(values), flush=True)
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.toml"
        write_config(config, SAMPLES, "threads")
        cases = on_cores(config)
    header = ["P", "N", "schedule", "F B (W), ms", "formula", "simulated, measured times", "measured", "least to most", "difference",
              "updates", "late passes"]
    text = __doc__.split("\n\n", 1)[1].strip()
    write_page("utilisation", f"""# Utilisation: the bubble of every schedule

{text}

## By formula and simulated

N = 2P micro-batches, K = {STEPS} mini-batches, transfers free where no S is named, interleaved_1f1b with V = {V}. Each cell: formula, then simulated.

{table(["schedule", "times", "makespan"] + [f"P = {p}" for p in WORKERS], rows)}
{paper_verdict(values)}
{limit()}

Under the timeprests B is the backward of a whole mini-batch. Their pages count slots, in which it takes as long as a forward
("in slots" above); on a machine it takes N times the backward of a micro-batch. The P stages run it one after the other, each in a slot of its own, in
which another stage has a forward at most: P long slots and N + 1 - P short ones a mini-batch (N >= 2P - 1, B >= F). This formula
is ours, not that of the papers. Its bubble does not go away with K. "busy" is `timeprest.times = "busy"`, an order in which no worker waits while it
has something ready ([timeprest](../methods/timeprest.md)); its formula holds for N >= 2 and its default of P mini-batches in flight.

![bubbles](utilisation.png)

## Measured

`pipetrain benchmark` with one thread and one core per worker: on this machine ({CORES} cores to use) P up to {max(c["p"] for c in cases)}. Layers of
width {WIDTH}, micro-batches of {SAMPLES} samples. Each case ran {RUNS} times, in {RUNS} rounds over all cases; measured is the
median. Formula: of the times above (B = 2F, or halves of 1). Simulated: with the times of a forward and a backward of a micro-batch that the
trace of a real run shows (median; mean over the stages).

{table(header, [measured_row(c) for c in cases])}
{measured_verdict(cases)}

{balance_verdict(cases)}

The formula and the simulation know equal stages, free transfers and no updates. In the real run the update of a stage that one worker
has is part of its last backward of the mini-batch ("fused") and counts as computing. Where several workers have the stage, the
update comes after the sum of their gradients, and does not count. Stage 0 needs no gradient of its input; the loader and the
handing over of packets take a little. And a core that another process takes for a while makes a pass late, which counts as
computing, while the neighbours wait for it: so a measured bubble can be on either side. Late passes are those that took more than
1.5 times their median. The load average was {before:.1f} when measuring began and {os.getloadavg()[0]:.1f} at the end; beyond {os.cpu_count()}, the
number of the machine's cores, other processes took a part of them.

```
scripts/reproduce/utilisation
```

## Next

[Memory](memory.md) for what the same schedules take, [simulation](../simulation.md) to use times of your own, [which schedule to choose](../choosing.md).
""")
    draw("utilisation", paint(values, cases))


if __name__ == "__main__":
    main()
