"""Results that are kept in a file as they come, so that the same command continues where it was stopped."""
import json
import math
import os
import pathlib
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from runs import DRAWN, MNIST, data_here, data_of
from whole_file import write_whole

NAMES = {MNIST: "digits of MNIST", DRAWN: "drawn images"}


class Kept:
    def __init__(self, file: pathlib.Path):
        self.file = file
        self.parts = json.loads(file.read_text()) if file.exists() else {}
        self.parts["data"] = data_of(self.parts) if self.parts else data_here()  # kept with the first result

    def keep(self, part: str, value) -> None:
        self.parts[part] = value
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.file, json.dumps(self.parts, indent=1, ensure_ascii=False) + "\n")

    def require_its_data(self) -> None:
        """Refuses to add results that are made with other data."""
        made, here = self.parts["data"], data_here()
        if made != here:
            get = "get MNIST (scripts/fetch-dataset mnist), or " if made == MNIST else ""
            raise SystemExit(f"cannot continue {self.file}: its results were made with {NAMES[made]}, but trainings "
                             f"here would read {NAMES[here]}; {get}move the file away to start over")

    def part(self, name: str, make) -> dict | list:
        if name not in self.parts:
            self.require_its_data()
            self.keep(name, make())
        return self.parts[name]

    def forget(self, names) -> None:
        for name in names:
            self.parts.pop(name, None)

    def all_of(self, part: str, wanted: dict, make, seconds: float = math.inf) -> dict:
        """`part`, with make(work) for each key of `wanted` that it does not have: one for each core at a time, none
        that would begin after `seconds`. Each is kept as soon as it is made; keys are in the order of `wanted`."""
        found, end = self.parts.get(part, {}), time.monotonic() + seconds
        new = {key: work for key, work in wanted.items() if key not in found}
        order = [*(key for key in found if key not in wanted), *wanted]
        if new:
            self.require_its_data()
        pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        try:
            keys = {pool.submit(lambda w: make(w) if time.monotonic() < end else None, work): key
                    for key, work in new.items()}
            for done in as_completed(keys):
                if (made := done.result()) is not None:
                    found[keys[done]] = made
                    self.keep(part, {key: found[key] for key in order if key in found})
                    print(keys[done], flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
        return self.parts.get(part, {})
