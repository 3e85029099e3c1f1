"""Two values measured alternately, as many pairs as it takes to tell their ratio from another one. The best of several
medians is better than the truth, and a machine's speed drifts: the ratio of two measurements, one right after the
other, suffers from neither."""

import math

FIRST, MOST = 15, 60  # pairs


def interval(values):
    """Of the median, with a confidence of 92% or more: the values below it are as many as heads among as many tosses."""
    ordered, half, root = sorted(values), len(values) / 2, math.sqrt(len(values))
    return ordered[math.floor(half - root)], ordered[math.ceil(half + root) - 1]


def decided(ratios, wanted):
    if len(ratios) < FIRST:
        return False
    least, most = interval(ratios)
    return least >= wanted or most < wanted or len(ratios) >= MOST


def ratios_of(measure, one, other, wanted):
    """What measure(one, n) is over measure(other, n), n = 0, 1, ..., until `wanted` is outside the interval."""
    ratios = []
    while not decided(ratios, wanted):
        order = (one, other) if len(ratios) % 2 == 0 else (other, one)
        values = {which: measure(which, len(ratios)) for which in order}
        ratios.append(values[one] / values[other])
    return ratios


def text_of(ratios):
    """Their median's interval in percent, and their number."""
    return "{:.1f} to {:.1f}, {} pairs".format(*(100 * r for r in interval(ratios)), len(ratios))
