"""A language model under every kind of schedule.

For anyone who trains language models and asks what a schedule that never drains costs in loss.

configs/gpt-shakespeare.toml is nanoGPT's recipe for a CPU: a GPT of characters with 4 layers, 4 heads, width 128 and a
context of 64, trained on the first nine tenths of Tiny Shakespeare for 2,000 updates of 12 windows. Here it is cut into
four stages of about one layer each, with four micro-batches, and trained with the same seed, rate and number of
updates under a schedule that flushes and under those that never do.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

from page import BINARY, ROOT, table, write_page
from places import dataset_file

CONFIG = ROOT / "configs/gpt-shakespeare.toml"
METHODS = {
    "1f1b": {},
    "pipedream": {},
    "pipedream_2bw": {},
    "pipemare": {"pipeline.pipemare.anneal_steps": "0"},  # T1 has no effect: no delay is above 1
    "timeprest": {},
    "v_timeprest": {},
    "i_timeprest": {},
}
PEERS = [1.905, 1.909, 1.916]  # PyTorch, one process, the same recipe and the same measure, three seeds


def find_text(named: str | None) -> pathlib.Path:
    path = pathlib.Path(named) if named else dataset_file("tinyshakespeare", "input.txt")
    if path and path.exists():
        return path.resolve()
    raise SystemExit("no text: scripts/fetch-dataset tinyshakespeare gets it, or --text names it")


def train(folder: pathlib.Path, text: pathlib.Path, method: str, seed: int) -> dict:
    sets = {"data.train_text": json.dumps(str(text)), "pipeline.schedule": json.dumps(method), "training.seed": str(seed)}
    args = [a for key, value in (sets | METHODS[method]).items() for a in ("--set", f"{key}={value}")]
    output = folder / f"{method}-{seed}"
    run = subprocess.run([BINARY, "train", str(CONFIG), "--quiet", "--resume", "never", "--output", str(output)] + args,
                         capture_output=True, text=True)
    if run.returncode not in (0, 5):
        raise SystemExit(run.stderr)
    events = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    steps = [e for e in events if e["event"] == "step"]
    stages = steps[-1]["stages"]
    return {"validations": {e["step"]: e for e in events if e["event"] == "validation"}, "diverged": run.returncode == 5,
            "tokens": sorted(e["tokens_per_second"] for e in steps)[len(steps) // 2],
            "versions": [s["weight_versions"] for s in stages], "staleness": [s["staleness"] for s in stages],
            "memory": sum(s["memory_bytes"] for s in stages), "output": output, "args": args}


def row(method: str, run: dict) -> list[str]:
    if run["diverged"]:
        return [f"`{method}`", "diverged", "", "", "", "", "", ""]
    last = run["validations"][max(run["validations"])]
    half = run["validations"][1000]
    return [f"`{method}`", f"{last['loss']:.3f}", f"{last['perplexity']:.2f}", f"{100 * last['accuracy']:.1f}%",
            f"{half['loss']:.3f}", " ".join(map(str, run["versions"])), " ".join(f"{s:.3g}" for s in run["staleness"]),
            f"{run['memory'] / 2**20:.1f}"]


def say(run: dict) -> str:
    made = subprocess.run([BINARY, "generate", str(CONFIG), "--quiet", "--output", str(run["output"]), "--tokens", "400",
                           "--prompt", "ROMEO:"] + run["args"], capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in made.stdout.rstrip().splitlines())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", help="the text, where it is not in datasets")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    text = find_text(options.text)
    results = {}
    with tempfile.TemporaryDirectory() as name:
        for method in METHODS:
            results[method] = train(pathlib.Path(name), text, method, options.seed)
            print(" | ".join(row(method, results[method])), flush=True)
        sample = say(results["1f1b"])
    header = ["schedule", "validation loss", "perplexity", "accuracy", "loss after 1,000", "weight versions", "staleness",
              "memory, MiB"]
    write_page("shakespeare", f"""# A small GPT on Tiny Shakespeare

{__doc__.split(chr(10) + chr(10), 1)[1].strip()}

{table(header, [row(method, run) for method, run in results.items()])}
The loss is the mean over the whole last tenth of the text, in windows that do not overlap, after the last update; accuracy is the share of its characters that the
model thought likeliest. PyTorch in one process, with the same recipe and the same measure, gives {", ".join(str(loss) for loss in PEERS)} for three
seeds (nanoGPT itself reports 1.88 on 20 random batches). Weight versions and staleness (updates between a micro-batch's forward and its
backward) are per stage, from the first to the last; memory is that of all stages.

One seed, and the recipe's rate for all: the rate was tuned for what flushes, not for the others. `pipemare` is T2 alone, with decay 0.135: no stage's delay is
above 1 update (the largest is 0.75), so T1 has no effect.

What the model under `1f1b` has learnt, 400 characters at temperature 0.8:

```
{sample}
```

Made by

```
scripts/reproduce/shakespeare
```

## Next

[Language models](../language.md) to train one of your own, [translation](translation.md) for the same comparison on translation models, [staleness](../staleness.md) for why these losses differ.
""")


main()
