"""The programs of the package, lowered for chips that need not be present."""

import math
from typing import Literal, NamedTuple

from benchmarks.tpu.chips import read_topology
from benchmarks.tpu.devices import describe_devices
from benchmarks.tpu.flops import training_flops
from benchmarks.training_recipe import training_recipe


class Configuration(NamedTuple):
    """A program, its shapes and its chips.

    Attributes:
        program: `"train"`, a training step, or `"search"`, the search of `translate`.
        preset: Name of an architecture without `transformer_`.
        topology: Chips, such as `v5e:2x2`.
        model_parallel: Chips that share a model; the others have copies of it.
        rows: Rows of a batch per copy of the model.
        source_length: Positions of a row's sources.
        target_length: Positions of a row's targets; for a search, its maximum length.
        vocabulary_size: Number of tokens.
        precision: A Keras dtype policy.
        num_layers: Layers of encoder and decoder instead of the preset's; 0 keeps the preset's.
        num_beams: Beams of a search.
    """

    program: Literal["train", "search"]
    preset: str
    topology: str
    model_parallel: int
    rows: int
    source_length: int
    target_length: int
    vocabulary_size: int = 37_000
    precision: str = "mixed_bfloat16"
    num_layers: int = 0
    num_beams: int = 4

    num_copies = property(
        lambda self: read_topology(self.topology).num_chips // self.model_parallel
    )

    @property
    def name(self):
        """Name of the file of its results."""
        parts = [self.program, self.preset, self.topology.replace(":", "-"), self.precision]
        parts += [f"{self.rows}x{self.source_length}x{self.target_length}"]
        parts += [f"v{self.vocabulary_size}", f"parallel{self.model_parallel}"]
        parts += [f"layers{self.num_layers}"] if self.num_layers else []
        parts += [f"beams{self.num_beams}"] if self.program == "search" else []
        return "_".join(parts)

    @property
    def target_tokens(self):
        """Target positions of a step on all chips."""
        return self.rows * self.num_copies * self.target_length

    def chip_flops(self, backbone):
        """Matrix operations of the model itself on one chip, in a training step."""
        shape = self.rows, self.source_length, self.target_length
        return training_flops(backbone, *shape) / self.model_parallel


def build_model(configuration):
    """The `TransformerSeq2SeqLM` that a recipe makes, laid out over virtual CPU devices.

    Returns:
        The model, and the function that gives the context in which its step is lowered.
    """
    import keras

    from aiayn_keras.backend.devices import BATCH

    size, copies = configuration.model_parallel, configuration.num_copies
    layout = {"devices": "model_parallel", "model_parallel_size": size} if size > 1 else {}
    recipe = training_recipe(
        configuration.preset,
        configuration.vocabulary_size,
        configuration.num_layers,
        precision=configuration.precision,
        **layout,
    )
    scope = recipe.open_devices().scope
    with scope():
        model = recipe.build_model(configuration.vocabulary_size)
        if configuration.program == "train":
            model.optimizer.build(model.trainable_variables)
    if size == 1 and copies > 1 and configuration.program == "train":
        # One copy of the weights is enough to lower the step; the devices give the mesh its size.
        mesh = keras.distribution.DeviceMesh(
            (copies,), [BATCH], keras.distribution.list_devices()[:copies]
        )
        scope = keras.distribution.DataParallel(device_mesh=mesh, auto_shard_dataset=False).scope
    return model, scope


class Placement:
    """The chips of a topology as a mesh, on which shapes of arrays are placed.

    Args:
        configuration: A `Configuration`.
    """

    def __init__(self, configuration):
        import jax
        import numpy as np

        from aiayn_keras.backend.devices import BATCH, MODEL

        devices = np.array(describe_devices(read_topology(configuration.topology)))
        shape = configuration.num_copies, configuration.model_parallel
        axes = 2 if configuration.model_parallel > 1 else 1  # as Keras' distributions have them
        self.mesh = jax.sharding.Mesh(devices.reshape(shape[:axes]), (BATCH, MODEL)[:axes])
        self._batch_axis = BATCH

    def variable(self, variable):
        """Shape of a variable of a model from `build_model`, laid out as there."""
        import jax

        spec = getattr(variable.value.sharding, "spec", jax.sharding.PartitionSpec())
        return self._shape(variable.shape, variable.dtype, spec)

    def rows(self, shape, dtype):
        """Shape of an array whose rows are divided among the copies of the model."""
        import jax

        spec = jax.sharding.PartitionSpec(self._batch_axis if shape[0] > 1 else None)
        return self._shape(shape, dtype, spec)

    def scalar(self, dtype):
        """Shape of a number that every chip has."""
        import jax

        return self._shape((), dtype, jax.sharding.PartitionSpec())

    def _shape(self, shape, dtype, spec):
        import jax

        sharding = jax.sharding.NamedSharding(self.mesh, spec)
        return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def lower(configuration, model):
    """Lowers a configuration's program for its chips, a `jax.stages.Lowered`."""
    make = {"train": _lower_training_step, "search": _lower_search}[configuration.program]
    return make(configuration, model, Placement(configuration))


def _lower_training_step(configuration, model, placement):
    """The step of `fit`, compiled like Keras' JAX trainer, which donates the state."""
    import jax

    B = configuration.rows * configuration.num_copies
    S, T = configuration.source_length, configuration.target_length
    sides = {"encoder": (B, S), "decoder": (B, T)}
    x = {name: placement.rows(sides[name.partition("_")[0]], "int32") for name in model.input}
    data = x, placement.rows((B, T), "int32"), placement.rows((B, T), "float32")
    state = tuple(
        [placement.variable(variable) for variable in variables]
        for variables in (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
            model.metrics_variables,
        )
    )
    out = (None, jax.tree.map(lambda shape: shape.sharding, state))
    step = jax.jit(model.train_step, donate_argnums=0, out_shardings=out)
    return step.lower(state, data)


def _lower_search(configuration, model, placement):
    """The compiled function of `translate`, with the weights as arguments."""
    import jax
    import keras

    from aiayn_keras.decoding.search_options import SearchOptions
    from aiayn_keras.decoding.translation_search import TranslationSearch
    from benchmarks.random_models import word_tokenizer

    tokenizer = word_tokenizer(configuration.vocabulary_size)
    options = SearchOptions(configuration.num_beams)
    B = configuration.rows * configuration.num_copies
    search = TranslationSearch((model.backbone,), tokenizer, options)
    find = search.find_one if B == 1 else search.find

    def lowered(values, *tensors):
        mapping = zip(model.variables, values, strict=True)
        with keras.StatelessScope(state_mapping=mapping, initialize_variables=False):
            return find(*tensors)

    source = placement.rows((B, configuration.source_length), "int32")
    prompt = placement.rows((B, configuration.target_length), "int32")
    limits = prompt, placement.rows((B,), "int32"), placement.scalar("int32")
    values = [placement.variable(variable) for variable in model.variables]
    return jax.jit(lowered).lower(values, source, source, *limits)


def virtual_devices(configurations):
    """CPU devices that `build_model` needs.

    A shared model is built on all of them, as often as it fits; with many chips, project shared
    models and copies in separate runs.
    """
    copies = (one.num_copies for one in configurations if one.model_parallel == 1)
    shared = math.lcm(*(one.model_parallel for one in configurations))
    return math.ceil(max(copies, default=1) / shared) * shared
