"""Published figures of accelerators, used to project times."""

import math
from typing import NamedTuple

GIBIBYTE = 2**30


class Chip(NamedTuple):
    """One TPU chip (https://cloud.google.com/tpu/docs/system-architecture-tpu-vm), or one GPU.

    Attributes:
        flops: Matrix operations per second in bfloat16; a product and its sum count as two.
        memory: Bytes of its memory (HBM).
        bandwidth: Bytes per second from or to this memory.
        link_bandwidth: Bytes per second that one link to a neighbour carries in one direction; for
            a GPU, all that it sends through the switch between GPUs.
        clock: Cycles per second of its matrix units, `flops` over their operations per cycle.
    """

    flops: float
    memory: float
    bandwidth: float
    link_bandwidth: float
    clock: float


CHIPS = {
    # 1,600, 4,800 and 3,584 Gbit/s a chip over 4, 6 and 4 links; 4 and 8 units of 128 × 128, 4 of
    # 256 × 256.
    "v5e": Chip(197e12, 16 * GIBIBYTE, 819e9, 50e9, 1.50e9),
    "v5p": Chip(459e12, 95 * GIBIBYTE, 2765e9, 100e9, 1.75e9),
    "v6e": Chip(918e12, 32 * GIBIBYTE, 1640e9, 112e9, 1.75e9),
    "h100": Chip(989e12, 80e9, 3350e9, 450e9, 1.755e9),  # SXM
}

PEAK_FLOPS = {
    "TPU v5 lite": CHIPS["v5e"].flops,
    "TPU v5": CHIPS["v5p"].flops,
    "TPU v6 lite": CHIPS["v6e"].flops,
    "NVIDIA H100": CHIPS["h100"].flops,
    "NVIDIA A100": 312e12,
    "NVIDIA L4": 121e12,
    "Tesla T4": 65e12,
}
"""Dense matrix operations per second in half precision, by the prefix of a device's name."""


class Topology(NamedTuple):
    """Chips in a grid, or GPUs on a switch, whose grid has one side.

    Attributes:
        kind: A key of `CHIPS`.
        sides: Lengths of the grid's sides.
    """

    kind: str
    sides: tuple

    chip = property(lambda self: CHIPS[self.kind])
    num_chips = property(lambda self: math.prod(self.sides))
    is_gpu = property(lambda self: self.kind == "h100")

    def __str__(self):
        return f"{self.kind}:{'x'.join(map(str, self.sides))}"

    @property
    def link_bandwidth(self):
        """Bytes per second that a chip can send: a side of two chips has one link, longer ones two.

        A chip at the end of a side that is not a closed ring has one link fewer, and its
        neighbours make up for it; all chips are counted like those inside.
        """
        if self.is_gpu:
            return self.chip.link_bandwidth
        return self.chip.link_bandwidth * sum(min(side - 1, 2) for side in self.sides)


def read_topology(text):
    """Reads `v5e:4x4`.

    Raises:
        ValueError: If the form is different or the chip unknown.
    """
    kind, _, sides = text.partition(":")
    if kind not in CHIPS or not sides or not all(side.isdigit() for side in sides.split("x")):
        raise ValueError(
            f"A topology is one of {', '.join(CHIPS)} and the sides of the grid, like v5e:2x2. "
            f"Received: {text}."
        )
    return Topology(kind, tuple(int(side) for side in sides.split("x")))


def peak_flops(device_name):
    """The published peak of a device by its name, or None."""
    names = [name for name in PEAK_FLOPS if device_name.startswith(name)]
    return PEAK_FLOPS[max(names, key=len)] if names else None
