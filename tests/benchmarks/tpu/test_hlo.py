"""The text of a compiled program is read into instructions."""

import pytest

from benchmarks.tpu.hlo import read_arrays, read_program

PROGRAM = """
HloModule jit_f, is_scheduled=true

%inner (p: f32[2,3], q: f32[3]) -> f32[2,3] {
  %p = f32[2,3]{1,0:T(8,128)} parameter(0)
  %q = f32[3]{0:T(128)} parameter(1)
  ROOT %add.1 = f32[2,3]{1,0:T(8,128)} add(%p, %q)
}

%eleven (s: (s32[], f32[])) -> pred[] {
  %s = (s32[]{:T(128)}, f32[]) parameter(0)
  %i = s32[]{:T(128)} get-tuple-element(%s), index=0
  %limit = s32[]{:T(128)} constant(11)
  ROOT %less = pred[]{:T(512)} compare(%i, %limit), direction=LT
}

%unknown (r: (s32[], f32[])) -> pred[] {
  %r = (s32[]{:T(128)}, f32[]) parameter(0)
  %j = s32[]{:T(128)} get-tuple-element(%r), index=0
  %much = s32[]{:T(128)} constant(11)
  %first = pred[]{:T(512)} compare(%j, %much), direction=LT
  ROOT %both = pred[]{:T(512)} and(%first, %first)
}

ENTRY %main.7 (a: f32[2,3], b: f32[3]) -> (f32[2,3], s32[]) {
  %a = f32[2,3]{1,0:T(8,128)} parameter(0), metadata={op_name="x"}
  %b = f32[3]{0:T(128)} parameter(1)
  %f.1 = f32[2,3]{1,0:T(8,128)S(1)} fusion(%a, /*index=1*/%b), kind=kLoop, calls=%inner, metadata={op_name="jit(f)/layer/add"}, backend_config={"window_config":{"estimated_cycles":"1829"}}
  %w = (f32[2,3]{1,0}, s32[]) while(%f.1), condition=%c, body=%inner, backend_config={"known_trip_count":{"n":"5"}}
  %v = (f32[2,3]{1,0}, s32[]) while(%w), condition=%eleven, body=%inner
  %u = (f32[2,3]{1,0}, s32[]) while(%w), condition=%unknown, body=%inner
  ROOT %t = (f32[2,3]{1,0:T(8,128)}, /*index=1*/s32[]{:T(128)S(6)}) tuple(%f.1, %b)
}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("text", "num_bytes", "in_main_memory"),
    [
        ("f32[]", 4, True),
        ("f32[]{:T(128)S(6)}", 4, False),
        ("pred[2,3]", 6, True),
        ("bf16[3,5]{1,0:T(8,128)(2,1)}", 8 * 128 * 2, True),
        ("f32[7]{0:T(128)}", 28, True),
        # The innermost dimension is the third one, 250 padded to 256; then the last, 60 to 64.
        ("f32[2,3,250,60]{2,3,1,0:T(8,128)S(1)}", 2 * 3 * 256 * 64 * 4, False),
        ("f8e4m3fn[10]{0}", 10, True),
        ("s4[10]{0}", 5, True),
        ("token[]", 0, True),
    ],
)
def test_bytes_and_memory_of_an_array(text, num_bytes, in_main_memory):
    (array,) = read_arrays(text)
    assert array.num_bytes == num_bytes
    assert array.in_main_memory is in_main_memory


def test_instructions_are_read_with_what_they_read_and_run():
    program = read_program(PROGRAM)
    assert program.entry == "main.7"
    assert list(program.computations) == ["inner", "eleven", "unknown", "main.7"]
    fusion = program.computations["main.7"]["f.1"]
    assert (fusion.opcode, fusion.operands, fusion.called) == ("fusion", ["a", "b"], ["inner"])
    assert [array.dims for array in fusion.results] == [(2, 3)]
    assert fusion.label == "jit(f)/layer/add"
    assert fusion.estimated_cycles == 1829
    assert not fusion.is_root


def test_a_tuple_has_several_results():
    result = read_program(PROGRAM).computations["main.7"]["t"]
    assert result.is_root
    assert [(array.dtype, array.dims) for array in result.results] == [("f32", (2, 3)), ("s32", ())]


def test_rounds_of_a_loop_are_told_or_read_from_its_condition():
    program = read_program(PROGRAM)
    instructions = program.computations["main.7"]
    assert instructions["w"].called == ["inner"]
    rounds = {name: program.rounds(instructions[name]) for name in ("w", "v", "u", "f.1")}
    assert rounds == {"w": 5, "v": 11, "u": 1, "f.1": 1}
    assert instructions["a"].estimated_cycles is None
