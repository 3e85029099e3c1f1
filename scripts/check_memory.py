"""Predicted memory compared with measured memory: per stage, and for the whole process. See scripts/check-memory.

Per stage    predict_memory (nothing is allocated), compared with what the stage took from its backend in
             `pipetrain benchmark`, and with memory_bytes of the steps of `pipetrain train`.
The process  heap allocated between "nothing but the data" and "five steps trained", without the loader's
             buffers, compared with the sum of the stages. The rest is compiled kernels and small objects;
             it must not grow with the mini-batch, or it would hide a buffer.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

STAGES = [1, 2, 4]
CONFIGS = ["configs/bench/lenet5.toml", "configs/conv10.toml"]
BOUND = 0.05  # per stage, and for the part of the process that grows with the mini-batch
BEYOND_MAX = 1 << 20  # bytes besides the stages: compiled kernels
KIB = 1024.0


def run(call):
    done = subprocess.run([str(part) for part in call], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"check-memory: {' '.join(map(str, call))} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def benchmark(binary, config, stages, batch):
    result = run([binary, "benchmark", config, "--json", "--set", f"pipeline.stages={stages}",
                  "--set", f"data.batch_size={batch}"])["results"][0]
    return {"predicted": [s["memory_bytes_predicted"] for s in result["stages"]],
            "measured": [s["memory_bytes_measured"] for s in result["stages"]],
            "process": result["process"]}


def trained(binary, config, stages, batch):
    """memory_bytes of the last step of a real training."""
    with tempfile.TemporaryDirectory() as folder:
        run([binary, "train", config, "--json", "--quiet", "--output", folder, "--set", "training.steps=3",
             "--set", f"pipeline.stages={stages}", "--set", f"data.batch_size={batch}"])
        lines = (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()
    steps = [event for event in map(json.loads, lines) if event["event"] == "step"]
    return [stage["memory_bytes"] for stage in steps[-1]["stages"]]


def difference(measured, predicted):
    return abs(measured - predicted) / measured


class Table:
    def __init__(self):
        self.agree = self.differ = 0
        print("| model | stages | stage | predicted KiB | measured KiB | in training KiB | difference |\n"
              "| --- | --- | --- | --- | --- | --- | --- |", flush=True)

    def check(self, good):
        self.agree += bool(good)
        self.differ += not good
        return "" if good else " **too much**"

    def stages(self, name, predicted, measured, training):
        for stage, (p, m, t) in enumerate(zip(predicted, measured, training, strict=True)):
            worst = max(difference(m, p), difference(t, p))
            print(f"| {name} | {len(predicted)} | {stage} | {p / KIB:.1f} | {m / KIB:.1f} | {t / KIB:.1f} | "
                  f"{100 * worst:.2f}%{self.check(worst <= BOUND)} |", flush=True)

    def process(self, rows):
        print("\n| model | stages | mini-batch | sum of stages KiB | process KiB | beyond the stages KiB | "
              "loader KiB | resident KiB |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
        for name, stages, results in rows:
            beyond = []
            for batch, r in results.items():
                total, process = sum(r["predicted"]), r["process"]
                beyond.append(process["pipeline_bytes"] - total)
                print(f"| {name} | {stages} | {batch} | {total / KIB:.0f} | "
                      f"{process['pipeline_bytes'] / KIB:.0f} | {beyond[-1] / KIB:.0f}"
                      f"{self.check(0 <= beyond[-1] <= BEYOND_MAX)} | {process['loader_bytes'] / KIB:.0f} | "
                      f"{process['resident_bytes'] / KIB:.0f} |")
            first, second = (sum(r["predicted"]) for r in results.values())
            growth = abs(beyond[1] - beyond[0]) / (second - first)
            print(f"| {name} | {stages} | grows by | {(second - first) / KIB:.0f} | "
                  f"{(second - first + beyond[1] - beyond[0]) / KIB:.0f} | {(beyond[1] - beyond[0]) / KIB:.1f}"
                  f"{self.check(growth <= BOUND)} | | |", flush=True)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(prog="check-memory", description=__doc__.splitlines()[0])
    parser.add_argument("--pipetrain", type=pathlib.Path, default=root / "build",
                        metavar="BUILD-FOLDER", help="where scripts/build built (default: build)")
    options = parser.parse_args()
    binary = options.pipetrain.resolve() / "pipetrain"
    table, rows = Table(), []
    for config in (root / name for name in CONFIGS):
        for stages in STAGES:
            results = {batch: benchmark(binary, config, stages, batch) for batch in (64, 128)}
            small = results[64]
            table.stages(config.stem, small["predicted"], small["measured"],
                         trained(binary, config, stages, 64))
            rows.append((config.stem, stages, results))
    table.process(rows)
    print(f"\n{table.agree} checks agree, {table.differ} do not")
    sys.exit(1 if table.differ else 0)


if __name__ == "__main__":
    main()
