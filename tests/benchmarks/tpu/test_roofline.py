"""Times are projected from what a program does and a chip can."""

import pytest

from benchmarks.tpu.chips import CHIPS, peak_flops, read_topology
from benchmarks.tpu.collectives import Collective, group_size
from benchmarks.tpu.hlo import read_program
from benchmarks.tpu.projection import bisect_largest, count_host_callbacks
from benchmarks.tpu.roofline import Cost, costs_of, duration, short_label

PROGRAM = """
%body (s: f32[1024,1024]) -> f32[1024,1024] {
  %s = f32[1024,1024]{1,0} parameter(0)
  ROOT %r = f32[1024,1024]{1,0} all-reduce(%s), replica_groups={{0,1,2,3}}, to_apply=%sum
}

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

ENTRY %main (x: f32[1024,1024]) -> f32[1024,1024] {
  %x = f32[1024,1024]{1,0} parameter(0)
  %y = f32[1024,1024]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %w = f32[1024,1024]{1,0} while(%y), condition=%sum, body=%body, backend_config={"known_trip_count":{"n":"3"}}
}
"""  # noqa: E501


def test_products_and_exchanges_are_added_each_round_of_a_loop_counted():
    topology = read_topology("v5e:2x2")
    product, exchange = costs_of(read_program(PROGRAM), topology.num_chips)
    assert product.flops == 2 * 1024**3
    assert product.num_bytes == 3 * 4 * 2**20
    # Three arrays of 4 MiB at 819 GB/s take longer than 2 GFLOP at 197 TFLOP/s.
    assert product.seconds(topology) == pytest.approx(3 * 4 * 2**20 / 819e9)
    # In a ring of 4 a chip sends 3/4 of the array twice; in a grid of 2 × 2 it has two links.
    assert exchange.rounds == 3
    assert exchange.seconds(topology) == pytest.approx(3 * 1.5 * 4 * 2**20 / 100e9)


def test_the_compilers_cycles_go_before_the_roofline():
    topology = read_topology("v5e:1x1")
    assert Cost("x", 197e12, 0, 3_000_000, []).expected_seconds(topology) == 2e-3
    assert Cost("x", 197e12, 0, None, []).expected_seconds(topology) == 1


def test_a_copy_runs_beside_others_until_something_waits_for_it():
    topology = read_topology("v5e:1x1")
    second_of_work = Cost("product", 197e12, 0, None, [])
    copies = [Cost("copy", 0, 819e9 * 1.5, None, [], starts=name) for name in "ab"]
    wait = [Cost("", 0, 0, None, [], awaits=name) for name in "ab"]
    # The copies take turns and end after 1.5 and 3 seconds.
    costs = [*copies, second_of_work, wait[0], second_of_work, wait[1], second_of_work]
    assert duration(costs, topology, Cost.seconds) == pytest.approx(4)
    assert duration(costs[:3], topology, Cost.seconds) == pytest.approx(3)


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("all-reduce", 2 * 300),
        ("all-gather", 3 * 400),
        ("reduce-scatter", 300),
        ("all-to-all", 300),
        ("collective-permute", 400),
    ],
)
def test_bytes_that_a_chip_sends(kind, sent):
    assert Collective(kind, 400, 4, "").sent_bytes == sent


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("replica_groups={{0,1,2},{3,4,5}}, x", 3),
        ("replica_groups=[2,4]<=[8], x", 4),
        ("replica_groups=mesh['a'=2,'b'=8] {'b'}, x", 8),
        ("replica_groups=mesh['a'=2,'b'=8] {'a','b'}, x", 16),
        ("replica_groups={}, x", 32),
    ],
)
def test_groups_of_chips(text, size):
    assert group_size(text, 32) == size


def test_topologies():
    topology = read_topology("v5p:4x2x1")
    assert (topology.num_chips, str(topology), topology.chip) == (8, "v5p:4x2x1", CHIPS["v5p"])
    assert topology.link_bandwidth == 3 * 100e9
    for text in ("v4:2x2", "v5e", "v5e:", "v5e:2x"):
        with pytest.raises(ValueError, match="topology"):
            read_topology(text)


def test_peaks_are_found_by_the_longest_name():
    assert peak_flops("TPU v5 lite") == 197e12
    assert peak_flops("TPU v5") == 459e12
    assert peak_flops("NVIDIA H100 80GB HBM3") == 989e12
    assert peak_flops("cpu") is None


def test_equal_layers_share_a_label():
    label = "jit(train_step)/{}/encoder_block_{}/feed_forward/output/dot_general"
    forward, other = (short_label(label.format("jvp(transformer_backbone)", i)) for i in (0, 1))
    assert forward == other == "encoder_block/feed_forward/output/dot_general"
    backward = short_label(label.format("transpose(jvp(transformer_backbone))", 1))
    assert backward == f"{forward}, backward"


@pytest.mark.parametrize("most", [5, 8, 23, 64])
def test_the_largest_batch_is_found_to_an_eighth(most):
    found = bisect_largest(lambda rows: rows <= most, 5)
    assert found <= most <= found + max(1, found // 8)


def test_calls_to_the_host_are_counted():
    text = '%a = f32[] custom-call(), custom_call_target="xla_python_cpu_callback"\n%b = f32[] b()'
    assert count_host_callbacks(text) == 1
