"""docs/reproductions/vision.md: what the vision models reach on images on which they were trained. See
scripts/reproduce/vision."""
import json
import math
import pathlib
import random
import resource
import subprocess

from page import BINARY, ROOT, table, write_page

FOLDER = pathlib.Path("runs/reproduce-vision")  # relative to the root, like the page's commands
IMAGES, SIDE, CLASSES = 320, 32, 10
STAGES = [1, 2, 4]
RATES = {"resnet18-32": 0.02, "vgg16-32": 0.005}  # at 0.02 vgg16's loss rises to 5 before it falls

CONFIG = """\
[model]
file = "../../models/resnet18-32.toml"
[data]
kind = "cifar10"
train_files = "drawn.bin"
validation_files = "drawn.bin"
batch_size = 32
[pipeline]
schedule = "1f1b"
stages = 2
microbatches = 2
[optimizer]
kind = "sgd"
momentum = 0.9
weight_decay = 5e-4
[lr_schedule]
kind = "cosine"
warmup_steps = 10
[training]
epochs = 10
[validation]
every_epochs = 10
batch_size = 64
"""


def draw_image(kind: int, pick: random.Random) -> bytes:
    """A record of cifar10: stripes whose angle is the class; their phase, width, colours and noise are random."""
    angle, phase = math.pi * kind / CLASSES + pick.uniform(-0.05, 0.05), pick.uniform(0, 2 * math.pi)
    rate = pick.uniform(0.6, 1.0)
    dark, light = ([pick.uniform(0, 100) for _ in range(3)], [pick.uniform(155, 255) for _ in range(3)])
    record = bytearray([kind])
    for colour in range(3):
        for y in range(SIDE):
            for x in range(SIDE):
                share = 0.5 + 0.5 * math.sin(rate * (x * math.cos(angle) + y * math.sin(angle)) + phase)
                value = dark[colour] + share * (light[colour] - dark[colour]) + pick.gauss(0, 20)
                record.append(min(255, max(0, round(value))))
    return bytes(record)


def run(*arguments) -> subprocess.CompletedProcess:
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"pipetrain {' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stderr}")
    return done


def sets(values: dict) -> list[str]:
    return [part for key, value in values.items() for part in ("--set", f"{key}={value}")]


def shown(*arguments) -> str:
    """A command as one would type it."""
    return "build/pipetrain " + " ".join(f"'{a}'" if '"' in str(a) else str(a) for a in arguments)


def train(model: str, precision: str) -> tuple[list, dict]:
    """The command, and what `eval` finds with each number of stages."""
    output = FOLDER / f"{model}-{precision}"
    chosen = sets({"model.file": f'"models/{model}.toml"', "training.precision": f'"{precision}"',
                   "optimizer.lr": RATES[model]})
    command = ["train", FOLDER / "config.toml", *chosen, "--output", output]
    run(*command, "--quiet", "--resume", "never")
    found = {}
    for stages in STAGES:
        evaluated = run("eval", FOLDER / "config.toml", *chosen, "--output", output, "--json", "--set",
                        f"pipeline.stages={stages}")
        found[stages] = json.loads(evaluated.stdout)
    return command, found


def trained_rows() -> tuple[list, list]:
    rows, commands = [], []
    for model in RATES:
        for precision in ("f32", "bf16"):
            command, found = train(model, precision)
            first = found[STAGES[0]]
            same = all((f["loss"], f["accuracy"]) == (first["loss"], first["accuracy"]) for f in found.values())
            rows.append([model, precision, f"{100 * first['accuracy']:.2f}%", f"{100 * first['top5']:.2f}%",
                         f"{first['loss']:.6f}", "the same" if same else "**not the same**"])
            commands.append(shown(*command))
            print(" ".join(rows[-1]), flush=True)
    return rows, commands


MEMORY_CONFIG = """\
[model]
file = "../../models/resnet50.toml"
[data]
kind = "synthetic"
train_samples = 160
batch_size = 32
[pipeline]
schedule = "1f1b"
stages = 4
microbatches = 4
[optimizer]
momentum = 0.9
[training]
steps = 5
"""


def memory() -> tuple[str, list, float]:
    """ResNet-50, 5 steps in four stages: the command, one row per stage, the whole process in GiB."""
    command = ["train", FOLDER / "resnet50.toml", "--output", FOLDER / "resnet50"]
    planned = json.loads(run(*command, "--dry-run", "--json", "--resume", "never").stdout)["memory_bytes"]
    run(*command, "--quiet", "--resume", "never")
    process = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    events = [json.loads(line) for line in (ROOT / FOLDER / "resnet50/metrics.jsonl").read_text().splitlines()]
    last = [event for event in events if event["event"] == "step"][-1]
    if last["step"] != 5:
        raise SystemExit(f"resnet50 trained {last['step']} steps, not 5")
    rows = []
    for stage, (wanted, held) in enumerate(zip(planned, (s["memory_bytes"] for s in last["stages"]), strict=True)):
        rows.append([str(stage), f"{wanted / 2**20:.1f}", f"{held / 2**20:.1f}",
                     f"{100 * abs(wanted - held) / held:.2f}%"])
    return shown(*command), rows, process


def page(trained: list, commands: list, memory_command: str, stages: list, process: float) -> str:
    return f"""# VGG-16 and ResNets: what they learn, what they take

For anyone who asks whether the vision models learn, and whether their memory is predicted well. Made by `scripts/reproduce/vision`; the models are described in [vision.md](../vision.md).

## Over 99% on what they trained on

{IMAGES} drawn images of {SIDE}x{SIDE} in a file of CIFAR-10's format, {CLASSES} classes: stripes whose angle is the class, and whose phase, width, colours
and noise are chance. Ten epochs in two stages under `1f1b`, mini-batches of 32 in two micro-batches. Then `pipetrain eval` of the
trained weights on the same images, by BatchNorm's running statistics, at {", ".join(map(str, STAGES[:-1]))} and {STAGES[-1]} stages: loss and accuracy at each are compared as printed, to the last digit.

{table(["model", "precision", "accuracy", "top-5", "loss", f"at {', '.join(map(str, STAGES))} stages"], trained)}
```
{chr(10).join(commands)}
```

## ResNet-50 at 224x224 in four stages

Five steps of mini-batches of 32 in four micro-batches. Predicted: by `--dry-run`, with nothing allocated. Measured: what each stage had taken at step 5. The
whole process held {process:.2f} GiB at most.

{table(["stage", "predicted MiB", "measured MiB", "difference"], stages)}
```
{memory_command}
```

## Next

[Vision](../vision.md) for the models and for published weights, [your images](../tutorials/your-images.md) to train on pictures of your own, [memory](../memory.md) for how exactly memory is known.
"""


def main() -> None:
    folder = ROOT / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    pick = random.Random(1)
    (folder / "drawn.bin").write_bytes(b"".join(draw_image(i % CLASSES, pick) for i in range(IMAGES)))
    (folder / "config.toml").write_text(CONFIG)
    (folder / "resnet50.toml").write_text(MEMORY_CONFIG)
    memory_command, stages, process = memory()
    trained, commands = trained_rows()
    write_page("vision", page(trained, commands, memory_command, stages, process))


if __name__ == "__main__":
    main()
