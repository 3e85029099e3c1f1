"""Delayed gradient descent on f(w) = lambda w^2 / 2, trained by the real engine.

For anyone who asks how large a learning rate a delay allows: PipeMare's formula beside trainings.

The model has one weight and is trained on one sample, x = 1 and target 0, with the mean squared error: a quadratic loss of
curvature lambda = 2. The weight is on stage 0 of P under `pipedream`, the other stages have identity layers. With one
micro-batch per mini-batch the gradient is that of P - 1 updates ago. The largest rate at which the weight does not grow is
found by halving an interval.
"""
import json
import math
import pathlib
import struct
import subprocess
import tempfile

from page import BINARY, draw, table, write_page

LAMBDA = 2.0
DELAYS = (1, 3, 7, 15, 31)
STEPS = 6000
HALVINGS = 9


def formula(delay: int) -> float:
    return 2 / LAMBDA * math.sin(math.pi / (4 * delay + 2))


def write_npy(file: pathlib.Path, value: float) -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<f", value))


def write_weight(file: pathlib.Path) -> None:
    head = json.dumps({"w.weight": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}).encode()
    file.write_bytes(struct.pack("<Q", len(head)) + head + struct.pack("<f", 1.0))


def write_config(folder: pathlib.Path, delay: int) -> None:
    layers = ['{ name = "w", kind = "linear", out_features = 1, bias = false }']
    layers += [f'{{ name = "i{k}", kind = "identity" }}' for k in range(delay)]
    (folder / "model.toml").write_text(
        'name = "quadratic"\nloss = "mse"\ninput = { shape = [1] }\nlayers = [\n  ' + ",\n  ".join(layers) + "\n]\n")
    (folder / "config.toml").write_text(f"""
model = {{ file = "model.toml", init = "init.safetensors" }}
data = {{ kind = "npy", train_inputs = "x.npy", train_labels = "y.npy", batch_size = 1, shuffle = false }}
pipeline = {{ schedule = "pipedream", stages = {delay + 1}, microbatches = 1, split = "uniform" }}
optimizer = {{ kind = "sgd" }}
training = {{ steps = {STEPS} }}
hardware = {{ workers = "inline" }}
""")


def grows(folder: pathlib.Path, rate: float, delay: int) -> bool:
    """Is the oscillation stronger in the last periods than in those half-way through?"""
    run = subprocess.run([BINARY, "train", str(folder / "config.toml"), "--quiet", "--resume", "never", "--output",
                          str(folder / "run"), "--set", f"optimizer.lr={rate:.9f}"], capture_output=True, text=True)
    if run.returncode == 5:  # diverged
        return True
    if run.returncode:
        raise SystemExit(run.stderr)
    squares = [0.0] * STEPS  # the loss is the square of the weight
    with open(folder / "run/metrics.jsonl") as lines:
        for line in lines:
            if line.startswith('{"event":"step"'):
                event = json.loads(line)
                squares[event["step"] - 1] = event["loss"]
    period = 2 * (2 * delay + 1)
    window = max(1, 1000 // period) * period
    return sum(squares[-window:]) > sum(squares[STEPS // 2 - window : STEPS // 2])


def threshold(delay: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_npy(folder / "x.npy", 1.0)
        write_npy(folder / "y.npy", 0.0)
        write_weight(folder / "init.safetensors")
        write_config(folder, delay)
        low, high = 0.9 * formula(delay), 1.1 * formula(delay)
        if grows(folder, low, delay) or not grows(folder, high, delay):
            raise SystemExit(f"delay {delay}: the threshold is not within 10% of the formula")
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if grows(folder, middle, delay):
                high = middle
            else:
                low = middle
        return (low + high) / 2


def paint(measured: dict[int, float]):
    def figure(pyplot):
        picture, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
        fine = [1 + i / 10 for i in range(301)]
        axes.plot(fine, [2 / LAMBDA * math.sin(math.pi / (4 * t + 2)) for t in fine], color="#4c78a8",
                  label="(2 / lambda) sin(pi / (4 tau + 2))")
        axes.plot(list(measured), list(measured.values()), "o", color="#e8923c", label="measured")
        axes.set(xscale="log", yscale="log", xlabel="delay tau (updates)", ylabel="largest stable learning rate")
        axes.grid(alpha=0.3, which="both")
        axes.legend()
        return picture

    return figure


def main() -> None:
    measured = {}
    rows = []
    for delay in DELAYS:
        measured[delay] = threshold(delay)
        difference = measured[delay] / formula(delay) - 1
        rows.append([str(delay), str(delay + 1), f"{formula(delay):.6f}", f"{measured[delay]:.6f}", f"{100 * difference:+.2f}%"])
        print("delay {}: formula {}, measured {}, {}".format(delay, *rows[-1][2:]), flush=True)
    text = __doc__.split("\n\n", 1)[1].strip()
    write_page("stability", f"""# Stability of delayed gradients

{text}

PipeMare's analysis (arXiv 1910.05124, section 3) gives the edge: with rate a and delay tau, w(t+1) = w(t) - a lambda w(t - tau) is stable up to
a = (2 / lambda) sin(pi / (4 tau + 2)), which falls as 1 / tau; that is what its learning-rate rescheduling (T1) goes by.

{table(["delay", "stages", "formula", "measured", "difference"], rows)}
![largest stable learning rate over the delay](stability.png)

Each measured value is the middle of an interval of 0.04% of it. {STEPS} steps a run.

```
scripts/reproduce/stability
```

## Next

[Stability](../stability.md) to measure this edge while you train, [pipemare](../methods/pipemare.md) for T1, [staleness](../staleness.md) for where a delay comes from.
""")
    draw("stability", paint(measured))


main()
