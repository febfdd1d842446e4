"""Times of a compiled program, projected from a chip's published figures."""

import re
from typing import NamedTuple

from benchmarks.tpu.collectives import Collective, collectives_of
from benchmarks.tpu.flops import matrix_flops
from benchmarks.tpu.traffic import memory_bytes


class Cost(NamedTuple):
    """One instruction's share of a step on one chip.

    Attributes:
        label: Name of the operation, see `short_label`.
        flops: Operations of its matrix products.
        num_bytes: Bytes to and from main memory.
        cycles: Cycles that the compiler expects, or None.
        collectives: List of `Collective`s.
        rounds: Number of times it runs.
        starts: Its name if it only starts a copy or an exchange, which runs beside others.
        awaits: Name of what it waits for, if that is all it does.
    """

    label: str
    flops: float
    num_bytes: float
    cycles: int | None
    collectives: list[Collective]
    rounds: int = 1
    starts: str | None = None
    awaits: str | None = None

    def seconds(self, topology):
        """The longest of the times for products, memory and exchanges."""
        chip = topology.chip
        work = max(self.flops / chip.flops, self.num_bytes / chip.bandwidth)
        return self.rounds * (work + self._exchange_seconds(topology))

    def expected_seconds(self, topology):
        """The compiler's own estimate, or `seconds` if it has none."""
        if self.cycles is None:
            return self.seconds(topology)
        work = self.cycles / topology.chip.clock
        return self.rounds * (work + self._exchange_seconds(topology))

    def _exchange_seconds(self, topology):
        sent = sum(one.sent_bytes for one in self.collectives)
        return sent / topology.link_bandwidth if sent else 0.0


def duration(costs, topology, seconds):
    """Seconds of a program.

    Instructions follow one another. Started work runs beside them until something waits for it;
    copies run one after another, and so do exchanges.

    Args:
        costs: The `Cost`s of a program in order.
        topology: The `Topology` that runs it.
        seconds: `Cost.seconds` or `Cost.expected_seconds`.
    """
    now, ends, free = 0.0, {}, {"memory": 0.0, "links": 0.0}
    for cost in costs:
        if cost.starts:
            engine = "links" if cost.collectives else "memory"
            free[engine] = max(now, free[engine]) + seconds(cost, topology)
            ends[cost.starts] = free[engine]
        elif cost.awaits:
            now = max(now, ends.get(cost.awaits, now))
        else:
            now += seconds(cost, topology)
    # Nothing is faster than memory, however much runs side by side.
    moved = sum(cost.rounds * cost.num_bytes for cost in costs)
    return max(now, *free.values(), moved / topology.chip.bandwidth)


def costs_of(program, num_chips):
    """The `Cost` of every instruction of a program, those of loops and branches one by one."""
    return _costs(program.computations[program.entry], program, num_chips, 1)


def _costs(computation, program, num_chips, rounds):
    costs = []
    for instruction in computation.values():
        if instruction.opcode in ("while", "call", "conditional"):
            inside = rounds * program.rounds(instruction)
            for name in instruction.called:
                costs += _costs(program.computations[name], program, num_chips, inside)
        else:
            cost = _cost(instruction, computation, program, num_chips, rounds)
            if cost.flops or cost.num_bytes or cost.cycles or cost.collectives or cost.awaits:
                costs.append(cost)
    return costs


def _cost(instruction, computation, program, num_chips, rounds):
    collectives = collectives_of(instruction, computation, program, num_chips)
    label = short_label(instruction.label)
    if instruction.opcode in ("copy-start", "slice-start"):
        label = "copy to or from vector memory"
    elif collectives:
        label = collectives[0].kind  # It joins many tensors, named after any of them.
    return Cost(
        label,
        matrix_flops(instruction, computation, program),
        # An exchange reads and writes memory while it sends, which takes less long.
        0 if collectives else memory_bytes(instruction, computation, program),
        None if collectives else instruction.estimated_cycles,
        collectives,
        rounds,
        starts=instruction.name if instruction.opcode.endswith("-start") else None,
        awaits=instruction.operands[0] if instruction.opcode.endswith("-done") else None,
    )


def short_label(label):
    """Names the layers and the operation: the same for equal layers, with a mark for backward."""
    backward = "transpose(jvp" in label
    label = re.sub(r"jit\(train_step\)/|jvp\((\w*)\)", r"\1", label)
    label = re.sub(r"transpose\((\w*)\)", r"\1", label)
    label = re.sub(r"jit\(_?(\w+)\)", r"\1", label)
    label = re.sub(r"(transformer_backbone|while|body|closed_call)/", "", label)
    label = re.sub(r"[._]\d+(?=/|$)", "", label).strip("/")
    return f"{label}, backward" if backward else label
