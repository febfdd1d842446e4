"""The text of a compiled XLA program, read into computations and instructions."""

import json
import math
import re
from typing import NamedTuple

_ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{([^}]*)\})?")
_COMPUTATION = re.compile(r"^(?:(ENTRY) )?%?([\w.-]+) \(.*\{$")
_NAME = re.compile(r"^\s+(?:ROOT )?%?([\w.-]+) = ")
_CALLED = re.compile(
    r"\b(?:calls|to_apply|body|true_computation|false_computation|called_computations"
    r"|branch_computations)=(?:\{([^}]*)\}|%?([\w.-]+))"
)
_BITS = {"pred": 8, "s4": 4, "u4": 4, "token": 0, "opaque": 0}
VECTOR_MEMORY = "S(1)"


class Array(NamedTuple):
    """An array as laid out in memory.

    Attributes:
        dtype: The dtype as XLA writes it, such as `bf16`.
        dims: Tuple of lengths.
        layout: The text between braces after the lengths.
    """

    dtype: str
    dims: tuple
    layout: str = ""

    # Everything that is named is on the chip: vector memory, scalars, semaphores.
    in_main_memory = property(lambda self: "S(" not in self.layout)

    @property
    def num_bytes(self):
        """Bytes, with the padding of the two innermost dimensions to whole tiles."""
        bits = _BITS.get(self.dtype) or int(re.sub(r"\D", "", self.dtype.split("e")[0]) or 0)
        order = re.match(r"[\d,]+", self.layout)
        lengths = [self.dims[int(i)] for i in order[0].split(",")] if order else [*self.dims[::-1]]
        tile = re.search(r"T\(([\d,]+)\)", self.layout)
        sides = [int(side) for side in tile[1].split(",")][::-1] if tile else []
        if len(sides) == 2 and len(lengths) >= 2:  # A single row of less than a tile is not padded.
            lengths[:2] = [-(-n // side) * side for n, side in zip(lengths, sides, strict=False)]
        return math.prod(lengths) * bits / 8


class Instruction(NamedTuple):
    """One instruction.

    Attributes:
        name: Its name.
        opcode: Its kind, such as `fusion`.
        results: List of `Array`s, more than one if it returns a tuple.
        operands: Names of the instructions it reads.
        called: Names of the computations it runs.
        text: Its whole line.
    """

    name: str
    opcode: str
    results: list
    operands: list
    called: list
    text: str

    is_root = property(lambda self: self.text.lstrip().startswith("ROOT "))

    @property
    def label(self):
        """Its name in the program: layers and operation."""
        found = re.search(r'op_name="([^"]*)"', self.text)
        return found[1] if found else self.name

    @property
    def estimated_cycles(self):
        """Cycles that the TPU compiler expects, or None."""
        found = re.search(r'"estimated_cycles":"(\d+)"', self.text)
        return int(found[1]) if found else None

    def attribute(self, name):
        """The text of a simple attribute such as `dim_labels`, or an empty one."""
        found = re.search(rf"\b{name}=(\{{[^}}]*\}}|[^\s,]+)", self.text)
        return found[1] if found else ""


class Program(NamedTuple):
    """A compiled program.

    Attributes:
        entry: Name of the computation that it starts with.
        computations: Dictionary of dictionaries of `Instruction`s, by name, in order.
    """

    entry: str
    computations: dict

    def rounds(self, instruction):
        """Rounds of a loop that counts to a constant; 1 for any other loop or instruction."""
        found = re.search(r'"known_trip_count":(\{[^}]*\})', instruction.text)
        if found:
            return int(json.loads(found[1])["n"])
        condition = self.computations.get(instruction.attribute("condition").lstrip("%"), {})
        for one in condition.values():
            if one.is_root and one.opcode == "compare" and one.attribute("direction") == "LT":
                limit = re.search(r" constant\((\d+)\)", condition[one.operands[1]].text)
                return int(limit[1]) if limit else 1
        return 1


def read_program(text):
    """Reads the text returned by `jax.stages.Compiled.as_text`."""
    computations, entry, current = {}, None, None
    for line in text.splitlines():
        head = _COMPUTATION.match(line)
        if head:
            current = computations[head[2]] = {}
            entry = head[2] if head[1] else entry
        elif current is not None:
            instruction = _read_instruction(line)
            if instruction is not None:
                current[instruction.name] = instruction
    return Program(entry, computations)


def _read_instruction(line):
    name = _NAME.match(line)
    if not name:
        return None
    rest = line[name.end() :]
    # A tuple's type is in parentheses, an array's holds no space.
    end = _closing(rest) + 1 if rest.startswith("(") else rest.index(" ")
    results, rest = rest[:end], rest[end:].lstrip()
    opcode, _, rest = rest.partition("(")
    end = _closing(f"({rest}") - 1
    operands, attributes = rest[:end], rest[end:]
    called = [
        name.strip().lstrip("%")
        for group in _CALLED.findall(attributes)
        for name in (group[0] or group[1]).split(",")
    ]
    operands = re.findall(r"%([\w.-]+)", operands)
    return Instruction(name[1], opcode, read_arrays(results), operands, called, line)


def _closing(text):
    """Position of the parenthesis that closes the one at the beginning of `text`."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place
    raise ValueError(f"An instruction without end: {text[:200]}")


def read_arrays(text):
    """The `Array`s of a type such as `(f32[2,3]{1,0:T(8,128)}, s32[])`."""
    return [
        Array(dtype, tuple(int(n) for n in dims.split(",") if n), layout or "")
        for dtype, dims, layout in _ARRAY.findall(text)
    ]
