"""The translation models: a random state_dict of each goes in by `init` and comes out again, and a
padded mini-batch has PyTorch's loss and gradients, in one stage and cut into four; also the first ten steps of
the small ones by adam, over mini-batches of several lengths.

The sentences are words of random letters, the pieces come from a small SentencePiece model of them. Dropout
is 0, because PyTorch would drop other elements. A gradient is what the checkpoint of one step at a rate of 0
keeps as momentum_buffer. PyTorch computes in f64.
"""

import copy
import dataclasses
import io
import pathlib
import random
import re
import shutil
import string

import torch
from torch import nn
from torch.nn import functional

import torch_gnmt
import torch_gradients
import torch_language
import torch_pairs
import torch_task
import torch_transformer

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGES = (1, 4)
# For the steps. Adam may divide by values close to 0, and so by rounding errors: with its usual epsilon PyTorch in
# f32 is further than the bound from PyTorch in f64.
RATE, EPSILON = 0.001, 1e-4
VOCABULARY = 200
MULTIPLE = 8  # of a bucket's bounds
# How many pairs are in a bucket, by its bounds. Mini-batches have BATCH pairs, the last one of a bucket fewer; so
# micro-batches have different numbers of labels.
BATCH, MICROBATCHES = 4, 2
ONE_BUCKET = {(16, 24): BATCH}
SEVERAL = {(8, 16): 6, (16, 8): 4, (16, 24): 8, (40, 32): 2}


@dataclasses.dataclass
class Model:
    name: str  # as in models/NAME.toml
    module: nn.Module  # source [N, S] and target [N, T] tokens -> [N, T, VOCABULARY]
    steps: int = 0  # to train, besides the one mini-batch

    @property
    def text(self):
        """Without dropout, with our vocabulary."""
        text = (ROOT / f"models/{self.name}.toml").read_text()
        theirs = re.search(r"vocabulary = (\d+)", text)[1]
        text = re.sub(rf"\b(vocabulary|out_features) = {theirs}\b", rf"\1 = {VOCABULARY}", text)
        return re.sub(r"\bp = [0-9.]+", "p = 0.0", text)


def models():
    """All of them; a model of other modules takes one more row."""
    mini = torch_transformer.Sizes(3, 256, 4, 1024, VOCABULARY, norm_first=True)
    base = torch_transformer.Sizes(6, 512, 8, 2048, VOCABULARY, norm_first=False)
    yield Model("transformer-mini", torch_transformer.Transformer(mini), steps=10)
    yield Model("transformer-base", torch_transformer.Transformer(base))
    yield Model("gnmt-mini", torch_gnmt.Gnmt(torch_gnmt.Sizes(3, 256, VOCABULARY, tied=True)), steps=10)


# ---- the texts


def train_pieces(draw):
    """A SentencePiece model's bytes, and the words on which it was trained."""
    import sentencepiece
    words = ["".join(draw.choices(string.ascii_lowercase, k=draw.randint(2, 8))) for _ in range(300)]
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(draw.choices(words, k=8)) for _ in range(400)]),
        model_writer=written, vocab_size=VOCABULARY, pad_id=torch_pairs.PAD, unk_id=1,
        bos_id=torch_pairs.BEGIN, eos_id=torch_pairs.END, minloglevel=2)
    return written.getvalue(), words


class Texts:
    """Draws sentences; knows them as pieces."""

    def __init__(self):
        import sentencepiece
        self.draw = random.Random(3)
        self.model, self.words = train_pieces(self.draw)
        self.pieces = sentencepiece.SentencePieceProcessor(model_proto=self.model)

    def sentence(self, bound):
        """A sentence as long as a bucket of this bound allows, including the end piece."""
        while True:
            sentence = " ".join(self.draw.choices(self.words, k=self.draw.randint(1, bound)))
            if bound - MULTIPLE <= len(self.pieces.encode(sentence)) < bound:
                return sentence

    def pairs(self, buckets):
        """This many pairs of sentences for each bucket, in any order."""
        pairs = [(self.sentence(source), self.sentence(target))
                 for (source, target), count in buckets.items() for _ in range(count)]
        self.draw.shuffle(pairs)
        return pairs

    def minibatches(self, pairs):
        pieces = [tuple(self.pieces.encode(sentence) for sentence in pair) for pair in pairs]
        return list(torch_pairs.minibatches(pieces, lambda source, target: BATCH, MULTIPLE))


# ---- both trainings


class Folder:
    def __init__(self, model, texts, path):
        path.mkdir(parents=True)
        self.path, self.model, self.texts = path, model, texts
        torch_language.randomise(model.module, torch.Generator().manual_seed(3), matrices=0.03)
        torch_task.write_safetensors(path / "init.safetensors", dict(model.module.named_parameters()))
        (path / "model.toml").write_text(model.text)
        (path / "pieces.model").write_bytes(texts.model)

    def write_text(self, buckets):
        """Writes the training data; returns its mini-batches."""
        pairs = self.texts.pairs(buckets)
        for side, sentences in zip(("source", "target"), zip(*pairs)):
            (self.path / f"text.{side}").write_text("".join(f"{s}\n" for s in sentences))
        return self.texts.minibatches(pairs)

    def train(self, binary, backend, stages, optimizer, steps):
        """The run's folder: losses, model.safetensors, checkpoints."""
        (self.path / "config.toml").write_text(f"""
[model]
file = "model.toml"
init = "init.safetensors"
[data]
kind = "parallel_text"
train_source = "text.source"
train_target = "text.target"
pieces = "pieces.model"
batch_size = {BATCH}
bucket_multiple = {MULTIPLE}
shuffle = false
[pipeline]
schedule = "1f1b"
stages = {stages}
microbatches = {MICROBATCHES}
[training]
steps = {steps}
[hardware]
backend = "{backend}"
[optimizer]
{optimizer}
""")
        run = self.path / f"run-{backend}-{stages}-{steps}"
        torch_task.pipetrain(binary, "train", self.path / "config.toml", "--output", run, "--quiet")
        return run


def loss_of(module, minibatch):
    """Over the real labels of the mini-batch, smoothed by 0.1 as in the model files."""
    outputs = module(minibatch.source, minibatch.target)
    return functional.cross_entropy(outputs.flatten(0, 1), minibatch.labels.flatten(),
                                    ignore_index=torch_pairs.NO_LABEL, label_smoothing=0.1)


def check_batch(folder, binary, backend, report):
    name, module = folder.model.name, copy.deepcopy(folder.model.module).double()
    (minibatch,) = folder.write_text(ONE_BUCKET)
    loss = loss_of(module, minibatch)
    loss.backward()
    exact = loss.detach(), {n: p.grad for n, p in module.named_parameters()}, {}
    for stages in STAGES:
        run = folder.train(binary, backend, stages, 'kind = "sgd"\nlr = 0.0\nmomentum = 0.9', steps=1)
        report.case(backend, f"{name}, a padded batch, stages = {stages}",
                    torch_gradients.compare_batch(run, *exact), torch_gradients.GRADIENTS)
        if stages == STAGES[0]:
            torch_language.check_export(folder, run, report, backend)
        shutil.rmtree(run)


def check_steps(folder, binary, backend, report):
    model, minibatches = folder.model, folder.write_text(SEVERAL)
    module = copy.deepcopy(model.module).double()
    optimizer, losses = torch.optim.Adam(module.parameters(), lr=RATE, eps=EPSILON), []
    for step in range(model.steps):
        optimizer.zero_grad()
        loss = loss_of(module, minibatches[step % len(minibatches)])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    table = f'kind = "adam"\nlr = {RATE}\neps = {EPSILON}'
    run = folder.train(binary, backend, STAGES[-1], table, model.steps)
    torch_gradients.compare_steps(model, run, losses, dict(module.named_parameters()), backend, report)


def check(binary, backends, folder, report):
    try:
        texts = Texts()
    except ImportError as error:
        print(f"skipped {'':9} translation: {error}", flush=True)
        return
    for model in models():
        for backend in [b for b in backends if b != "reference"]:  # plain loops would take minutes
            with torch_gradients.guarded(model, backend, folder, report) as where:
                files = Folder(model, texts, where)
                check_batch(files, binary, backend, report)
                if model.steps:
                    check_steps(files, binary, backend, report)
