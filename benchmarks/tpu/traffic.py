"""Bytes that an instruction of a compiled program moves to and from the chip's memory."""

FREE = {
    "after-all",
    "bitcast",
    "constant",
    "get-tuple-element",
    "iota",
    "parameter",
    "partition-id",
    "replica-id",
    "tuple",
}
"""Instructions that only name existing arrays, or make them on the chip."""

_VIEWS = ('custom_call_target="ConcatBitcast"', 'custom_call_target="AssumeGatherIndicesInBound"')


def memory_bytes(instruction, computation, program):
    """Bytes read from main memory and written to it.

    Arrays in vector memory are not counted. A copy that runs beside other work counts once, where
    it starts. If an instruction reads or writes a slice of an array, only the slice counts.

    Args:
        instruction: An `Instruction` of `computation` that runs no loop or branch.
        computation: A dictionary of `Instruction`s.
        program: The `Program`.
    """
    opcode = instruction.opcode
    if opcode in FREE or opcode.endswith("-done") or any(v in instruction.text for v in _VIEWS):
        return 0
    if opcode in ("copy-start", "slice-start"):
        return _copied(instruction, computation)
    reads = sum(
        _in_main_memory(computation[name], 1.0) and _read(instruction, place, computation, program)
        for place, name in enumerate(instruction.operands)
    )
    return reads + _written(instruction, computation, program)


def _in_main_memory(instruction, num_bytes):
    arrays = instruction.results
    return num_bytes if len(arrays) == 1 and arrays[0].in_main_memory else 0


def _whole(instruction):
    """Bytes of an instruction's results in main memory, without scratch memory."""
    is_library = "__cublas" in instruction.text
    results = instruction.results[:1] if is_library else instruction.results
    return sum(array.num_bytes for array in results if array.in_main_memory)


def _size(instruction):
    """Bytes of an instruction's results, wherever they lie."""
    return sum(array.num_bytes for array in instruction.results)


def _copied(start, computation):
    """A copy begins with its results: target and source, or for a slice source and target."""
    source = computation[start.operands[0]].results[0]
    target = start.results[0 if start.opcode == "copy-start" else -2]
    return target.num_bytes * (source.in_main_memory + target.in_main_memory)


def _read(user, place, computation, program):
    """Bytes that an instruction reads from its operand at `place`."""
    whole = _size(computation[user.operands[place]])
    if user.opcode in ("dynamic-slice", "slice", "gather") and place == 0:
        return min(whole, _size(user))
    if user.opcode == "dynamic-update-slice" and place == 0:
        return 0
    if user.opcode != "fusion":
        return whole
    inner = program.computations[user.called[0]]
    parameter = next(p for p in inner.values() if f" parameter({place})" in p.text)
    return min(whole, _read_by_users(parameter.name, inner, program))


def _read_by_users(name, computation, program):
    """Bytes that the instructions of a fusion read from one of them."""
    total = 0
    for user in computation.values():
        for place, operand in enumerate(user.operands):
            if operand == name:
                total += (
                    _read_by_users(user.name, computation, program)
                    if user.opcode == "bitcast"
                    else _read(user, place, computation, program)
                )
    return total


def _written(instruction, computation, program):
    """Bytes that an instruction writes; for an update in place, only the update."""
    if instruction.opcode == "dynamic-update-slice":
        return _in_main_memory(instruction, _size(computation[instruction.operands[1]]))
    if instruction.opcode != "fusion":
        return _whole(instruction)
    inner = program.computations[instruction.called[0]]
    (root,) = (one for one in inner.values() if one.is_root)
    if len(instruction.results) > 1 and root.opcode != "tuple":
        return _whole(instruction)
    roots = [inner[name] for name in root.operands] if root.opcode == "tuple" else [root]
    return sum(
        (_update_size(made, inner, program) or array.num_bytes)
        for made, array in zip(roots, instruction.results, strict=True)
        if array.in_main_memory
    )


def _update_size(made, computation, program):
    """Bytes of the update if an instruction of a fusion updates an array in place, else None."""
    while made.opcode == "bitcast":
        made = computation[made.operands[0]]
    if made.opcode == "dynamic-update-slice":
        return _size(computation[made.operands[1]])
    if made.opcode == "fusion" and len(made.results) == 1:
        inner = program.computations[made.called[0]]
        (root,) = (one for one in inner.values() if one.is_root)
        return _update_size(root, inner, program)
    return None
