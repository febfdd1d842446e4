"""Matrix operations are counted in the program and by the model's formula."""

import keras
import pytest

from aiayn_keras import TransformerBackbone
from benchmarks.tpu.flops import forward_flops, matrix_flops, training_flops
from benchmarks.tpu.hlo import read_program

PRODUCTS = """
ENTRY %main (a: f32[2,5,7], b: f32[2,7,3]) -> f32[2,5,3] {
  %a = f32[2,5,7] parameter(0)
  %b = f32[2,7,3] parameter(1)
  %dot = f32[2,5,3] dot(%a, %b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  %x = bf16[16,256,512] parameter(2)
  %w = bf16[512,2048,1] parameter(3)
  %dense = bf16[16,256,2048] convolution(%x, %w), window={size=1}, dim_labels=0bf_io0->0bf
  %q = bf16[16,8,256,64] parameter(4)
  %k = bf16[16,8,64,128] parameter(5)
  %batched = bf16[16,8,256,128] convolution(%q, %k), window={size=16x8 stride=15x7 lhs_dilate=16x8}, dim_labels=01bf_01io->01bf
  %reversed = bf16[16,8,256,128] convolution(%q, %k), window={size=16x8 stride=16x8 pad=15_15x7_7 lhs_dilate=15x7 rhs_reversal=1x1}, dim_labels=01bf_01io->01bf
  %library = (f32[2,5,3], s8[4096]) custom-call(%a, %b), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["2"],"rhs_contracting_dimensions":["1"]}}}
  %g = bf16[16,256,3700] parameter(6)
  ROOT %gradient = bf16[3700,512,1] convolution(%g, %x), window={size=16}, dim_labels=0fb_0io->bf0
}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("name", "flops"),
    [
        ("dot", 2 * (2 * 5 * 3) * 7),
        ("library", 2 * (2 * 5 * 3) * 7),
        ("dense", 2 * (16 * 256 * 2048) * 512),
        ("batched", 2 * (16 * 8 * 256 * 128) * 64),
        ("reversed", 2 * (16 * 8 * 256 * 128) * 64),
        ("gradient", 2 * (3700 * 512) * (16 * 256)),
        ("a", 0),
    ],
)
def test_operations_of_a_product(name, flops):
    program = read_program(PRODUCTS)
    instructions = program.computations["main"]
    assert matrix_flops(instructions[name], instructions, program) == flops


def test_the_model_has_two_operations_for_a_weight_and_token():
    keras.utils.set_random_seed(0)
    backbone = TransformerBackbone(37, 2, 3, 12, 20, key_dim=4, num_decoder_layers=3)
    D, F, V, S, T, B = 12, 20, 37, 5, 7, 2
    attention, feed_forward = 4 * D * D, 2 * D * F
    source = 2 * (attention + feed_forward)  # weights that a source token meets
    source += 3 * (2 * D * D)  # the decoder's keys and values of the memory
    target = 3 * (attention + 2 * D * D + feed_forward) + V * D
    pairs = 2 * 2 * D * S * S + 3 * 2 * D * (T * T + T * S)
    expected = 2 * B * (source * S + target * T + pairs)
    assert forward_flops(backbone, B, S, T) == expected
    assert training_flops(backbone, B, S, T) == 3 * expected
