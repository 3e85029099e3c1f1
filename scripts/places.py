"""Where scripts find data that is not in the repository.

Data sets: datasets/NAME, where scripts/fetch-dataset puts them, or the folder that PIPETRAIN_DATASETS names. Extras, for
checks that are skipped without them: the folder that PIPETRAIN_EXTRAS names, by default ../shared.
"""
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def extras() -> Path:
    return Path(os.environ.get("PIPETRAIN_EXTRAS") or ROOT / "../shared").resolve()


def dataset_file(name: str, file: str, extra: str = "") -> Path | None:
    """A file of the data set; `extra` is the set's name among the extras, if that is different."""
    other = os.environ.get("PIPETRAIN_DATASETS")
    folders = [ROOT / "datasets" / name, extras() / "data" / (extra or name)]
    folders[1:1] = [Path(other).resolve() / name] if other else []
    return next((folder / file for folder in folders if (folder / file).is_file()), None)
