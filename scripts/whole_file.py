"""Files that are written whole or not at all, for results that the same command continues after it was stopped."""
import os
import pathlib


def write_whole(file: pathlib.Path, text: str) -> None:
    beside = file.with_name(file.name + ".new")
    beside.write_text(text)
    os.replace(beside, file)
