"""Attention weights as results of an ONNX graph, and inputs that switch parts of the model off."""

import numpy as np

from aiayn_keras.export.onnx_author import BOOL, FLOAT

_HEAD_MASKS = {
    "encoder": "head_mask",
    "decoder": "decoder_head_mask",
    "cross": "cross_attn_head_mask",
}
"""Inputs by kind of attention, as Hugging Face's transformers calls them."""


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
