"""The picture of a sweep: the loss of each point over its steps, and the points' results."""
import subprocess
import sys
from pathlib import Path
from typing import Sequence

from sweep_results import Result


def have_matplotlib(python: str = sys.executable) -> bool:
    return subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0


def install_matplotlib() -> str:
    """Installs into the virtual environment that runs this. Returns why it could not, or an empty text."""
    if sys.prefix == sys.base_prefix:
        return "this Python is no virtual environment; run scripts/setup first"
    print("sweep: installing matplotlib into .venv, once (--no-plot does without)", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "matplotlib"]
    tried = subprocess.run(pip, capture_output=True, text=True)
    return "" if tried.returncode == 0 else (tried.stderr.strip().splitlines() or ["pip failed"])[-1]


def smoothed(losses: Sequence[float]) -> list[float]:
    """The mean over a few per cent of the steps, because curves of single mini-batches hide each other."""
    width = max(1, len(losses) // 30)
    return [sum(part) / len(part) for i in range(len(losses)) for part in [losses[max(0, i - width + 1) : i + 1]]]


def plot(results: list[Result], title: str, file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [result for result in results if result.steps]
    colors = pyplot.get_cmap("viridis" if len(shown) > 10 else "tab10")
    color = [colors(i / max(1, len(shown) - 1) if len(shown) > 10 else i) for i in range(len(shown))]
    height = max(4.0, 0.3 * len(shown) + 1.6)
    figure, (curves, bars) = pyplot.subplots(1, 2, figsize=(13, height), layout="constrained",
                                             width_ratios=[1.3, 1])
    figure.suptitle(title)
    for i, result in enumerate(shown):
        steps, losses = zip(*result.steps)
        # Dashes over full lines: curves of schedules that train alike overlap.
        curves.plot(steps, smoothed(losses), color=color[i], linestyle=["-", "--", ":"][i % 3], linewidth=1.6,
                    label=label(result))
    curves.set(xlabel="step", ylabel="training loss (mean of a few steps)")
    curves.set_yscale("log")
    # A point that diverged must not flatten the others.
    losses = [loss for result in shown for loss in smoothed([loss for _, loss in result.steps]) if loss > 0]
    if losses:
        curves.set_ylim(0.8 * min(losses), min(1.2 * max(losses), 3 * max(result.steps[0][1] for result in shown)))
    curves.grid(alpha=0.3)
    if len(shown) <= 10:
        curves.legend(fontsize=8, framealpha=0.8)
    draw_bars(bars, shown, color)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def label(result: Result) -> str:
    return result.point.name + ("" if result.ending.status == "finished" else f" ({result.ending.status})")


def draw_bars(bars, shown: list[Result], color: list) -> None:
    """Accuracy if the points have one, otherwise the validation's loss, otherwise the last training loss."""
    for name, words in (("accuracy", "validation accuracy"), ("validation_loss", "validation loss"),
                        ("loss", "last training loss")):
        if any(name in result.numbers for result in shown):
            break
    values = [result.numbers.get(name, 0.0) for result in shown]
    places = range(len(shown))
    drawn = bars.barh(places, values, color=color)
    bars.bar_label(drawn, [f"{value:.3f}" if name in result.numbers else "none"
                           for result, value in zip(shown, values)], padding=3, fontsize=8)
    bars.set_yticks(places, [label(result) for result in shown], fontsize=8)
    bars.invert_yaxis()
    bars.set_xlabel(words)
    bars.margins(x=0.12)
