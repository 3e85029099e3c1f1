"""PyTorch's side of compare-translation: one JSON document.

    compare_translation.py FOLDER BATCH-TOKENS prepare     trains FOLDER's pieces.model on text.de and text.en
    compare_translation.py FOLDER BATCH-TOKENS WAY         tokens per second of an epoch of train.de and train.en, without
                                                           padding; f32, autocast (to bf16), or weights (of bf16)
"""

import contextlib
import json
import os
import pathlib
import sys
import time

import sentencepiece
import torch
from torch.nn import functional

import torch_pairs
import torch_transformer

PIECES, LONGEST = 6000, 64  # models/transformer-mini.toml
SIZES = torch_transformer.Sizes(3, 256, 4, 1024, PIECES, norm_first=True, dropout=0.2, activation_dropout=0.2)
WARMUP = 6  # in mini-batches


def train_pieces(folder):
    sentencepiece.SentencePieceTrainer.train(
        input=[str(folder / "text.de"), str(folder / "text.en")], model_prefix=str(folder / "pieces"), vocab_size=PIECES,
        character_coverage=1.0, pad_id=0, unk_id=1, bos_id=2, eos_id=3, minloglevel=2)


def read_minibatches(folder, batch_tokens):
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "pieces.model"))
    sides = [(folder / f"train.{side}").read_text(encoding="utf-8").split("\n")[:-1] for side in ("de", "en")]
    pairs = [pair for pair in zip(*map(pieces.encode, sides)) if all(0 < len(side) < LONGEST for side in pair)]
    return len(pairs), list(torch_pairs.minibatches(pairs, lambda source, target: batch_tokens // (source + target)))


class Training:
    def __init__(self, way):
        torch.manual_seed(0)
        self.autocast, kind = way == "autocast", torch.bfloat16 if way == "weights" else torch.float32
        self.module = torch_transformer.Transformer(SIZES)
        torch.nn.init.normal_(self.module.encoder.embed_tokens.weight, std=SIZES.width ** -0.5)
        self.module = self.module.to(kind).train()
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=5e-4, fused=True)

    def step(self, minibatch):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16) if self.autocast else contextlib.nullcontext():
            outputs = self.module(minibatch.source, minibatch.target)
            loss = functional.cross_entropy(outputs.flatten(0, 1), minibatch.labels.flatten(),
                                            ignore_index=torch_pairs.NO_LABEL, label_smoothing=0.1)
        loss.backward()
        self.optimizer.step()

    def seconds(self, minibatches):
        begin = time.perf_counter()
        for minibatch in minibatches:
            self.step(minibatch)
        return time.perf_counter() - begin


def tokens_per_second(way, minibatches, tokens):
    training = Training(way)
    training.seconds(minibatches[::-(-len(minibatches) // WARMUP)])  # of all lengths
    return tokens / training.seconds(minibatches)


def main():
    folder, batch_tokens, what = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    if what == "prepare":
        train_pieces(folder)
    pairs, minibatches = read_minibatches(folder, batch_tokens)
    tokens = sum(minibatch.tokens for minibatch in minibatches)
    if what == "prepare":
        said = {"torch": torch.__version__, "pairs": pairs, "minibatches": len(minibatches), "tokens": tokens}
    else:
        said = tokens_per_second(what, minibatches, tokens)
    print(json.dumps(said))


if __name__ == "__main__":
    main()
