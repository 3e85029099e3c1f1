"""What scripts/fuzz-configs spoils: a value, a key or a character of a config.

A spoilt config may still be good. pipetrain decides whether it is, and the trial looks at the outcome.
"""
import datetime
import random

from fuzz_config_values import Config

HUGE = [2**31, 2**31 - 1, 2**63, 2**63 - 1, 10**30, 1e308, 1e-308, 1024, 1025, 65536, 2**24]
NEGATIVE = [-1, -0.5, -(2**63), -1e-9]
BROKEN = [float("nan"), float("inf"), float("-inf")]
OTHER_TYPES = ["words", "", 3.5, 0, 1, True, False, [], [1, 2], ["a", "b"], [[1]], {"a": 1}, {},
               datetime.date(1979, 5, 27)]
STRAY = list("=[]{}\"'#,.\\-+_x7\t\r\n\0\x7f") + ["\u00e9", "\u202e", '"""', "\ufeff"]
TABLES = ["pipelin", "trainings", "optimizer.sgd", "pipeline.gpipe", "[layers]", ""]
# Above these, even a good config would train for long: such a config is only planned, by --dry-run.
LONGEST = {"training.steps": 50, "training.epochs": 20, "data.train_samples": 5000, "data.validation_samples": 5000,
           "data.batch_size": 64, "pipeline.microbatches": 64, "validation.batch_size": 5000}


def key_of(config: Config, pick: random.Random) -> str:
    return pick.choice(sorted(config))


def misspelt(name: str, pick: random.Random) -> str:
    place = pick.randrange(len(name))
    letter = pick.choice("abcdefghijklmnopqrstuvwxyz_")
    return pick.choice([name[:place] + name[place + 1:], name[:place] + letter + name[place:],
                        name[:place] + letter + name[place + 1:]]) or "x"


def spoil_value(config: Config, pick: random.Random) -> None:
    config[key_of(config, pick)] = pick.choice(pick.choice([HUGE, NEGATIVE, BROKEN, OTHER_TYPES]))


def spoil_key(config: Config, pick: random.Random) -> None:
    key = key_of(config, pick)
    table, name = key.rsplit(".", 1)
    config[f"{table}.{misspelt(name, pick)}"] = config.pop(key)


def move_key(config: Config, pick: random.Random) -> None:
    key, other = key_of(config, pick), key_of(config, pick)
    value = config.pop(key)
    config[other.rsplit(".", 1)[0] + "." + key.rsplit(".", 1)[1]] = value


def remove_key(config: Config, pick: random.Random) -> None:
    config.pop(key_of(config, pick))


def swap_values(config: Config, pick: random.Random) -> None:
    one, other = key_of(config, pick), key_of(config, pick)
    config[one], config[other] = config[other], config[one]


SPOIL_CONFIG = [spoil_value, spoil_value, spoil_value, spoil_key, spoil_key, move_key, remove_key, swap_values]


def insert(text: str, pick: random.Random) -> str:
    place = pick.randrange(len(text) + 1)
    return text[:place] + pick.choice(STRAY) + text[place:]


def remove_letter(text: str, pick: random.Random) -> str:
    place = pick.randrange(len(text))
    return text[:place] + text[place + 1:]


def cut_off(text: str, pick: random.Random) -> str:
    return text[:pick.randrange(len(text))]


def repeat_line(text: str, pick: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    lines.insert(pick.randrange(len(lines) + 1), pick.choice(lines))
    return "".join(lines)


def remove_line(text: str, pick: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    del lines[pick.randrange(len(lines))]
    return "".join(lines)


def add_table(text: str, pick: random.Random) -> str:
    return text + f"[{pick.choice(TABLES)}]\nx = 1\n"


SPOIL_TEXT = [insert, insert, remove_letter, cut_off, repeat_line, remove_line, add_table]


def spoil_text(text: str, pick: random.Random) -> str:
    return pick.choice(SPOIL_TEXT)(text, pick) if text else text


def trains_long(config: Config) -> bool:
    def above(key: str, most: int) -> bool:
        value = config.get(key, 0)
        return isinstance(value, (int, float)) and value > most

    return any(above(key, most) for key, most in LONGEST.items())
