"""Translation under every kind of schedule.

For anyone who trains translation models and asks what a schedule that never drains costs in BLEU.

configs/transformer-multi30k.toml and configs/gnmt-multi30k.toml, German to English on Multi30k's 29,000 captions, in
bf16, with the same seed, rate and number of updates under a schedule that flushes and under those that never do. After each epoch
the validation captions are translated greedily; the checkpoint of the best BLEU then translates the 1,000
captions of the 2016 test set.
"""
import argparse
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

from page import BINARY, ROOT, table, write_page
from places import dataset_file
from whole_file import write_whole

TEST = "test_2016_flickr"
RUNS = ROOT / "runs/reproduce-translation"
PIPEMARE = {"pipeline.pipemare.anneal_steps": "0"}  # T2 by default; T1 has no effect: no delay is above 1


class Run:
    def __init__(self, model: str, stages: int, schedule: str, what: str = "", published: str = "", **sets: str):
        self.model, self.stages, self.schedule, self.what, self.published = model, stages, schedule, what, published
        parts = 6 if stages > 1 else 1
        self.sets = {"pipeline.schedule": f'"{schedule}"', "pipeline.stages": str(stages), "pipeline.microbatches": str(parts),
                     "hardware.threads_per_stage": "2" if stages == 1 else "1"} | sets
        self.name = f"{model}-{stages}-{schedule}" + ("-sync" if "sync" in what else "")


RUNS_TO_DO = [  # published: Yang et al., MLSys 2021, table 2: 12 layers, IWSLT14
    Run("transformer", 1, "1f1b"),
    Run("transformer", 6, "1f1b", published="34.5 (GPipe)"),
    Run("transformer", 6, "pipedream", published="0.0"),
    Run("transformer", 6, "pipedream_2bw"),
    Run("transformer", 6, "pipemare", "T2", published="34.1", **PIPEMARE),
    Run("transformer", 6, "pipemare", "T2 + T3, one synchronous epoch", published="34.5", **PIPEMARE,
        **{"pipeline.pipemare.sync_warmup_epochs": "1"}),
    Run("transformer", 6, "i_timeprest"),
    Run("gnmt", 2, "1f1b"),
    Run("gnmt", 2, "pipedream"),
]


def find_text(named: str | None) -> pathlib.Path:
    file = pathlib.Path(named) / "train.de.gz" if named else dataset_file("multi30k", "train.de.gz")
    if file and file.exists():
        return file.resolve().parent
    raise SystemExit("no text: scripts/fetch-dataset multi30k gets it, or --text names its folder")


def train(run: Run, text: pathlib.Path, epochs: int) -> pathlib.Path:
    """The run's folder. The same command resumes what was interrupted."""
    files = {f"data.{part}_{side}": f'"{text}/{name}.{language}.gz"' for part, name in (("train", "train"), ("validation", "val"))
             for side, language in (("source", "de"), ("target", "en"))}
    sets = files | {"training.epochs": str(epochs), "checkpoint.every_epochs": "1", "checkpoint.keep_latest": "1"} | run.sets
    arguments = [a for key, value in sets.items() for a in ("--set", f"{key}={value}")]
    config = ROOT / f"configs/{run.model}-multi30k.toml"
    output = RUNS / run.name
    done = subprocess.run([BINARY, "train", str(config), "--quiet", "--output", str(output)] + arguments, capture_output=True, text=True)
    if done.returncode not in (0, 5):
        raise SystemExit(f"{run.name}: {done.stderr}")
    if done.returncode == 5:  # it diverged: earlier translations are not of this training
        (output / "test.en").unlink(missing_ok=True)
    else:
        translate(run, output, text, [str(config), "--quiet"] + arguments)
    return output


def translate(run: Run, output: pathlib.Path, text: pathlib.Path, arguments: list[str]) -> None:
    """Translates the test set, unless that was done with the same weights. The record of them is written last."""
    weights = output / "checkpoints/best" if (output / "checkpoints/best").exists() else output / "model.safetensors"
    translated, record, made_from = output / "test.en", output / "test.en.weights", digest_of(weights)
    if translated.exists() and record.exists() and record.read_text() == made_from:
        return
    source = gzip.decompress((text / f"{TEST}.de.gz").read_bytes())
    made = subprocess.run([BINARY, "generate"] + arguments + ["--model", str(weights)],
                          input=source, capture_output=True)
    if made.returncode:
        raise SystemExit(f"{run.name}: {made.stderr.decode()}")
    beside = output / "test.en.new"
    beside.write_bytes(made.stdout)
    os.replace(beside, translated)
    write_whole(record, made_from)


def digest_of(weights: pathlib.Path) -> str:
    """SHA-256 of the file of weights; of a checkpoint's manifest, which has its files' checksums, if that is named."""
    if weights.name == "best":  # a file with the checkpoint's name
        weights = weights.parent / weights.read_text().strip() / "manifest.json"
    return hashlib.sha256(weights.read_bytes()).hexdigest()


def bleu_of(output: pathlib.Path, text: pathlib.Path, python: str) -> str:
    """sacrebleu's score of the written translations."""
    if not (output / "test.en").exists():
        return "diverged"
    reference = output / "reference.en"
    reference.write_bytes(gzip.decompress((text / f"{TEST}.en.gz").read_bytes()))
    scored = subprocess.run([python, "-m", "sacrebleu", str(reference), "-i", str(output / "test.en"), "-b", "-w", "2"],
                            capture_output=True, text=True)
    return scored.stdout.strip() if scored.returncode == 0 else "?"


def row(run: Run, output: pathlib.Path, test: str) -> list[str]:
    events = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    steps = [e for e in events if e["event"] == "step"]
    bleus = [e["bleu"] for e in events if e["event"] == "validation"]
    rate = sorted(e["tokens_per_second"] for e in steps)[len(steps) // 2]
    stages = steps[-1]["stages"]
    return [run.model, str(run.stages), f"`{run.schedule}`" + (f" ({run.what})" if run.what else ""), test,
            " ".join(f"{b:.1f}" for b in bleus), run.published, f"{sum(e['step_seconds'] for e in steps) / 60:.1f}", f"{rate:.0f}",
            " ".join(str(s["weight_versions"]) for s in stages)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", help="Multi30k's folder, where it is not in datasets")
    parser.add_argument("--only", help="names of runs, with commas; the page has those alone")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--restart", action="store_true", help="forget what was run before")
    parser.add_argument("--bleu-python", default="python3", help="one that has sacrebleu")
    options = parser.parse_args()
    text = find_text(options.text)
    if subprocess.run([options.bleu_python, "-c", "import sacrebleu"], capture_output=True, check=False).returncode:
        raise SystemExit(f"{options.bleu_python} has no sacrebleu, which scores the translations; install it with pip into an "
                         "environment of its own, and name its Python with --bleu-python")
    if options.restart:
        shutil.rmtree(RUNS, ignore_errors=True)
    rows = []
    for run in RUNS_TO_DO:
        if options.only and run.name not in options.only.split(","):
            continue
        output = train(run, text, options.epochs)
        rows.append(row(run, output, bleu_of(output, text, options.bleu_python)))
        print(run.name, " | ".join(rows[-1]), flush=True)
    header = ["model", "stages", "schedule", "BLEU, test", "BLEU, validation, by epoch", "published", "minutes of steps", "target tokens/s",
              "weight versions"]
    write_page("translation", f"""# Translation, German to English

{__doc__.split(chr(10) + chr(10), 1)[1].strip()}

{table(header, rows)}
BLEU is sacrebleu's of the written translations. One seed, whose luck has not been measured, and the same rate for all, which suits what flushes. A mini-batch has six micro-batches,
the same number as stages, so no backward comes more than an update after its forward (`i_timeprest`: less than two). PipeMare's largest delay is
0.83 updates, at which T1 has no effect: its rows are T2 alone, and T2 with T3. The GNMT was not tuned.

Published: PipeMare's own (Yang et al., MLSys 2021) for a Transformer of 12 layers on IWSLT14 in many more stages, where PipeDream's diverges; its rows
have T1 too. It is
another task, so what to compare is the distance between schedules. Minutes are those of the steps, without validation; other work on the machine lengthens them.

Made by

```
scripts/reproduce/translation
```

## Next

[Translation](../translation.md) to train a model of your own, [a small GPT](shakespeare.md) for the same comparison on a language model, [staleness](../staleness.md) for why these scores differ.
""")


if __name__ == "__main__":
    main()
