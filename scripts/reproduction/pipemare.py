"""docs/reproductions/pipemare.md: PipeMare's techniques where delays are long. See scripts/reproduce/pipemare."""
import argparse
import dataclasses
import json
import pathlib
import subprocess

from kept import Kept
from page import BINARY, FOLDER as PAGES, ROOT, draw, write_page
from pipemare_page import final, page, paint
from runs import data_section, train, write_he

STAGES, WIDTH, BATCH, STEPS, EVERY = 32, 64, 64, 3000, 125
ANNEAL, SHORT, SYNC_EPOCHS, EPOCH = 3000, 750, 4, 125  # of T1: over all updates, and over the default quarter of them
SEEDS, RATES, MICROBATCHES = (1, 2, 3), (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016), (1, 2, 4)
FOLDER = ROOT / "runs/reproduce-pipemare"
DATA = PAGES / "pipemare.json"


@dataclasses.dataclass(frozen=True)
class Method:
    name: str
    schedule: str
    sets: tuple = ()
    microbatches: tuple = MICROBATCHES
    warmup: str = "full"

    def keys(self, n: int) -> dict:
        return {"pipeline.schedule": f'"{self.schedule}"', "pipeline.microbatches": str(n),
                "pipeline.warmup": f'"{self.warmup}"'} | dict(self.sets)


def pipemare(name: str, t2: bool, t3: bool, anneal: int = ANNEAL) -> Method:
    return Method(name, "pipemare", (("pipeline.pipemare.anneal_steps", str(anneal)),
                                     ("pipeline.pipemare.decay", "0.135" if t2 else "0.0"),
                                     ("pipeline.pipemare.sync_warmup_epochs", str(SYNC_EPOCHS if t3 else 0))))


METHODS = [Method("flushing (1f1b)", "1f1b", warmup="1f1b"), Method("PipeDream", "pipedream"),
           Method("PipeDream-2BW", "pipedream_2bw", microbatches=(STAGES,), warmup="1f1b"),
           Method("naive", "pipelined_backpropagation"), pipemare("T1", False, False), pipemare("T1 + T2", True, False),
           pipemare("T1 + T2 + T3", True, True), pipemare("T2", True, False, 0), pipemare(f"T1 + T2, K = {SHORT}", True, False, SHORT)]


def write_files() -> None:
    """A residual perceptron with one layer of weights per stage: only one tensor crosses each cut. What its blocks add is
    made small by the root of their number, so that the sum stays of one size."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    layers = ['{ name = "flatten", kind = "flatten" }', f'{{ name = "fc0", kind = "linear", out_features = {WIDTH} }}']
    for i in range(1, STAGES - 1):
        before = "fc0" if i == 1 else f"sum{i - 1}"
        layers += [f'{{ name = "relu{i}", kind = "relu" }}', f'{{ name = "fc{i}", kind = "linear", out_features = {WIDTH} }}',
                   f'{{ name = "sum{i}", kind = "add", inputs = ["fc{i}", "{before}"] }}']
    layers += [f'{{ name = "relu{STAGES - 1}", kind = "relu" }}', f'{{ name = "fc{STAGES - 1}", kind = "linear", out_features = 10 }}']
    (FOLDER / "model.toml").write_text('name = "deep"\ninput = { shape = [1, 28, 28] }\nlayers = [\n  ' + ",\n  ".join(layers) + "\n]\n")
    for seed in SEEDS:
        write_he(FOLDER / f"init-{seed}.safetensors", seed,
                 {f"fc{i}": [10 if i + 1 == STAGES else WIDTH, 784 if i == 0 else WIDTH] for i in range(STAGES)},
                 {f"fc{i}": STAGES ** -0.5 for i in range(1, STAGES - 1)})
    split = ", ".join(f'"relu{i}"' for i in range(1, STAGES))
    (FOLDER / "config.toml").write_text(f"""
model.file = "model.toml"
{data_section()}batch_size = {BATCH}
[pipeline]
stages = {STAGES}
split = [{split}]
[optimizer]
kind = "sgd"
momentum = 0.9
[lr_schedule]
kind = "cosine"
[training]
steps = {STEPS}
[validation]
every_steps = {EVERY}
[hardware]
workers = "inline"
threads_per_stage = 1
""")


def key_of(method: Method, n: int, rate: float, seed: int) -> str:
    return f"{method.name}; N = {n}; {rate}; {seed}"


def run(work: tuple[Method, int, float, int]) -> dict:
    """Accuracy by updates; and of all stages together, in bytes, weights and state, and activations."""
    method, n, rate, seed = work
    found = train(FOLDER, method.keys(n), rate, seed, STEPS, "".join(c if c.isalnum() else "-" for c in key_of(*work)))
    # Every version of the weights and the optimizer's state with delta, as the paper counts.
    weights = sum(v * stage["gradients"] + stage["optimizer"] for v, stage in zip(found["versions"], found["memory"]))
    return {"accuracy": {str(k): round(v, 2) for k, v in found["accuracy"].items()}, "weights": weights,
            "activations": sum(stage["activations"] for stage in found["memory"]), "versions": found["versions"]}


def makespan(schedule: str, warmup: str, n: int, steps: int) -> float:
    made = subprocess.run([BINARY, "schedule", schedule, "--stages", str(STAGES), "--microbatches", str(n), "--steps", str(steps),
                           "--warmup", warmup, "--times", "F=1,B=2", "--summary", "--json"], capture_output=True, text=True, check=True)
    return json.loads(made.stdout)["makespan"]


def utilisation(method: Method, n: int) -> float:
    """Of the whole training, T3's epochs included, with B = 2F."""
    synchronous = SYNC_EPOCHS * EPOCH if dict(method.sets).get("pipeline.pipemare.sync_warmup_epochs", "0") != "0" else 0
    time = makespan(method.schedule, method.warmup, n, STEPS - synchronous)
    if synchronous:
        time += makespan("1f1b", "1f1b", n, synchronous)
    return 3 * n * STEPS / time


def rate_of(runs: dict, method: Method, n: int) -> float:
    """Of those tried with the first seed, the rate at which the method ends best."""
    return max(RATES, key=lambda rate: final(runs[key_of(method, n, rate, SEEDS[0])], STEPS))


def measure() -> dict:
    write_files()
    kept = Kept(FOLDER / "results.json")
    cases = [(method, n) for method in METHODS for n in method.microbatches]

    def trained(works: list[tuple]) -> dict:
        return kept.all_of("runs", {key_of(*work): work for work in works}, run)

    searched = trained([(*case, rate, SEEDS[0]) for case in cases for rate in RATES])
    rates = {case: rate_of(searched, *case) for case in cases}
    runs = trained([(*case, rates[case], seed) for case in cases for seed in SEEDS])
    return {"data": kept.parts["data"],
            "setting": {"stages": STAGES, "width": WIDTH, "batch": BATCH, "steps": STEPS, "epoch": EPOCH,
                        "anneal": ANNEAL, "short": SHORT, "sync_epochs": SYNC_EPOCHS, "rates": RATES},
            "rows": [{"method": method.name, "n": n, "rate": rates[method, n], "utilisation": utilisation(method, n),
                      "by_rate": [final(runs[key_of(method, n, rate, SEEDS[0])], STEPS) for rate in RATES],
                      "runs": [runs[key_of(method, n, rates[method, n], seed)] for seed in SEEDS]} for method, n in cases]}


def one_row_a_line(found: dict) -> str:
    rows = ",\n  ".join(json.dumps(row) for row in found["rows"])
    head = f'{{"data": {json.dumps(found["data"])},\n "setting": {json.dumps(found["setting"])}'
    return f'{head},\n "rows": [\n  {rows}]}}\n'


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", action="store_true", help="make the page of what docs/reproductions/pipemare.json has")
    if not parser.parse_args().report:
        DATA.write_text(one_row_a_line(measure()))
    found = json.loads(DATA.read_text())
    write_page("pipemare", page(found))
    draw("pipemare", paint(found))


if __name__ == "__main__":
    main()
