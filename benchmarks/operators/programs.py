"""The cases: modules drawn from three grammars.

Everything is determined by the seed: case number n of a kind depends on the seed, the kind, n and
the limits of the device alone. Families of a kind are dealt like cards, so that each comes before
one comes again. Of every four cases two are single operators, one is a block and one a network.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from .blocks import FAMILIES as BLOCKS
from .networks import FAMILIES as NETWORKS
from .single import FAMILIES as OPERATORS
from .sizes import LIMITS, Program, Sizes, fits, work

Family = Callable[[Sizes], Program]
#: Families and how often each is in the deck.
KINDS: dict[str, dict[str, tuple[Family, int]]] = {
    "operator": OPERATORS,
    "block": BLOCKS,
    "network": NETWORKS,
}
SHARES = ("operator", "block", "operator", "network")
#: How often a module is drawn, and how near it must be to the time that is aimed at. Some families
#: cannot be as large or as small as that.
TRIES = ((30, 2.0), (60, 8.0), (2000, 1e6))


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    seed: str
    program: Program
    flops: float
    bytes: float

    def module(self, device: str) -> nn.Module:
        """With random weights, and statistics of normalizations that differ from 0 and 1."""
        torch.manual_seed(random.Random(self.seed).randrange(2**31))
        with torch.device(device):
            made = self.program.make().eval()
            for part in made.modules():
                if isinstance(getattr(part, "running_mean", None), torch.Tensor):
                    part.running_mean.normal_(0, 0.2)
                    part.running_var.uniform_(0.5, 1.5)
        return made

    def inputs(self, device: str) -> list[torch.Tensor]:
        torch.manual_seed(random.Random(self.seed).randrange(2**31) + 1)
        with torch.device(device):
            return [one.make() for one in self.program.inputs]

    def __str__(self) -> str:
        with torch.device("meta"):
            made = repr(self.program.make())
        text = "" if made.startswith("Call(") else made
        return f"{self.program.text}{text}({', '.join(map(str, self.program.inputs))})"


def plan(count: int, kinds: Sequence[str]) -> list[tuple[str, int]]:
    """The kinds and numbers of a run, interleaved."""
    order = [kind for kind in SHARES if kind in kinds]
    found, next_number = [], dict.fromkeys(kinds, 0)
    for index in range(count):
        kind = order[index % len(order)]
        found.append((kind, next_number[kind]))
        next_number[kind] += 1
    return found


def draw_one(seed: int, kind: str, number: int, device: str) -> Case:
    families = KINDS[kind]
    deck = [name for name, (_, share) in families.items() for _ in range(share)]
    turn, place = divmod(number, len(deck))
    random.Random(f"{seed}/{kind}/{turn}").shuffle(deck)
    family, text = deck[place], f"{seed}/{kind}/{number}"
    sizes = Sizes(text, LIMITS[device])
    target = sizes.seconds()
    for factor in (factor for count, factor in TRIES for _ in range(count)):
        try:
            program = families[family][0](sizes)
            found = work(program)
        except RuntimeError:  # sizes that do not fit each other, such as a window and its image
            continue
        if fits(found, sizes.limits, target, factor):
            label = "_".join(filter(None, (family, program.label)))
            return Case(f"{kind[0]}{number:03}_{label}", kind, text, program, *found[:2])
    raise AssertionError(f"{family}: no case fits the limits")


def draw(seed: int, count: int, kinds: Sequence[str], device: str) -> list[Case]:
    return [draw_one(seed, kind, number, device) for kind, number in plan(count, kinds)]
