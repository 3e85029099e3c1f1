"""PipeMare-Recompute: activations in segments.

For anyone who has many stages and little memory, or asks whether recomputation in segments holds what its paper says.

A perceptron of P equal stages, each one linear layer of width 128 and one relu, with one micro-batch of 16 samples in a
mini-batch, under `pipemare` with `warmup = "full"`, where stage s (from 0) has 2(P - 1 - s) + 2 micro-batches in flight:
P^2 + P in all. `recompute = "segments"` cuts the P stages into segments of S: the first stage of a segment keeps its
input of every micro-batch in flight, the others an activation only from when it is recomputed until their backward.
"""
import json
import math
import pathlib
import tempfile

from page import draw, table, write_page
from schedules import PARTS, call, train

STAGES, WIDTH, SAMPLES = (16, 32, 64), 128, 16
KINDS = ("activations", "packets")  # parts of a stage's memory that grow with the micro-batches in flight


def write_config(file: pathlib.Path, stages: int) -> None:
    layers = [line for i in range(stages) for line in (f'{{ name = "fc{i}", kind = "linear", out_features = {WIDTH} }}',
                                                       f'{{ name = "relu{i}", kind = "relu" }}')]
    first = ", ".join(f'"fc{i}"' for i in range(1, stages))
    file.with_name("model.toml").write_text(f'name = "equal"\nloss = "mse"\ninput = {{ shape = [{WIDTH}] }}\nlayers = [\n  '
                                            + ",\n  ".join(layers) + "\n]\n")
    file.write_text(f"""
model.file = "model.toml"
data = {{ kind = "synthetic", train_samples = {16 * SAMPLES}, validation_samples = 1, batch_size = {SAMPLES} }}
optimizer = {{ kind = "sgd", lr = 1e-6 }}
hardware.workers = "inline"
pipeline = {{ schedule = "pipemare", stages = {stages}, warmup = "full", split = [{first}] }}
training.steps = {3 * stages}
""")


def segment_lengths(stages: int) -> list[int]:
    return sorted({2**i for i in range(int(math.log2(stages)) + 1)} | {round(math.sqrt(stages))})


def run(config: pathlib.Path, sets: list[str]) -> dict:
    plan = json.loads(call("train", str(config), "--dry-run", "--json", *sets))["memory"]
    last = train(config, sets)[-1]["stages"]
    return {"predicted": [sum(stage[part] for part in PARTS) for stage in plan],
            "measured": [stage["memory_bytes"] for stage in last],
            "bytes": sum(stage[kind] for stage in plan for kind in KINDS)}


def solve(rows: list[list[float]], values: list[float]) -> list[float]:
    """Least squares of the relative error, by the normal equations."""
    rows = [[x / v for x in row] for row, v in zip(rows, values, strict=True)]
    n = len(rows[0])
    a = [[sum(r[i] * r[j] for r in rows) for j in range(n)] + [sum(r[i] for r in rows)] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(a[k][i]))
        a[i], a[pivot] = a[pivot], a[i]
        for k in range(n):
            if k != i:
                factor = a[k][i] / a[i][i]
                a[k] = [x - factor * y for x, y in zip(a[k], a[i], strict=True)]
    return [a[i][n] / a[i][i] for i in range(n)]


def terms(p: int, s: int) -> list[float]:
    return [p * p / s, p * s, p]


def mib(size: float) -> str:
    return f"{size / 2**20:.2f}"


def paint(results: dict, fit: list[float]):
    def figure(pyplot):
        picture, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
        for p, color in zip(STAGES, ("#4c78a8", "#e8923c", "#54a24b"), strict=True):
            made = results[p]["segments"]
            axes.plot(list(made), [r["bytes"] / 2**20 for r in made.values()], "o", color=color, label=f"P = {p}")
            fine = [1 + i * (p - 1) / 200 for i in range(201)]
            axes.plot(fine, [sum(c * t for c, t in zip(fit, terms(p, s))) / 2**20 for s in fine], "-", color=color, linewidth=1)
            axes.axhline(results[p]["none"]["bytes"] / 2**20, color=color, linestyle=":", linewidth=1)
        axes.set(xscale="log", yscale="log", xlabel="stages of a segment, S", ylabel="activations and packets, MiB")
        axes.legend(title="dots: held, lines: fit\ndotted: nothing recomputed", fontsize=8)
        return picture

    return figure


def main() -> None:
    results: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        for p in STAGES:
            config = pathlib.Path(folder) / f"{p}" / "config.toml"
            config.parent.mkdir()
            write_config(config, p)
            results[p] = {"none": run(config, []), "stage": run(config, ["--set", 'pipeline.recompute="stage"']), "segments": {
                s: run(config, ["--set", 'pipeline.recompute="segments"', "--set", f"pipeline.segment_stages={s}"])
                for s in segment_lengths(p)}}
            print(f"P = {p}: {len(results[p]['segments'])} lengths", flush=True)
    points = [(p, s, r["bytes"]) for p, made in results.items() for s, r in made["segments"].items()]
    fit = solve([terms(p, s) for p, s, _ in points], [b for *_, b in points])
    errors = {(p, s): sum(c * t for c, t in zip(fit, terms(p, s))) / b - 1 for p, s, b in points}
    runs = [r for made in results.values() for r in [made["none"], made["stage"], *made["segments"].values()]]
    apart = sum(a != b for r in runs for a, b in zip(r["predicted"], r["measured"], strict=True))
    rows = []
    for p, made in results.items():
        none, best = made["none"]["bytes"], min(made["segments"].values(), key=lambda r: r["bytes"])["bytes"]
        rows += [[str(p), "nothing recomputed", mib(none), "", ""],
                 [str(p), 'recompute = "stage"', mib(made["stage"]["bytes"]), f"{none / made['stage']['bytes']:.2f}", ""]]
        rows += [[str(p), f"S = {s}" + (", the default" if s == round(math.sqrt(p)) else ""),
                  f"**{mib(r['bytes'])}**" if r["bytes"] == best else mib(r["bytes"]), f"{none / r['bytes']:.2f}",
                  f"{100 * errors[p, s]:+.1f}%"] for s, r in made["segments"].items()]
    agreement = ("the same to the byte in every stage of every run" if apart == 0 else f"different in {apart} stages")
    tensor = SAMPLES * WIDTH * 4
    write_page("segments", f"""# PipeMare-Recompute: activations in segments

{__doc__.split(chr(10) * 2, 1)[1].strip()}

What `train --dry-run` predicts and what the stages hold after 3P updates (`memory_bytes` in `metrics.jsonl`) is {agreement}.

{table(["P", "recomputed", "activations and packets, MiB", "times less than nothing recomputed", "fit"], rows)}
Bold: the least. The fit is {fit[0] / tensor:.2f} P²/S + {fit[1] / tensor:.2f} P S + {fit[2] / tensor:.2f} P tensors of a
micro-batch ({tensor / 1024:.0f} KiB each), at most {100 * max(map(abs, errors.values())):.1f}% off. The paper (arXiv 1910.05124)
has P²/S + P S, which is least where S is the square root of P, and then grows as P to the power of 1.5.

- P²/S: the first stage of a segment keeps one tensor per micro-batch in flight, its input.
- P S: stage j (from 1) of a segment of S has 2(S - j) + 1 micro-batches that it has run again and whose backward is still to
  come. Each is {fit[1] / tensor:.1f} tensors: the input that it was sent again, and the output of its layers.
- P: a boundary has packets under way whatever S is. The paper does not count them.

Since a micro-batch of the second kind takes more tensors than one of the first, the least is at a shorter segment than the
square root. With S = 1 each stage recomputes by itself, which is `recompute = "stage"`. It saves nothing here: a stage of two
layers keeps one tensor, and its input is as large.

![activations by the length of a segment, with the fit](segments.png)

The forward that runs again costs what [recomputation](../recomputation.md) costs everywhere: a third more computing where
B = 2F. Its weights are younger than the forward's, so the gradient is made of three versions; T2 sets them back by the
difference of the delays.

`scripts/reproduce/segments` makes this page.

## Next

[Recomputation](../recomputation.md) for the other rules and what they cost, [pipemare](../methods/pipemare.md) for the method.
""")
    draw("segments", paint(results, fit))


if __name__ == "__main__":
    main()
