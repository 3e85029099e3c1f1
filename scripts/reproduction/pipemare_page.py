"""The page of scripts/reproduce/pipemare: table, picture and verdicts on the claims, from the numbers alone."""
import statistics

from page import table, tried_text
from runs import digits_text, spread

CHANCE = 10.0


def course(run: dict) -> list[tuple[int, float]]:
    return sorted((int(step), value) for step, value in run["accuracy"].items())


def final(run: dict, steps: int) -> float:
    """The mean of the last four validations; chance for what ended earlier."""
    last = course(run)
    return statistics.mean(v for _, v in last[-4:]) if last and last[-1][0] == steps else CHANCE


def finals(row: dict, setting: dict) -> list[float]:
    return [final(run, setting["steps"]) for run in row["runs"]]


def diverged_at_all(row: dict) -> bool:
    """With the first seed, at every rate that was tried: then its rate is none that was chosen."""
    return max(row["by_rate"]) == CHANCE


def trained(row: dict, setting: dict) -> list[float]:
    """Where the seeds that did not diverge end."""
    return [final(run, setting["steps"]) for run in row["runs"] if course(run)[-1][0] == setting["steps"]]


def own_rate(row: dict, setting: dict) -> str:
    if diverged_at_all(row):
        return f"{row['rate']:g}; diverged at every rate with the first seed"
    return tried_text(row["rate"], setting["rates"])


def mib(number: int) -> str:
    return f"{number / 2**20:.2f}"


def bytes_of(row: dict) -> int:
    return row["runs"][0]["weights"] + row["runs"][0]["activations"]


def first(rows: list[dict], method: str, n: int) -> dict:
    return next(row for row in rows if row["method"] == method and row["n"] == n)


def joint_rows(rows: list[dict], setting: dict) -> list[list[str]]:
    cells = []
    for row in sorted(rows, key=lambda r: r["n"]):
        named = {r["method"]: r for r in rows if r["n"] == row["n"]}
        dream, flush = named.get("PipeDream"), named.get("flushing (1f1b)")
        weights = row["runs"][0]["weights"]
        cells.append([
            str(row["n"]), row["method"], spread(finals(row, setting)), own_rate(row, setting), mib(weights),
            f"{dream['runs'][0]['weights'] / weights:.2f}" if dream else "", mib(row["runs"][0]["activations"]),
            f"{bytes_of(dream) / bytes_of(row):.2f}" if dream else "", f"{100 * row['utilisation']:.1f}%",
            f"{row['utilisation'] / flush['utilisation']:.1f}" if flush else ""])
    return cells


def rate_rows(rows: list[dict]) -> list[list[str]]:
    return [[str(row["n"]), row["method"], *(f"{value:.1f}" for value in row["by_rate"])] for row in sorted(rows, key=lambda r: r["n"])]


def below(rows: list[dict], setting: dict, method: str, n: int) -> float:
    """By how many points the method ends below the flushing run."""
    return statistics.mean(finals(first(rows, "flushing (1f1b)", n), setting)) - statistics.mean(finals(first(rows, method, n), setting))


def joined(values: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(values[:-1]), values[-1]]))


def edges(rows: list[dict], setting: dict, method: str, numbers: list[int]) -> str:
    """For which N the method has the smallest or the largest of the rates that were tried."""
    parts = []
    for name, rate in (("smallest", min(setting["rates"])), ("largest", max(setting["rates"]))):
        at = [str(n) for n in numbers if first(rows, method, n)["rate"] == rate]
        where = "" if len(at) == len(numbers) else f" for N = {joined(at)}" if at else None
        if where is not None:
            parts.append(f"at the {name} rate tried{where}")
    return f" ({', '.join(parts)})" if parts else ""


def naive_verdict(rows: list[dict], setting: dict, numbers: list[int]) -> str:
    """Where it diverged at every rate no rate was chosen, and the mean over the seeds says nothing."""
    sentences, kept = [], []
    for n in numbers:
        row = first(rows, "naive", n)
        if not diverged_at_all(row):
            kept.append(n)
            continue
        ends = [f"{value:.1f}%" for value in trained(row, setting)]
        to = f", to {joined(ends)}" if ends else ""
        sentences.append(f"with N = {n} it diverged at every rate with the first seed; at {row['rate']:g}, {len(ends)} of {len(row['runs'])} seeds trained{to}.")
    if kept:
        points = joined([f"{below(rows, setting, 'naive', n):.1f}" for n in kept])
        sentences.append(f"with N = {joined([str(n) for n in kept])} it ends {points} points below{edges(rows, setting, 'naive', kept)}.")
    return " ".join([sentences[0], *(s[0].upper() + s[1:] for s in sentences[1:])])


def verdicts(rows: list[dict], setting: dict) -> str:
    numbers = sorted({r["n"] for r in rows if r["method"] == "naive"})

    def each(make) -> str:
        return joined([make(n) for n in numbers])

    def points(method: str) -> str:
        return each(lambda n: f"{below(rows, setting, method, n):.1f}")

    def at(method: str) -> str:
        return edges(rows, setting, method, numbers)

    def times(method: str, n: int) -> float:
        return first(rows, method, n)["utilisation"] / first(rows, "flushing (1f1b)", n)["utilisation"]

    def less(n: int) -> float:
        return first(rows, "PipeDream", n)["runs"][0]["weights"] / first(rows, "T1 + T2", n)["runs"][0]["weights"]

    def trains(n: int) -> str:
        row = first(rows, "PipeDream", n)
        good = [f"{rate:g}" for rate, value in zip(setting["rates"], row["by_rate"]) if value > 5 * CHANCE]
        return f"N = {n}: " + (f"up to {good[-1]}" if good else "none")

    of = f"for N = {joined([str(n) for n in numbers])}"
    p, two = setting["stages"], first(rows, "PipeDream-2BW", setting["stages"])
    full, default = "T1 + T2", f"T1 + T2, K = {setting['short']}"
    return f"""{of[0].upper() + of[1:]}, points of accuracy below the flushing run. Where that is at the smallest or the largest rate tried, one beyond it may be better:

- **T1 and T2 without T3** end {points(full)} points below{at(full)}, so the quality of a synchronous run, which the paper reports for some
  of its networks without T3, is not reached here.
- **The default length of T1**, a quarter of the updates, ends {points(default)} points below{at(default)}: T1 over
  the whole training is better here. When it is over, every stage has the full rate at its full delay.
- **Naive asynchronous training**: {naive_verdict(rows, setting, numbers)}
- **T1 alone** ends {points("T1")} points below{at("T1")}, **T2 alone** {points("T2")}{at("T2")}.
- **T1, T2 and T3 together** end {points("T1 + T2 + T3")} points below{at("T1 + T2 + T3")}. Their utilisation is {each(lambda n: f"{times('T1 + T2 + T3', n):.1f}")} times
  that of the flushing run; the paper claims up to 4.3 (the abstract on arXiv; that of the proceedings says 14.3). The synchronous epochs of T3 take most of that training's time. Without them
  it would be {each(lambda n: f"{times(full, n):.1f}")} times: with N far below P a pipeline that drains is nearly always empty. All of this is at equal N. The flushing run's accuracy does not
  depend on N: with N = P = {p} its utilisation is {100 * p / (2 * p - 1):.0f}% (N / (N + P - 1)), and PipeDream-2BW's with that N is {100 * two["utilisation"]:.0f}%. So the ratio says what PipeMare gains where N cannot grow.
- **Weights and state** are {each(lambda n: f"{less(n):.1f}")} times less than PipeDream's under T1 + T2; the paper claims up to 2.7. The ratio is not a constant: PipeDream
  keeps a version for every update of the delay, here up to {2 * p}, since it has the long warm-up of the others here. With its own, P - 1 - s forwards, it keeps half as many.
- **PipeDream** trains here, in small steps only: {each(trains)}. It ends {points("PipeDream")} points below{at("PipeDream")}.
  The paper reports that it diverges for translation."""


def page(found: dict) -> str:
    setting, rows = found["setting"], found["rows"]
    p, n = setting["stages"], sorted({r["n"] for r in rows if r["method"] == "naive"})
    delays = ", ".join(f"{(2 * p - 1) / k:g} to {1 / k:g}" for k in n)
    rates = [f"{rate:g}" for rate in setting["rates"]]
    return f"""# PipeMare where delays are long

For anyone who asks what PipeMare's three techniques win back in a long pipeline, and what they cost beside PipeDream: quality, memory and
utilisation of the same runs.

A residual perceptron of {p} linear layers, width {setting["width"]}, one per stage (x + W relu(x)), on {digits_text(found)}: 8,000 to train, 2,000 to
validate. Mini-batches of {setting["batch"]} samples in N micro-batches, sgd with momentum 0.9, a rate that falls by a cosine, {setting["steps"]} updates, {len(rows[0]["runs"])} seeds with
He's initial weights. Asynchronous schedules have `warmup = "full"`, the delay of the paper: (2(P - 1 - s) + 1)/N updates between forward and backward on
stage s, for N = {", ".join(map(str, n))} from {delays}.

T1 is annealed over K = {setting["anneal"]} updates, the whole training, and in one row over {setting["short"]}, a quarter of it, which is the default; T2 has D = 0.135; T3 is {setting["sync_epochs"]} epochs of {setting["epoch"]} updates under 1f1b. Each method has the rate at
which it ended best with the first seed, of {", ".join(rates)}.

{table(["N", "method", "accuracy, %", "rate", "weights and state, MiB", "PipeDream's / this", "activations, MiB", "PipeDream's / this, both", "utilisation", "flushing's, times"], joint_rows(rows, setting))}
Accuracy: the mean of the last four validations, then mean and standard deviation over the seeds; {CHANCE:g}% is chance, for what diverged. Where a rate is the smallest or the
largest tried, one beyond it may be better, and the method with it.
Weights and state: every version kept, momentum and delta, over all stages; not the gradients, nor the place in which corrected weights are put together, as in
the paper's count. Activations: as `train --dry-run` predicts them. Utilisation: 1 - bubble of the whole training, simulated with B = 2F, T3's
synchronous epochs included. 2BW needs N ≥ P and the usual warm-up, so it has a row of its own; naive is [pipelined_backpropagation](../methods/pipelined_backpropagation.md).

## Which claims hold

{verdicts(rows, setting)}

## At which rates each method trains

Accuracy in % with the first seed:

{table(["N", "method", *rates], rate_rows(rows))}
![validation accuracy over updates, for each N](pipemare.png)

```
scripts/reproduce/pipemare
```

## Next

[pipemare](../methods/pipemare.md) for its formulas and keys, [stability](stability.md) for the largest rate that a delay allows, [memory](memory.md#pipemare-and-pipedream) for its bytes beside PipeDream's.
"""


def paint(found: dict):
    rows = found["rows"]
    numbers = sorted({r["n"] for r in rows if r["method"] == "naive"})

    def figure(pyplot):
        picture, all_axes = pyplot.subplots(1, len(numbers), figsize=(4.2 * len(numbers), 4), sharey=True, layout="constrained")
        for axes, n in zip(all_axes, numbers):
            for i, row in enumerate(r for r in rows if r["n"] == n):
                steps = sorted({s for run in row["runs"] for s, _ in course(run)})
                means = [statistics.mean(dict(course(run)).get(s, CHANCE) for run in row["runs"]) for s in steps]
                axes.plot(steps, means, color=pyplot.get_cmap("tab10")(i), linestyle=["-", "--"][i % 2], label=row["method"])
            axes.set(title=f"N = {n}", xlabel="updates")
            axes.grid(alpha=0.3)
        all_axes[0].set(ylabel="validation accuracy, % (mean of the seeds)")
        all_axes[0].legend(fontsize=8)
        return picture

    return figure
