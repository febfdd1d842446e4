"""A builder of ONNX graphs: operators and weights, in the order of the calls.

It also adds attention weights as results, and inputs that switch parts of the model off.
"""

import contextlib

import numpy as np

FLOAT, INT64, BOOL = 1, 7, 9
"""ONNX's numbers of its number formats."""

_OPSET = 17
"""Version of the operators: the first with layer normalization; all runtimes have it."""
_IR_VERSION = 8
"""Version of the file format for that operator set."""

_MAX_FILE_BYTES = 2_000_000_000
"""Maximum size of a file's weights: Protocol Buffers hold less than 2 GiB."""

_HIGHEST = 63
"""Maximum value in an int8 matrix. CPUs without VNNI add two products in 16 bits, which a
product with ±127 overflows; hence the seven bits that ONNX Runtime calls a reduced range."""

_GROUP_SIZE, _HIGHEST_STORED = 32, 127
"""Weights that share a scale, and their maximum, where int8 is only the way they are stored."""
_HEAD_MASKS = {
    "encoder": "head_mask",
    "decoder": "decoder_head_mask",
    "cross": "cross_attn_head_mask",
}
"""Inputs by kind of attention, as Hugging Face's transformers calls them."""


class OnnxAuthor:
    """Writes a graph. Tensors are known by their names, which the methods take and return.

    Args:
        number_format: Number format of matrices: `"float32"`; `"int8"`, with a scale for each
            output, whose products are sums of integers; or `"int8-weights"`, stored as int8 with a
            scale for every 32 weights, and float32 to all operators.

    Attributes:
        weights: Dictionary from a tensor's name to the array that it is.
    """

    def __init__(self, number_format="float32"):
        self._number_format = number_format
        self._nodes = []
        self.weights = {}
        self._constants = {}
        self._num_names = 0

    def op(self, kind, *inputs, outputs=1, **attributes):
        """Adds an operator.

        Args:
            kind: Its name in ONNX.
            *inputs: Names of tensors, or arrays for constants.
            outputs: Number of results.
            **attributes: Its attributes.

        Returns:
            The name of the result, or a list of them.
        """
        from onnx import helper

        inputs = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        names = [self._new_name(kind) for _ in range(outputs)]
        self._nodes.append(helper.make_node(kind, inputs, names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array):
        """Adds a small array, or finds the one with the same numbers."""
        array = np.asarray(array)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._constants:
            self._constants[key] = self.weight(array)
        return self._constants[key]

    def weight(self, array):
        """Adds an array of weights."""
        name = self._new_name("weight")
        self.weights[name] = np.ascontiguousarray(array)
        return name

    def matrix(self, array, axis=1):
        """Adds a matrix in the number format of the graph.

        Args:
            array: Float32 array of two axes.
            axis: The axis of the outputs; each index along it gets its own scale.

        Returns:
            Names of the matrix, and of its scales, None for a matrix that is float32.
        """
        if self._number_format == "float32":
            return self.weight(array), None
        if self._number_format == "int8-weights":
            return self._stored_matrix(array, axis), None
        scales = np.abs(array).max(axis=1 - axis, keepdims=True) / _HIGHEST
        scales = np.where(scales == 0, 1, scales).astype("float32")
        integers = np.rint(array / scales).astype("int8")
        return self.weight(integers), self.weight(scales.ravel())

    def product(self, x, matrix, bias=None):
        """Multiplies a tensor `(..., M)` by a `matrix` `(M, N)` and adds a bias `(N,)`, if any."""
        kernel, scales = matrix
        if scales is None:
            x = self.op("MatMul", x, kernel)
        else:
            integers, scale, zero = self.op("DynamicQuantizeLinear", x, outputs=3)
            sums = self.op("MatMulInteger", integers, kernel, zero)
            x = self.op("Mul", self.op("Cast", sums, to=FLOAT), self.op("Mul", scale, scales))
        return x if bias is None else self.op("Add", x, self.weight(bias))

    def rows(self, matrix, indices):
        """Takes rows of a `matrix` `(M, N)` that has a scale for each of them, if any."""
        kernel, scales = matrix
        x = self.op("Gather", kernel, indices, axis=0)
        return x if scales is None else self._rescale(x, scales, indices)

    def columns(self, matrix, indices):
        """Takes columns of a `matrix` `(M, N)` for indices `(B, T)`, as a tensor `(B, T, M)`."""
        kernel, scales = matrix
        x = self.op("Transpose", self.op("Gather", kernel, indices, axis=1), perm=[1, 2, 0])
        return x if scales is None else self._rescale(x, scales, indices)

    @contextlib.contextmanager
    def branch(self):
        """Yields the list that takes the operators of the block, instead of the graph."""
        outside, self._nodes = self._nodes, []
        try:
            yield self._nodes
        finally:
            self._nodes = outside

    def choose(self, condition, if_true, if_false):
        """Runs one of two branches.

        Args:
            condition: Name of a Boolean tensor with one element.
            if_true: Operators of a `branch`, and the names of its results, as many as the other's.
            if_false: The same for the other case.

        Returns:
            List of names of the results.
        """
        from onnx import helper

        graphs = []
        for operators, results in (if_true, if_false):
            outputs = [helper.make_tensor_value_info(name, 1, None) for name in results]
            graphs.append(helper.make_graph(operators, self._new_name("branch"), [], outputs))
        return self.op(
            "If", condition, outputs=len(if_true[1]), then_branch=graphs[0], else_branch=graphs[1]
        )

    def rename(self, tensor, name):
        """Gives a result of the graph its name."""
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [tensor], [name]))

    def write(self, path, inputs, outputs):
        """Writes the graph as a file.

        Args:
            path: The file.
            inputs: Dictionary from a name to the number format and the shape, numbers and names.
            outputs: The same for the results.

        Raises:
            ValueError: If it is too large for such a file.
        """
        from onnx import helper, numpy_helper

        num_bytes = sum(array.nbytes for array in self.weights.values())
        if num_bytes > _MAX_FILE_BYTES:
            raise ValueError(
                f"{path.name} would have {num_bytes / 1e9:.1f} GB, and an ONNX file holds at most "
                f'{_MAX_FILE_BYTES / 1e9:.0f} GB: export with `weights="int8"`, or a smaller model.'
            )
        graph = helper.make_graph(
            self._nodes,
            path.stem,
            [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()],
            [helper.make_tensor_value_info(name, *kind) for name, kind in outputs.items()],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
            producer_name="aiayn_keras",
        )
        path.write_bytes(model.SerializeToString())

    def _stored_matrix(self, array, axis):
        """A matrix that a runtime makes from int8 weights and scales when it loads the graph."""
        size = array.shape[1 - axis]
        group = _GROUP_SIZE if size % _GROUP_SIZE == 0 else size
        shape = list(array.shape)
        shape[1 - axis : 2 - axis] = size // group, group
        groups = array.reshape(shape)
        scales = np.abs(groups).max(axis=2 - axis, keepdims=True) / _HIGHEST_STORED
        scales = np.where(scales == 0, 1, scales).astype("float32")
        integers = self.weight(np.rint(groups / scales).astype("int8"))
        matrix = self.op("Mul", self.op("Cast", integers, to=FLOAT), self.weight(scales))
        return self.op("Reshape", matrix, np.array(array.shape))

    def _rescale(self, integers, scales, indices):
        scale = self.op("Gather", scales, indices, axis=0)
        scale = self.op("Unsqueeze", scale, np.array([-1]))
        return self.op("Mul", self.op("Cast", integers, to=FLOAT), scale)

    def _new_name(self, kind):
        self._num_names += 1
        return f"{kind}_{self._num_names}"


class Switches:
    """The optional inputs and results of one graph.

    - `score_scale` `(1,)`: factor of the scores before softmax; 1 as in the paper, `√d_k` to have
      no division by `√d_k`.
    - `position_scale` `(1,)`: factor of the position encodings; 0 for none.
    - `layer_mask` `(N,)` booleans: False leaves a layer out.
    - `head_mask`, `decoder_head_mask`, `cross_attn_head_mask` `(N, H)`: factors of a head's weights
      after softmax; 0 switches it off. The weights among the results are those before it.
    - `causal` `(1,)` boolean, of the decoder: False lets tokens see the new ones after them.

    Args:
        author: The `OnnxAuthor` of the graph.
        side: `"encoder"` or `"decoder"`.
        backbone: A `TransformerBackbone`.
        observes: Whether attention weights are results.
        can_switch: Whether the inputs above exist.

    Attributes:
        inputs: Number formats and shapes of the inputs, by name.
        outputs: The same for the results, to which `observation` adds.
    """

    def __init__(self, author, side, backbone, observes, can_switch):
        self._author, self._num_heads = author, backbone.num_heads
        self._observes, self._can_switch = observes, can_switch
        self.inputs, self.outputs = {}, {}
        if not can_switch:
            return
        num_layers = getattr(backbone, f"num_{side}_layers")
        self.inputs = {name: (FLOAT, [1]) for name in ("score_scale", "position_scale")}
        self.inputs["layer_mask"] = BOOL, [num_layers]
        for kind in ("encoder",) if side == "encoder" else ("decoder", "cross"):
            self.inputs[_HEAD_MASKS[kind]] = FLOAT, [num_layers, backbone.num_heads]
        if side == "decoder":
            self.inputs["causal"] = BOOL, [1]

    def observation(self, kind, layer, lengths):
        """The `Observation` of one attention.

        Args:
            kind: `"encoder"`, `"decoder"` or `"cross"`.
            layer: Index of the layer.
            lengths: Names of the axes of queries and keys.
        """
        name = None
        if self._observes:
            name = f"{kind}_attentions.{layer}"
            self.outputs[name] = FLOAT, ["batch_size", self._num_heads, *lengths]
        mask = None
        if self._can_switch:
            mask = self._element(_HEAD_MASKS[kind], layer)
            mask = self._author.op("Reshape", mask, np.array([1, self._num_heads, 1, 1]))
        return Observation(self._author, name, mask)

    def scale_positions(self, encodings):
        """Position encodings times `position_scale`."""
        if not self._can_switch:
            return encodings
        return self._author.op("Mul", encodings, "position_scale")

    def causal_mask(self, mask):
        """A mask that lets everything through unless `causal`."""
        if not self._can_switch:
            return mask
        return self._author.op("Or", mask, self._author.op("Not", "causal"))

    def keep_layer(self, layer, after, before):
        """Chooses a layer's result, or its input where `layer_mask` leaves it out."""
        if not self._can_switch:
            return after
        return self._author.op("Where", self._element("layer_mask", layer), after, before)

    def _element(self, name, index):
        return self._author.op("Gather", name, np.array(index), axis=0)


class Observation:
    """The weights that a graph shows of one attention, and its switches.

    Args:
        author: The `OnnxAuthor` of the graph.
        name: Name of the weights as a result; None if they are not one.
        head_mask: Tensor `(1, H, 1, 1)`, factors of the weights; None if the graph has no switches.
    """

    def __init__(self, author, name, head_mask):
        self._author, self._name, self._head_mask = author, name, head_mask

    def scores(self, scores):
        """Scores `(B, H, T, S)` times `score_scale`."""
        if self._head_mask is None:
            return scores
        return self._author.op("Mul", scores, "score_scale")

    def weights(self, weights):
        """Weights `(B, H, T, S)`, which become a result of the graph, times the head mask."""
        if self._name is not None:
            self._author.rename(weights, self._name)
        if self._head_mask is not None:
            weights = self._author.op("Mul", weights, self._head_mask)
        return weights
