"""scripts/pairs.py: how many pairs it takes to tell a ratio from another one.

  PIPETRAIN_SOURCE=. python3 tests/cli/pairs_test.py
"""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["PIPETRAIN_SOURCE"]).resolve() / "scripts"))
import pairs  # noqa: E402


class Pairs(unittest.TestCase):
    def test_the_interval_is_around_the_median(self) -> None:
        # Of 16 tosses 5 to 11 are heads in 92% of all cases, of 15 tosses 4 to 11 in 96%.
        self.assertEqual(pairs.interval(list(range(16, 0, -1))), (5, 12))
        self.assertEqual(pairs.interval(list(range(1, 16))), (4, 12))

    def test_what_is_clear_takes_the_fewest_pairs(self) -> None:
        ratios = pairs.ratios_of(lambda which, _: {"one": 99.0, "other": 100.0}[which], "one", "other", 0.98)
        self.assertEqual(ratios, [0.99] * pairs.FIRST)

    def test_what_is_too_close_ends_at_the_most(self) -> None:
        ratios = pairs.ratios_of(lambda which, n: 1.0 if which == "other" or n % 2 else 0.9, "one", "other", 0.98)
        self.assertEqual(len(ratios), pairs.MOST)

    def test_each_comes_first_in_turn(self) -> None:
        calls = []
        pairs.ratios_of(lambda which, _: calls.append(which) or 1.0, "one", "other", 0.5)
        self.assertEqual(calls[:4], ["one", "other", "other", "one"])


if __name__ == "__main__":
    unittest.main()
