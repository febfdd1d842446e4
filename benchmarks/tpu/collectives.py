"""Communication between chips in a compiled program."""

import math
import re
from typing import NamedTuple

OPCODES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")


class Collective(NamedTuple):
    """One exchange.

    Attributes:
        kind: One of `OPCODES`.
        num_bytes: Bytes that a chip contributes.
        group_size: Chips that take part together.
        label: Name of the operation in the program.
    """

    kind: str
    num_bytes: float
    group_size: int
    label: str

    @property
    def sent_bytes(self):
        """Bytes that a chip sends, using the algorithms that send the fewest."""
        others = self.group_size - 1
        return (
            self.num_bytes
            * {
                "all-reduce": 2 * others / self.group_size,
                "all-gather": others,
                "reduce-scatter": others / self.group_size,
                "all-to-all": others / self.group_size,
                "collective-permute": 1,
            }[self.kind]
        )


def collectives_of(instruction, computation, program, num_chips):
    """The exchanges in an instruction other than a loop, and in what it runs.

    Args:
        instruction: An `Instruction` of `computation`.
        computation: A dictionary of `Instruction`s.
        program: The `Program`.
        num_chips: Chips that run the program.

    Returns:
        List of `Collective`s.
    """
    kind = instruction.opcode.removesuffix("-start")
    if kind in OPCODES:
        operands = (computation[name] for name in instruction.operands)
        num_bytes = sum(array.num_bytes for one in operands for array in one.results)
        size = group_size(instruction.text, num_chips)
        return [Collective(kind, num_bytes, size, instruction.label)]
    return [
        collective
        for name in instruction.called
        for inner in program.computations[name].values()
        for collective in collectives_of(inner, program.computations[name], program, num_chips)
    ]


def group_size(text, num_chips):
    """Chips of a group, in any of the ways in which XLA writes groups of devices."""
    mesh = re.search(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}", text)
    if mesh:
        sides = dict(re.findall(r"'(\w+)'=(\d+)", mesh[1]))
        return math.prod(int(sides[name]) for name in re.findall(r"'(\w+)'", mesh[2]))
    tiled = re.search(r"replica_groups=\[\d+,(\d+)\]", text)
    if tiled:
        return int(tiled[1])
    listed = re.search(r"replica_groups=\{\{([\d,]+)\}", text)
    return len(listed[1].split(",")) if listed else num_chips
