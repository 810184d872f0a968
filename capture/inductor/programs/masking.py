"""Elements that a mask chooses, computed with, and put back where the same mask chooses: in one loop over the mask.

In: a program. Out: the same, in which such values are maps over whole arrays, that only the store computes, where its
mask holds (``whole``): nothing is picked, counted or kept.

    z[inside] = z[inside] ** 2 + c[inside]         # if (inside[i]) z[i] = z[i] * z[i] + c[i];
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capture.inductor.programs.facts import Owners, find_owners, find_users, is_array
from capture.ir.graph import Node
from capture.ir.program import DENSE, STORES, Block, Program, RankedType
from capture.records import replace

Users = Mapping[Node, Sequence[tuple[Block, int]]]


def with_whole_masked_stores(program: Program) -> Program:
    if not any(step.target == "store_picked" and is_array(step.args[2]) for step in program.steps):
        return program
    owners, users = find_owners(program), find_users(program)
    blocks = tuple(_whole_stores(block, owners, users) for block in program.blocks)
    return replace(program, blocks=blocks)


def _whole_stores(block: Block, owners: Owners, users: Users) -> Block:
    steps: list[Node] = list(block.steps)
    for store in block.steps:
        if store.target != "store_picked" or not is_array(store.args[2]):
            continue
        found = _Chain(block, store, owners, users)
        if not found.collect(store.args[2]) or not found.is_undisturbed():
            continue
        array, mask, value = store.args
        whole = replace(store, args=(array, mask, found.wholes[value]), params={**store.params, "whole": True})
        gone = {*found.wholes, store}
        place = steps.index(store)
        steps[place : place + 1] = [*(new for old, new in found.wholes.items() if old.target == "map"), whole]
        steps = [step for step in steps if step not in gone]
    return replace(block, steps=tuple(steps))


class _Chain:
    """What a masked store's value is made of: picks by the same mask, and maps of these that nobody else reads."""

    def __init__(self, block: Block, store: Node, owners: Owners, users: Users) -> None:
        self.block, self.store, self.owners, self.users = block, store, owners, users
        self.array, self.mask, _ = store.args
        self.wholes: dict[Node, Node] = {}  # picks and maps, and the whole arrays that stand for them

    def collect(self, value: Node) -> bool:
        """Find the whole arrays for a value and all that it is made of, operands first."""
        if value in self.wholes:
            return True
        if value not in self.block.steps or not self._is_read_here(value):
            return False
        if value.target == "pick":
            source, mask = value.args
            is_apart = source is self.array or self.owners[source].isdisjoint(self.owners[self.array])
            if mask is not self.mask or source.type.ndim != self.array.type.ndim or not is_apart:
                return False
            self.wholes[value] = source
            return True
        parts = [part for part in value.args if is_array(part)]
        if value.target != "map" or not parts or not all(map(self.collect, parts)):
            return False
        args = tuple(self.wholes[part] if is_array(part) else part for part in value.args)
        type = RankedType(value.type.dtype, self.array.type.ndim, DENSE)
        self.wholes[value] = replace(value, name=f"{value.name}_whole", args=args, type=type)
        return True

    def _is_read_here(self, value: Node) -> bool:
        """Whether only maps of the block and the store read it, so that it need not be in memory."""
        readers = [(block, number) for block, number in self.users.get(value, ())]
        return all(
            block is self.block
            and number < len(block.steps)
            and (block.steps[number].target == "map" or block.steps[number] is self.store)
            for block, number in readers
        ) and (len(readers) == 1 or value.target == "pick")

    def is_undisturbed(self) -> bool:
        """Whether nothing that is read is written between the first of the picks and the store."""
        numbers = [self.block.steps.index(node) for node in self.wholes]
        end = self.block.steps.index(self.store)
        read = self.owners[self.mask].union(
            *(self.owners[source] for pick, source in self.wholes.items() if pick.target == "pick")
        )
        between = self.block.steps[min(numbers) : end]
        written = [step for step in between if step.target in STORES]
        is_kept = all(self.owners[step.args[0]].isdisjoint(read) for step in written)
        has_map = any(node.target == "map" for node in self.wholes)
        is_apart = self.owners[self.mask].isdisjoint(self.owners[self.array])
        return has_map and is_kept and is_apart and self._are_all_ours()

    def _are_all_ours(self) -> bool:
        """Whether the picks are read by the chain alone."""
        return all(
            block.steps[number] in self.wholes or block.steps[number] is self.store
            for node in self.wholes
            for block, number in self.users.get(node, ())
        )
