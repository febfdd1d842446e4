"""Devices that are not present, as JAX describes them to a compiler."""

import importlib.util
import math

import click

# From a device's data sheet and CUDA's queries, in the form of XLA's `GpuTargetConfigProto`.
H100 = """
gpu_device_info {
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  shared_memory_per_block_optin: 232448
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: 84978434048
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  cuda_compute_capability { major: 9 minor: 0 }
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""


def describe_devices(topology):
    """The devices of a `Topology`, for which programs can be compiled but not run."""
    from jax.experimental import topologies

    if topology.is_gpu:
        return topologies.get_topology_desc(
            topology.kind, "cuda", target_config=H100, topology=f"1x1x{topology.num_chips}"
        ).devices
    if importlib.util.find_spec("libtpu") is None:
        raise click.ClickException(
            "The compiler for TPUs, libtpu, is not installed here: make tpu-environment, and use "
            "the Python of .venv-tpu."
        )
    sides = (*topology.sides, 1, 1)[:3]
    # A host has four chips or more unless there are fewer.
    bounds = {} if math.prod(sides) >= 4 else {"chips_per_host_bounds": list(sides)}
    return topologies.get_topology_desc(str(topology), "tpu", **bounds).devices
