"""Pairs of sentences as mini-batches of tokens, as in src/data/text/parallel_text.hpp and src/data/text/buckets.hpp
without shuffling."""

import dataclasses

import torch

PAD, BEGIN, END, NO_LABEL = 0, 2, 3, -1


@dataclasses.dataclass
class Minibatch:
    source: torch.Tensor  # [samples, S]
    target: torch.Tensor  # [samples, T], what the decoder reads
    labels: torch.Tensor  # [samples, T]

    @property
    def tokens(self):
        """The tokens of both sides, without padding."""
        return ((self.source != PAD).sum() + (self.labels != NO_LABEL).sum()).item()


def rows(sentences, length, fill):
    return torch.tensor([sentence + [fill] * (length - len(sentence)) for sentence in sentences])


def minibatches(pairs, most, multiple=8):
    """Mini-batches of pairs of pieces, in the order of their buckets; most(S, T): how many pairs a full one has."""
    buckets = {}
    for pair in pairs:
        bounds = tuple(-(-(len(pieces) + 1) // multiple) * multiple for pieces in pair)
        buckets.setdefault(bounds, []).append(pair)
    for (source, target), members in sorted(buckets.items()):
        step = most(source, target)
        for first in range(0, len(members), step):
            part = members[first:first + step]
            yield Minibatch(rows([s + [END] for s, _ in part], source, PAD),
                            rows([[BEGIN] + t for _, t in part], target, PAD),
                            rows([t + [END] for _, t in part], target, NO_LABEL))
