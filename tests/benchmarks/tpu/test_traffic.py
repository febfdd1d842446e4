"""Bytes to and from main memory are counted once, and not those that stay on the chip."""

import pytest

from benchmarks.tpu.hlo import read_program
from benchmarks.tpu.traffic import memory_bytes

PROGRAM = """
%lookup (table: f32[1000,128], ids: s32[4]) -> f32[4,128] {
  %table = f32[1000,128]{1,0} parameter(0)
  %ids = s32[4]{0} parameter(1)
  %same = f32[1000,128]{1,0} bitcast(%table)
  ROOT %rows = f32[4,128]{1,0} gather(%same, %ids), offset_dims={1}
}

%outer (table.1: f32[1000,128], ids.1: s32[4]) -> f32[4,128] {
  %table.1 = f32[1000,128]{1,0} parameter(0)
  %ids.1 = s32[4]{0} parameter(1)
  ROOT %nested = f32[4,128]{1,0} fusion(%table.1, %ids.1), kind=kLoop, calls=%lookup
}

%write (stack: f32[10,8,128], part: f32[1,8,128], i: s32[]) -> f32[10,8,128] {
  %stack = f32[10,8,128]{2,1,0} parameter(0)
  %part = f32[1,8,128]{2,1,0} parameter(1)
  %i = s32[] parameter(2)
  ROOT %put = f32[10,8,128]{2,1,0} dynamic-update-slice(%stack, %part, %i, %i, %i)
}

%two (z: f32[8,128]) -> (f32[8,128], bf16[8,128]) {
  %z = f32[8,128]{1,0} parameter(0)
  %half = bf16[8,128]{1,0} convert(%z)
  ROOT %both = (f32[8,128]{1,0}, bf16[8,128]{1,0}) tuple(%z, %half)
}

ENTRY %main (a: f32[1000,128]) -> f32[8,128] {
  %a = f32[1000,128]{1,0} parameter(0)
  %ids.2 = s32[4]{0:S(1)} parameter(1)
  %stack.1 = f32[10,8,128]{2,1,0} parameter(2)
  %part.1 = f32[1,8,128]{2,1,0} parameter(3)
  %i.1 = s32[]{:S(6)} parameter(4)
  %x = f32[8,128]{1,0} parameter(5)
  %embed = f32[4,128]{1,0} fusion(%a, %ids.2), kind=kLoop, calls=%outer
  %store = f32[10,8,128]{2,1,0} fusion(%stack.1, %part.1, %i.1), kind=kLoop, calls=%write
  %pair = (f32[8,128]{1,0:S(1)}, bf16[8,128]{1,0}) fusion(%x), kind=kLoop, calls=%two
  %fetch = (f32[8,128]{1,0:S(1)}, f32[8,128]{1,0}, u32[]{:S(2)}) copy-start(%x)
  %fetched = f32[8,128]{1,0:S(1)} copy-done(%fetch)
  %part-of-a = ((f32[1000,128]{1,0}), f32[16,128]{1,0:S(1)}, s32[]{:S(2)}) slice-start(%a), slice={[0:16], [0:128]}
  %on-chip = f32[8,128]{1,0:S(1)} add(%fetched, %fetched)
  %view = f32[8,128]{1,0} bitcast(%x)
  ROOT %sum = f32[8,128]{1,0} add(%on-chip, %view)
}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("name", "num_bytes"),
    [
        ("embed", 2 * 4 * 128 * 4),  # 4 rows of the table read, and written
        ("store", 2 * 8 * 128 * 4),  # the part read, and its place in the stack written
        ("pair", 8 * 128 * 4 + 8 * 128 * 2),  # x read, the half written; the rest stays
        ("fetch", 8 * 128 * 4),
        ("fetched", 0),
        ("part-of-a", 16 * 128 * 4),
        ("on-chip", 0),
        ("view", 0),
        ("sum", 2 * 8 * 128 * 4),
    ],
)
def test_bytes_of_an_instruction(name, num_bytes):
    program = read_program(PROGRAM)
    instructions = program.computations["main"]
    assert memory_bytes(instructions[name], instructions, program) == num_bytes
