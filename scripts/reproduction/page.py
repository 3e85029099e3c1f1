"""What the reproductions share: the binary, the page, the picture."""
import os
import pathlib
import sys

from sweep_plot import have_matplotlib, install_matplotlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PIPETRAIN_BINARY", str(ROOT / "build/pipetrain"))
FOLDER = ROOT / "docs/reproductions"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header)] + rows
    return "\n".join("| " + " | ".join(row) + " |" for row in lines) + "\n"


def tried_text(rate: float, tried: list[float], shown: float | None = None) -> str:
    """A learning rate, marked where it is the smallest or the largest of those tried; `shown`: what is printed for it."""
    edge = ", the smallest tried" if rate == min(tried) else ", the largest tried" if rate == max(tried) else ""
    return f"{rate if shown is None else shown:g}{edge}"


def write_page(name: str, text: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.md").write_text(text)
    print(f"wrote docs/reproductions/{name}.md")


def draw(name: str, paint) -> None:
    """`paint(pyplot)` makes a figure and returns it; if matplotlib is not available, says so and continues."""
    if not have_matplotlib() and (why := install_matplotlib()):
        print(f"no picture: {why}", file=sys.stderr)
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = paint(pyplot)
    figure.savefig(FOLDER / f"{name}.png", dpi=110)
    pyplot.close(figure)
    print(f"wrote docs/reproductions/{name}.png")
