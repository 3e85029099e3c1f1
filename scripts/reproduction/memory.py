"""Memory of every schedule, predicted and measured.

For anyone who chooses a schedule by the memory that it takes, or asks what the papers' claims come to.

A perceptron of 32 equal linear layers of width 256, cut into equal stages for P = 4, 8 and 16 workers (two stages per worker
under interleaved_1f1b and zb_v, two copies of each under chimera, the whole model on each worker under data_parallel). A
micro-batch has 16 samples; sgd with momentum 0.9. First N = 16 micro-batches per mini-batch, where every schedule is allowed,
then N = 1, where those that never drain keep most versions. Workers are threads, also where there are fewer cores.
"""
import csv
import json
import pathlib
import statistics
import tempfile

from page import FOLDER, draw, table, write_page
from schedules import METHODS, PARTS, Method, benchmark, call, copies, sets, train, write_config

WORKERS, MICROBATCHES, SAMPLES = (4, 8, 16), (16, 1), 16
SHOWN = {
    "gpipe": METHODS["gpipe"], "1f1b": METHODS["1f1b"], "1f1b_sno": METHODS["1f1b_sno"], "fbp_as": METHODS["fbp_as"],
    "interleaved_1f1b, V = 2": METHODS["interleaved_1f1b"],
    "zb_h1": METHODS["zb_h1"], "zb_h2": METHODS["zb_h2"], "zb_v": METHODS["zb_v"], "chimera": METHODS["chimera"],
    "data_parallel": METHODS["data_parallel"], "pipedream": METHODS["pipedream"], "pipedream_2bw": METHODS["pipedream_2bw"],
    "pipemare, no T2": Method("pipemare", {"pipeline.pipemare.decay": "0.0", "pipeline.pipemare.anneal_steps": "0"}),
    "pipemare, T2": Method("pipemare", {"pipeline.pipemare.anneal_steps": "0"}),  # T1 takes no memory
    "pipelined_backpropagation": METHODS["pipelined_backpropagation"],
    **{name: METHODS[name] for kind in ("timeprest", "v_timeprest", "i_timeprest") for name in (kind, f"{kind}, busy")},
    "i_timeprest, no stash": Method("i_timeprest", {"pipeline.i_timeprest.stash": "false"}),
}
MARES = {"pipemare, no T2": "Without T2 (no delta)", "pipemare, T2": "With T2"}
TIMEPRESTS = [name for name in SHOWN if "timeprest" in name]
AT_ONE = [name for name in SHOWN if name in ("gpipe", "1f1b") or SHOWN[name].schedule.startswith(("pipe", "time", "i_time"))]


def run(config: pathlib.Path, method: Method, p: int, n: int) -> dict:
    arguments = sets(method, p, n, SAMPLES, {"training.steps": str(2 * p + 4)})  # enough for all versions to exist
    plan = json.loads(call("train", str(config), "--dry-run", "--json", *arguments))
    last = train(config, arguments)[-1]["stages"]
    places = copies(plan["program"][0], len(last))
    workers = [0.0] * p
    for stage, place in zip(last, places, strict=True):
        for worker in place:
            workers[worker] += stage["memory_bytes"] / len(place)
    return {"parts": plan["memory"], "measured": [s["memory_bytes"] for s in last], "places": places, "workers": workers,
            "versions": [s["weight_versions"] for s in last]}


def predicted(stage: dict) -> int:
    return sum(stage[part] for part in PARTS)


def state(result: dict) -> int:
    """Each version of the weights that is kept (as large as the gradients), and the optimizer's state including
    delta."""
    return sum(v * s["gradients"] + s["optimizer"] for v, s in zip(result["versions"], result["parts"], strict=True))


def mib(size: float) -> str:
    return f"{size / 2**20:.1f}"


def row(name: str, result: dict, pipedream: dict) -> list[str]:
    foretold, measured = sum(map(predicted, result["parts"])), sum(result["measured"])
    return [name, " ".join(mib(w) for w in result["workers"]), mib(max(result["workers"])), mib(foretold), mib(measured),
            f"{100 * (measured / foretold - 1):+.2f}%", f"{sum(pipedream['measured']) / measured:.2f}", mib(state(result)),
            f"{state(pipedream) / state(result):.2f}"]


def process_table(heaps: dict[tuple[str, int, int], int], results: dict) -> str:
    rows, beyond = [], []
    for (name, p, n), heap in heaps.items():
        stages = sum(results[p, n][name]["measured"])
        beyond.append((heap - stages) / 2**20)
        rows.append([str(p), str(n), name, mib(stages), mib(heap), f"{beyond[-1]:.2f}"])
    return (f"What a process has allocated beyond its stages is between {min(beyond):.2f} and {max(beyond):.2f} MiB:\n\n"
            + table(["P", "N", "schedule", "stages, MiB", "process, MiB", "beyond, MiB"], rows))


def write_csv(results: dict) -> None:
    with open(FOLDER / "memory.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["workers", "microbatches", "schedule", "stage", "on_workers", "predicted", "measured", "versions",
                      *PARTS])
        for (p, n), methods in results.items():
            for name, r in methods.items():
                for s, parts in enumerate(r["parts"]):
                    out.writerow([p, n, name, s, "+".join(map(str, r["places"][s])), predicted(parts), r["measured"][s],
                                  r["versions"][s], *(parts[k] for k in PARTS)])


def agreement(results: dict) -> str:
    pairs = [(predicted(s), m) for methods in results.values() for r in methods.values()
             for s, m in zip(r["parts"], r["measured"], strict=True)]
    worst = max(abs(m / e - 1) for e, m in pairs)
    if all(e == m for e, m in pairs):
        return f"Prediction and measurement are the same to the byte in all {len(pairs)} stages of all runs."
    apart = sum(e != m for e, m in pairs)
    return f"Prediction and measurement differ in {apart} of {len(pairs)} stages, by {100 * worst:.2f}% at most."


def equal_parts(results: dict) -> str:
    """The parts that are as large under pipemare as under pipedream in every run."""
    def size(result: dict, part: str) -> int:
        return sum(s[part] for s in result["parts"])

    return ", ".join(part for part in PARTS if all(size(made[name], part) == size(made["pipedream"], part)
                                                   for made in results.values() for name in MARES))


def claim(results: dict, name: str) -> str:
    ratio, p, n = max((state(m["pipedream"]) / state(m[name]), p, n) for (p, n), m in results.items())
    reaches = "more than" if ratio > 2.75 else "as much as" if ratio >= 2.65 else "less than"
    return (f"{MARES[name]} PipeDream's weights and state are up to {ratio:.2f} times PipeMare's (P = {p}, N = {n}), "
            f"{reaches} the paper's 2.7.")


def verdict(results: dict) -> str:
    rows, whole = [], []
    for (p, n), methods in results.items():
        dream = methods["pipedream"]
        line = [str(p), str(n), f"{statistics.mean(dream['versions']):.2f}"]
        for name in MARES:
            whole.append(sum(dream["measured"]) / sum(methods[name]["measured"]))
            line += [f"{state(dream) / state(methods[name]):.2f}", f"{whole[-1]:.2f}"]
        rows.append(line)
    header = ["P", "N", "PipeDream's versions, mean"] + [f"{name.split(', ')[1]}: {what}" for name in MARES
                                                         for what in ("weights and state", "all bytes")]
    return f"""{table(header, rows)}
{chr(10).join(claim(results, name) for name in MARES)}
The ratio is not a constant: PipeDream keeps 1 + ceil((P - 1 - s)/N) versions on stage s, so it grows with P and falls with N.
With N >= P, PipeDream's second version is as large as T2's delta. Of all the bytes that pipetrain takes, PipeDream takes
{min(whole):.2f} to {max(whole):.2f} times as many as PipeMare. The same under both are: {equal_parts(results)}.
The weights that T2 corrects for a backward also need a place of their own.
"""


def timeprests(results: dict) -> str:
    """Compares the memory of the timeprests with PipeDream's, and says where it is more."""
    rows, compared = [], {name: [] for name in TIMEPRESTS}
    for (p, n), methods in results.items():
        dream = sum(methods["pipedream"]["measured"])
        rows.append([str(p), str(n), mib(dream)])
        for name, ratios in compared.items():
            if name in methods:
                ratios.append(sum(methods[name]["measured"]) / dream)
            rows[-1].append(f"{mib(ratios[-1] * dream)} ({ratios[-1]:.2f})" if name in methods else "")
    more = ", ".join(f"{name} in {sum(r > 1 for r in ratios)} of {len(ratios)}".replace(", no stash", " without stash")
                     for name, ratios in compared.items())
    return f"""{table(["P", "N", "pipedream", *TIMEPRESTS], rows)}
All bytes of all workers, measured, MiB; in brackets divided by pipedream's. More than pipedream takes: {more}.
"""


def paint(results: dict):
    colors = {"weights": "#4c78a8", "gradients, optimizer": "#72b7b2", "activations": "#e8923c", "workspace": "#b279a2",
              "packets": "#9d9d9d"}

    def bars(axes, p: int, n: int, methods: dict) -> None:
        names = list(methods)
        left = [0.0] * len(names)
        for label, color in colors.items():
            sizes = [sum(s[k] for s in methods[m]["parts"] for k in label.split(", ")) / 2**20 for m in names]
            axes.barh(names, sizes, left=left, color=color, label=label)
            left = [a + b for a, b in zip(left, sizes)]
        end = 1.15 * max(size for m, size in zip(names, left) if m != "data_parallel")
        for i, size in enumerate(left):
            axes.text(min(size, 0.985 * end), i, f" {size:.0f} " + ("→" if size > end else ""), va="center", fontsize=7,
                      ha="right" if size > 0.9 * end else "left", color="white" if size > end else "black")
        axes.set(xlim=(0, end), title=f"P = {p}, N = {n}", xlabel="MiB, all workers")
        axes.invert_yaxis()
        axes.tick_params(labelsize=8)

    def figure(pyplot):
        picture, grid = pyplot.subplots(len(MICROBATCHES), len(WORKERS), figsize=(13, 8.5), layout="constrained", sharey="row",
                                        height_ratios=[len(SHOWN), len(AT_ONE)])
        for (p, n), methods in results.items():
            bars(grid[MICROBATCHES.index(n)][WORKERS.index(p)], p, n, methods)
        picture.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(colors), fontsize=9)
        return picture

    return figure


def main() -> None:
    results: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.toml"
        write_config(config, SAMPLES, "threads")
        for n in MICROBATCHES:
            for p in WORKERS:
                names = [m for m in (SHOWN if n > 1 else AT_ONE) if SHOWN[m].allows(p, n)]
                results[p, n] = {name: run(config, SHOWN[name], p, n) for name in names}
                print(f"P = {p}, N = {n}: {len(names)} schedules", flush=True)
        most = max(WORKERS)
        heaps = {(name, most, n): benchmark(config, sets(SHOWN[name], most, n, SAMPLES))["process"]["pipeline_bytes"]
                 for n in MICROBATCHES for name in results[most, n]}
    header = ["schedule", "each worker, MiB", "largest", "predicted, MiB", "measured, MiB", "difference", "PipeDream's / this",
              "weights and state, MiB", "PipeDream's / this"]
    tables = "\n".join(f"### P = {p}, N = {n}\n\n" + table(header, [row(m, r, made["pipedream"]) for m, r in made.items()])
                       for (p, n), made in results.items())
    text = __doc__.split("\n\n", 1)[1].strip()
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_csv(results)
    write_page("memory", f"""# Memory of every schedule

{text}

{agreement(results)} Predicted is what
`train --dry-run` says, measured what the stages have taken in a run of 2P + 4 updates (`memory_bytes` in `metrics.jsonl`).
Both come from the same recipes, so what the process has allocated is compared too, at the end. Every stage with its parts is
in [memory.csv](memory.csv); what the parts are: [memory](../memory.md).

## PipeMare and PipeDream

PipeMare's paper (arXiv 1910.05124) claims up to 2.7 times less memory, which we take to be beside PipeDream. How many times PipeMare's memory PipeDream takes here:

{verdict(results)}
Weights and state: every kept version of the weights once, momentum and delta, over all workers. Not in it: gradients, the
kernels' packed copies of the weights, and the place of the corrected weights. All bytes: everything in the tables below.

![bytes of every schedule, by part](memory.png)

T1 takes no memory, so it is off in these runs.

## The timeprests and PipeDream

The papers (arXiv 2410.14312, 2509.23241) claim less memory than PipeDream for timeprest and i_timeprest. Measured here:

{timeprests(results)}
In the order of slots the timeprests have up to N + 2(P - 1 - s) micro-batches in flight on stage s where N > 1, pipedream has P - s. At N = 1 the numbers are equal, but
timeprest keeps more versions, and i_timeprest needs a place for the weights that it mixes. The work-conserving order ("busy") has up to P mini-batches in flight on the first
stages and, but for v_timeprest, more versions: the price of its shorter makespan ([timeprest](../methods/timeprest.md)). The papers compare with a PipeDream whose mini-batches are
not divided: [timeprest](timeprest.md).

## All schedules

Each worker: measured, the sum of its stages (of a stage with copies, its share). "PipeDream's / this": PipeDream's memory
divided by that of the schedule, first of all bytes, then of weights and state; above 1 the schedule takes less.

{tables}
At N = 1 there are only gpipe and 1f1b of those that flush, and of the others those that are allowed there.

### The process

{process_table(heaps, results)}
`pipetrain benchmark` counts it: the heap after the first steps, less the data and the loader. Beyond the stages are compiled
kernels and small objects ([memory](../memory.md)).

```
scripts/reproduce/memory
```

## Next

[Memory](../memory.md) for what the parts are and how exactly they are known, [utilisation](utilisation.md) for the bubble of the same schedules, [recomputation](../recomputation.md) to take less.
""")
    draw("memory", paint(results))


main()
