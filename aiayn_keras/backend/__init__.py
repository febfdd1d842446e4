"""Everything that depends on the Keras backend; the rest of the package never asks for it."""

from aiayn_keras.backend.compilation import (
    CompiledFunctions,
    backend_name,
    build_optimizer,
    compile_inference,
    compiles_by_default,
    cond_without_lowering,
    in_parallel,
    run_one_operation_at_a_time,
    shapes_may_change,
    use_one_core_per_batch,
    variable_ids,
    while_loop,
    with_free_shapes,
)
from aiayn_keras.backend.devices import (
    Devices,
    DevicesError,
    has_accelerator,
    mean_over_replicas,
    open_devices,
)
from aiayn_keras.backend.forking import begin_computing, note_model
from aiayn_keras.backend.graph_tokenizer import GraphTokenizer
from aiayn_keras.backend.kernels import (
    append_position,
    bfloat16_products,
    cast_preprocessed,
    float32_matmul,
    float32_matmul_transposed,
    initial_length,
    pack_kernel,
    project_together,
    rounds_products,
    swap_heads,
    take,
    take_in_rows,
)
from aiayn_keras.backend.projected_loss import projected_cross_entropy, projects_in_loss
from aiayn_keras.backend.randomness import drop, seed_torch_dropout
from aiayn_keras.backend.weights_snapshot import WeightsSnapshot

__all__ = [
    "CompiledFunctions",
    "Devices",
    "DevicesError",
    "GraphTokenizer",
    "WeightsSnapshot",
    "append_position",
    "backend_name",
    "begin_computing",
    "bfloat16_products",
    "build_optimizer",
    "cast_preprocessed",
    "compile_inference",
    "compiles_by_default",
    "cond_without_lowering",
    "drop",
    "float32_matmul",
    "float32_matmul_transposed",
    "has_accelerator",
    "in_parallel",
    "initial_length",
    "mean_over_replicas",
    "note_model",
    "open_devices",
    "pack_kernel",
    "project_together",
    "projected_cross_entropy",
    "projects_in_loss",
    "rounds_products",
    "run_one_operation_at_a_time",
    "seed_torch_dropout",
    "shapes_may_change",
    "swap_heads",
    "take",
    "take_in_rows",
    "use_one_core_per_batch",
    "variable_ids",
    "while_loop",
    "with_free_shapes",
]
