"""The page of scripts/reproduce/convolutional: claims, tables and picture, from the numbers alone."""
import math
import statistics

from page import table
from runs import MNIST, data_of

CHANCE = 10.0
FLUSH, UNDIVIDED = "1f1b", "1f1b, undivided"
LITTLE = 5.0  # points of accuracy, at most
ALIKE = 2.0  # points of accuracy: two standard errors of a difference, near 94% of 1,000 images


class Results:
    def __init__(self, found: dict):
        self.runs, self.times, self.setting = found["runs"], found["times"], found["setting"]
        self.cases = [(model, stages) for model in self.setting["models"] for stages in self.setting["stages"]]

    def run(self, case: tuple[str, int], method: str, rate: float) -> dict:
        return self.runs[f"{case[0]}; {case[1]}; {method}; {rate}"]

    def end(self, run: dict) -> float:
        """The mean of the last two validations; chance once it has diverged."""
        steps, every = self.setting["steps"], self.setting["every"]
        return statistics.mean(run["accuracy"].get(str(step), CHANCE) for step in (steps - every, steps))

    def best_rate(self, case: tuple[str, int], method: str) -> float:
        return max(self.setting["rates"], key=lambda rate: self.end(self.run(case, method, rate)))

    def best(self, case: tuple[str, int], method: str) -> dict:
        return self.run(case, method, self.best_rate(case, method))

    def beside(self, case: tuple[str, int], method: str, other: str) -> float:
        """By how many points the method ends above another, each at its better rate."""
        return self.end(self.best(case, method)) - self.end(self.best(case, other))

    def target(self, case: tuple[str, int]) -> float:
        return self.end(self.best(case, FLUSH)) - 2

    def updates_to_target(self, case: tuple[str, int], method: str) -> float:
        accuracy = self.best(case, method)["accuracy"]
        return next((int(step) for step, value in accuracy.items() if value >= self.target(case)), math.inf)

    def update_time(self, stages: int, method: str) -> float:
        return self.times[f"{method}; {stages}"]["update"]

    def clock(self, stages: int, method: str, updates: float) -> float:
        """Simulated time after this many updates."""
        times = self.times[f"{method}; {stages}"]
        first = min(updates, times["first_updates"])
        return first * times["first_update"] + (updates - first) * times["update"]


def points(values: list[float]) -> str:
    return f"{min(values):+.1f} to {max(values):+.1f} points"


def ratios(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}" if f"{min(values):.2f}" != f"{max(values):.2f}" else f"{min(values):.2f}"


def updates_text(updates: float) -> str:
    return "never" if updates == math.inf else f"{updates:.0f}"


def claims(found: Results) -> str:
    """What the papers say of convolutional networks, what did not hold first."""
    rows = []

    def claim(text: str, held: list[bool], here: str) -> None:
        word = "yes" if all(held) else "no" if not any(held) else f"in {sum(held)} of {len(held)}"
        rows.append((sum(held) / len(held), [text, word, here]))

    def quality(text: str, method: str, flush: str) -> None:
        apart = [found.beside(case, method, flush) for case in found.cases]
        claim(text, [a >= -ALIKE for a in apart], f"ends {points(apart)} beside `{flush}`")

    quality("PipeDream reaches the accuracy of synchronous training (SOSP 2019: VGG-16 on ImageNet, 68%)", "pipedream", UNDIVIDED)
    quality("PipeDream-2BW ends like a run that flushes (arXiv 2006.09503, on language models)", "pipedream_2bw", FLUSH)
    quality("PipeMare ends like synchronous training, ResNets without T3 (arXiv 1910.05124)", "pipemare", UNDIVIDED)
    naive = [found.beside(case, "pipelined_backpropagation", UNDIVIDED) for case in found.cases]
    claim("Stale weights without a remedy cost accuracy (arXiv 2003.11666; arXiv 1912.12675, ResNets of 56 to 362 layers on CIFAR-10: 0.3 "
          "points above to 2.9 below)", [a < -ALIKE for a in naive], f"ends {points(naive)} beside `{UNDIVIDED}`")
    few, many = found.setting["stages"]
    by_model = {model: [found.beside((model, p), "pipelined_backpropagation", UNDIVIDED) for p in (few, many)]
                for model in found.setting["models"]}
    claim("and more with more stages (arXiv 1912.12675)", [b < a for a, b in by_model.values()],
          "; ".join(f"{model} {a:+.1f} in {few} stages, {b:+.1f} in {many}" for model, (a, b) in by_model.items()))
    lead = [found.beside(case, "pipemare", "pipelined_backpropagation") for case in found.cases]
    claim("T1 and T2 win back what stale weights cost (arXiv 1910.05124)", [a > 0 for a in lead],
          f"ends {points(lead)} beside `pipelined_backpropagation`")
    lag = [found.beside(case, "timeprest", "pipedream") for case in found.cases]
    claim("TiMePReSt is a little less accurate than PipeDream after as many epochs (arXiv 2410.14312)",
          [-LITTLE <= a < 0 for a in lag], f"ends {points(lag)} beside `pipedream`")
    slower = [found.update_time(p, "timeprest") / found.update_time(p, "pipedream") for p in found.setting["stages"]]
    claim("TiMePReSt's epochs are shorter than PipeDream's (arXiv 2410.14312: 5 to 8 minutes against 65 to 70, VGG-16 on CIFAR-100, 4 GPUs)",
          [s < 1 for s in slower], f"an update takes {ratios(slower)} of the time, simulated")
    for method, text in (("timeprest", "TiMePReSt takes less memory than PipeDream (arXiv 2410.14312: 7 GB against 11)"),
                         ("v_timeprest", "V-TiMePReSt takes less memory than PipeDream (arXiv 2509.23241)")):
        share = [found.best(case, method)["memory"] / found.best(case, "pipedream")["memory"] for case in found.cases]
        claim(text, [s < 1 for s in share], f"{ratios(share)} of it")
    pairs = [[found.updates_to_target(case, f"{letter}_timeprest") for letter in "iv"] for case in found.cases]
    claim("I-TiMePReSt needs fewer epochs than V-TiMePReSt (arXiv 2509.23241)", [i < v for i, v in pairs],
          "updates to the accuracy: " + ", ".join(f"{updates_text(i)} and {updates_text(v)}" for i, v in pairs))
    return table(["claim", "held", "here"], [cells for _, cells in sorted(rows, key=lambda row: row[0])])


def one_table(found: Results, case: tuple[str, int]) -> str:
    model, stages = case
    flushed = found.clock(stages, FLUSH, found.updates_to_target(case, FLUSH))
    rows = []
    for method in found.setting["methods"]:
        made, updates = found.best(case, method), found.updates_to_target(case, method)
        rows.append([method, *(f"{found.end(found.run(case, method, rate)):.1f}" for rate in found.setting["rates"]),
                     updates_text(updates), f"{found.update_time(stages, FLUSH) / found.update_time(stages, method):.2f}",
                     "" if updates == math.inf else f"{flushed / found.clock(stages, method, updates):.2f}",
                     " ".join(map(str, made["versions"])), f"{made['memory'] / 2**20:.0f}"])
    return f"### {model}, {stages} stages\n\n" + table(
        ["method", *(f"accuracy at {rate}, %" for rate in found.setting["rates"]), f"updates to {found.target(case):.1f}%",
         "updates per time", "sooner there", "versions, per stage", "memory, MiB"], rows)


def edges(found: Results) -> str:
    """How often each rate was the better one."""
    rates = [found.best_rate(case, method) for case in found.cases for method in found.setting["methods"]]
    return ", ".join(f"{rate:g} in {rates.count(rate)}" for rate in found.setting["rates"]) + f" of {len(rates)} cells"


def paint(found: dict):
    made = Results(found)

    def figure(pyplot):
        picture, grid = pyplot.subplots(2, len(made.cases), figsize=(16, 7.5), layout="constrained", sharey=True)
        colors = pyplot.get_cmap("tab10")
        for column, case in enumerate(made.cases):
            for i, method in enumerate(made.setting["methods"]):
                accuracy = made.best(case, method)["accuracy"]
                steps = [int(step) for step in accuracy]
                line = "--" if method == UNDIVIDED else "-"
                for row, at in enumerate((steps, [made.clock(case[1], method, step) for step in steps])):
                    grid[row][column].plot(at, list(accuracy.values()), color=colors(i), label=method, linewidth=1.3, linestyle=line)
            grid[0][column].set(title=f"{case[0]}, {case[1]} stages", xlabel="updates", ylim=(0, 100))
            # Undivided and drained after every mini-batch takes several times as long as everything else.
            grid[1][column].set(xlabel="simulated time, forwards of a micro-batch", xlim=(0, 1.05 * made.clock(case[1], FLUSH, made.setting["steps"])))
            for axes in (grid[0][column], grid[1][column]):
                axes.grid(alpha=0.3)
        for row in grid:
            row[0].set_ylabel("validation accuracy, %")
        picture.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
        return picture

    return figure


def page(found: dict) -> str:
    made, setting = Results(found), found["setting"]
    few, many = setting["stages"]
    images = ("handwritten digits (MNIST), each in a colour of its own on a ground of its own" if data_of(found) == MNIST else
              "drawn stripes, whose angle is the class, in random colours (MNIST was not there: `scripts/fetch-dataset mnist` gets it)")
    tables = "\n".join(one_table(made, case) for case in made.cases)
    epochs = setting["steps"] // setting["epoch"]
    return f"""# Asynchronous schedules on convolutional networks

For anyone who trains convolutional networks and asks what a pipeline that never drains costs in accuracy, and what it gains
in time.

ResNet-18 and VGG-16 for images of 32 x 32 ([models](../vision.md), both with BatchNorm), in {few} and in {many} stages of
`split = "auto"`, on {images}: {setting["trained"]:,} to train, {setting["validated"]:,} to validate. Every method makes {epochs} epochs of {setting["epoch"]}
updates from the same initial weights, with mini-batches of {setting["batch"]} images, sgd, momentum 0.9 and a rate that rises over the first epoch and then falls by a
cosine, from each of two rates.

`1f1b`, `pipedream_2bw` and the timeprests (in [the work-conserving order](../methods/timeprest.md#the-work-conserving-order)) divide a mini-batch into
as many micro-batches as there are stages; in that order the staleness of `timeprest` is P - 1 on every stage. `pipedream`, `pipelined_backpropagation` and `pipemare` do not, as in their papers: stage s then reads weights
P - 1 - s updates old, up to {few - 1} and up to {many - 1}. BatchNorm takes its statistics of a micro-batch, so
both kinds have a flushing run of their own beside them. `pipemare` has T1 over the first quarter of the updates, and T2; "T3": the first epoch is synchronous.

## What the papers claim

Over both networks and both numbers of stages, each method at its better rate ({edges(made)}), what did not hold first. There is one run for
each cell, and near 94% of {setting["validated"]:,} images the difference of two accuracies has a standard error of 1 point, so ends less than {ALIKE:g} points apart count
as alike. Where the smaller rate is the better one, one below it may be better still, above all for what fails at both.

{claims(made)}
## In numbers

Accuracy: the mean of the last two validations ({CHANCE:.0f}.0: it diverged, or learnt nothing). Updates to: at the first validation that is
as good as 1f1b's end less 2 points, at the better rate; there is one every {setting["every"]} updates. Updates per time: in steady state on equal stages where B = 2F,
simulated, 1f1b's being 1. Sooner there: 1f1b's simulated time to that accuracy over the method's, T3's synchronous epoch included. Versions: the
most that each stage held. Memory: all stages, in training.

{tables}
![accuracy by updates and by simulated time](convolutional.png)

`scripts/reproduce/convolutional` makes this page, in parts if need be (`--minutes 40`).

## Next

[TiMePReSt beside PipeDream](timeprest.md) with five seeds, [PipeMare where delays are long](pipemare.md), [which schedule to choose](../choosing.md).
"""
