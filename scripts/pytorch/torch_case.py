"""A small graph of modules, and its input."""

import dataclasses

from torch import nn


@dataclasses.dataclass
class Node:
    module: nn.Module
    inputs: list = dataclasses.field(default_factory=list)  # empty: the node before


@dataclasses.dataclass
class Case:
    name: str
    nodes: dict  # name -> Node or module
    input: list  # shape without the samples
    samples: int = 2
    train: bool = True
    loss: str = "mse"
    vocabulary: int = 0  # of the input, if that is tokens
    label_smoothing: float = 0.0
    unlabelled: bool = False  # every third position has no label

    def __post_init__(self):
        self.nodes = {name: node if isinstance(node, Node) else Node(node)
                      for name, node in self.nodes.items()}
        before = "input"
        for name, node in self.nodes.items():
            node.inputs = node.inputs or [before]
            before = name
        self.model = nn.ModuleDict({name: node.module for name, node in self.nodes.items()})

    def forward(self, x):
        """The values of all nodes, by name."""
        values = {"input": x}
        for name, node in self.nodes.items():
            values[name] = node.module(*(values[i] for i in node.inputs))
        return values
