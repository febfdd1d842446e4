"""Random checkpoints of OpenNMT-tf and tensor2tensor, and their models written anew with NumPy.

After the sources of OpenNMT-tf 2.32 and tensor2tensor 1.15: the names of the variables, and the
formulas in the order in which they stand there. `tests.claims.tensorflow_toolkits` compares with
the toolkits themselves.
"""

import json

import numpy as np

D, H, FF = 12, 3, 20
SIDES = ("encoder", "decoder")
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
WORDS = ["das", "ist", "ein", "gu￭", "ter", "tag"]
TARGET_WORDS = ["this", "is", "ein", "good", "day"]
SUBTOKENS = ["the_", ", _", "cat", "s_", "\\u", "a", "' _", "_"]


def write_checkpoint(prefix, variables):
    """Writes variables by their names, as TensorFlow's own savers do."""
    import tensorflow as tf

    names = list(variables)
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[tf.convert_to_tensor(variables[name]) for name in names],
    )


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def normalize(x, gamma, beta, epsilon):
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt(np.square(centered).mean(-1, keepdims=True) + epsilon) * gamma + beta


def attend(queries, keys, values, is_causal):
    """Dot-product attention of H heads; `(T, H·K)`, `(S, H·K)` and `(S, H·K)` to `(T, H·K)`."""
    split = [x.reshape(len(x), H, -1).transpose(1, 0, 2) for x in (queries, keys, values)]
    scores = split[0] * split[0].shape[-1] ** -0.5 @ split[1].transpose(0, 2, 1)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -1e9)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    heads = weights / weights.sum(-1, keepdims=True) @ split[2]
    return heads.transpose(1, 0, 2).reshape(len(queries), -1)


def sinusoids(length, first):
    """`tf.concat([tf.sin(scaled_time), tf.cos(scaled_time)], axis=1)` of both toolkits."""
    inverse = np.exp(np.arange(D // 2) * -(np.log(10_000) / (D // 2 - 1)))
    angles = np.arange(first, first + length)[:, None] * inverse[None]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def greedy(logits_of, start, end, never, max_length=12):
    """The tokens that a model's logits `(T, V)` of all prefixes are greatest for."""
    tokens = [start]
    while len(tokens) <= max_length:
        logits = logits_of(np.array(tokens))[-1].copy()
        logits[never] = -np.inf
        if logits.argmax() == end:
            break
        tokens.append(int(logits.argmax()))
    return tokens[1:]


class OpenNMTTF:
    """A random `Transformer` of OpenNMT-tf.

    Args:
        pre_norm, mha_bias, output_layer_bias: As its `Transformer` takes them.
        sharing: `"NONE"`, `"SOURCE_TARGET_INPUT"`, `"TARGET"` or `"ALL"`, of its
            `EmbeddingsSharingLevel`.
        source_words, target_words: Its vocabularies, without the special tokens.
        layers: Number of layers of the encoder and of the decoder.
        positions: Number of learned positions, small as the embeddings then are, so that the ε of
            the normalizations counts; or None for sinusoids.
    """

    def __init__(self, pre_norm=True, mha_bias=True, output_layer_bias=True, sharing="NONE",
                 positions=None, layers=(2, 2), source_words=WORDS,
                 target_words=TARGET_WORDS):  # fmt: skip
        self.random = np.random.default_rng(1)
        self.layers = dict(zip(SIDES, layers, strict=True))
        self.pre_norm, self.sharing = pre_norm, sharing
        is_one = sharing in ("SOURCE_TARGET_INPUT", "ALL")
        self.words = (source_words, source_words if is_one else target_words)
        sizes = [3 + len(words) + 1 for words in self.words]
        self.variables = {}
        self._draw("examples_inputter/features_inputter/embedding", sizes[0], D)
        if not is_one:
            self._draw("examples_inputter/labels_inputter/embedding", sizes[1], D)
        if sharing in ("NONE", "SOURCE_TARGET_INPUT"):
            self._draw("decoder/output_layer/kernel", D, sizes[1])
        if output_layer_bias:
            self._draw("decoder/output_layer/bias", sizes[1])
        for side in SIDES:
            if positions:
                self._draw(f"{side}/position_encoder/position_embedding", positions + 1, D)
            for i in range(self.layers[side]):
                self._draw_layer(side, f"{side}/layers/{i}", mha_bias)
            if pre_norm:
                self._draw_norm(f"{side}/layer_norm")
        for name in self.variables if positions else ():
            if name.endswith(f"embedding{SUFFIX}"):
                self.variables[name] *= np.float32(0.02)

    def _draw(self, name, *shape):
        values = 0.5 * self.random.standard_normal(shape)
        self.variables[f"model/{name}{SUFFIX}"] = values.astype("float32")

    def _draw_norm(self, name):
        self._draw(f"{name}/gamma", D)
        self._draw(f"{name}/beta", D)

    def _draw_layer(self, side, name, mha_bias):
        norm = "input_layer_norm" if self.pre_norm else "output_layer_norm"
        attentions = ["self_attention"] + ["attention/0"] * (side == "decoder")
        for each in (*attentions, "ffn"):
            self._draw_norm(f"{name}/{each}/{norm}")
        for each in attentions:
            for linear in ("queries", "keys", "values", "output"):
                self._draw(f"{name}/{each}/layer/linear_{linear}/kernel", D, D)
                if mha_bias:
                    self._draw(f"{name}/{each}/layer/linear_{linear}/bias", D)
        for linear, shape in (("inner", (D, FF)), ("outer", (FF, D))):
            self._draw(f"{name}/ffn/layer/{linear}/kernel", *shape)
            self._draw(f"{name}/ffn/layer/{linear}/bias", shape[1])

    def write(self, folder):
        """Writes the checkpoint and its vocabularies; returns the arguments to convert them."""
        slot = f"model/decoder/layer_norm/gamma/.OPTIMIZER_SLOT/optimizer/m{SUFFIX}"
        others = {
            f"save_counter{SUFFIX}": np.int64(7),
            f"optimizer/iter{SUFFIX}": np.int64(70),
            slot: np.zeros(D, "float32"),
        }
        write_checkpoint(folder / "ckpt-70", self.variables | others)
        return [folder / "ckpt-70", *self.write_vocabularies(folder)]

    def write_vocabularies(self, folder):
        """Writes the vocabularies; returns their paths."""
        paths = [folder / "source.vocab", folder / "target.vocab"]
        for path, words in zip(paths, self.words, strict=True):
            write_lines(path, ["<blank>", "<s>", "</s>", *words])
        return paths

    def ids(self, side, text):
        """Ids of words; `side` is 0 for sources and 1 for translations."""
        words = ["<blank>", "<s>", "</s>", *self.words[side]]
        return [words.index(word) if word in words else len(words) for word in text.split()]

    def logits(self, source, target):
        """`(T, V)` of one pair of lists of ids."""
        memory = self._run("encoder", self._embed("features", source), None)
        outputs = self._run("decoder", self._embed("labels", target), memory)
        kernel = self._find("decoder/output_layer/kernel")
        kernel = self._embedding("labels").T if kernel is None else kernel
        bias = self._find("decoder/output_layer/bias")
        return outputs @ kernel + (0 if bias is None else bias)

    def _find(self, name):
        return self.variables.get(f"model/{name}{SUFFIX}")

    def _embedding(self, kind):
        found = self._find(f"examples_inputter/{kind}_inputter/embedding")
        return self._embedding("features") if found is None else found

    def _embed(self, kind, ids):
        return self._embedding(kind)[np.array(ids)]

    def _run(self, side, x, memory):
        x = x * D**0.5
        table = self._find(f"{side}/position_encoder/position_embedding")
        x = x + (sinusoids(len(x), 1) if table is None else table[1 : len(x) + 1])
        for i in range(self.layers[side]):
            layer = f"{side}/layers/{i}"
            x = self._wrap(f"{layer}/self_attention", x, None, memory is not None)
            if memory is not None:
                x = self._wrap(f"{layer}/attention/0", x, memory, False)
            x = self._wrap(f"{layer}/ffn", x, None, None)
        return self._norm(f"{side}/layer_norm", x) if self.pre_norm else x

    def _wrap(self, name, inputs, memory, is_causal):
        """`TransformerLayerWrapper`."""
        x = self._norm(f"{name}/input_layer_norm", inputs) if self.pre_norm else inputs
        if name.endswith("ffn"):
            x = np.maximum(self._dense(f"{name}/layer/inner", x), 0)
            x = self._dense(f"{name}/layer/outer", x)
        else:
            memory = x if memory is None else memory
            queries, keys, values = (
                self._dense(f"{name}/layer/linear_{linear}", given)
                for linear, given in (("queries", x), ("keys", memory), ("values", memory))
            )
            x = self._dense(f"{name}/layer/linear_output", attend(queries, keys, values, is_causal))
        x = x + inputs
        return x if self.pre_norm else self._norm(f"{name}/output_layer_norm", x)

    def _dense(self, name, x):
        bias = self._find(f"{name}/bias")
        return x @ self._find(f"{name}/kernel") + (0 if bias is None else bias)

    def _norm(self, name, x):
        return normalize(x, self._find(f"{name}/gamma"), self._find(f"{name}/beta"), 1e-3)


class Tensor2Tensor:
    """A random `transformer` of tensor2tensor.

    Args:
        is_first: Whether layers are those of `transformer_base_v2`, not of `v1`.
        is_shared: The setting `shared_embedding_and_softmax_weights`.
        layers: Number of layers of the encoder and of the decoder.
        **hparams: Other settings.
    """

    def __init__(self, is_first=True, is_shared=True, has_space=True, layers=(2, 2), **hparams):
        self.random = np.random.default_rng(1)
        self.layers, self.is_first = dict(zip(SIDES, layers, strict=True)), is_first
        self.hparams = {
            "num_heads": H,
            "hidden_size": D,
            "filter_size": FF,
            "layer_preprocess_sequence": "n" if is_first else "none",
            "layer_postprocess_sequence": "da" if is_first else "dan",
            "shared_embedding_and_softmax_weights": is_shared,
            "norm_epsilon": 1e-6,
            "pos": "timing",
            "vocab_divisor": 1,
            **hparams,
        }
        self.tokens = (SUBTOKENS, SUBTOKENS if is_shared else SUBTOKENS[:5])
        self.key_size = hparams.get("attention_key_channels", D)
        self.variables = {}
        for i, scope in enumerate(["shared"] if is_shared else ["input_emb", "target_emb"]):
            self._draw_shards(i, scope)
        if not is_shared:
            self._draw_shards(1, "softmax")
        if has_space:
            self._draw("body/target_space_embedding/kernel", 32, D)
        for side in SIDES:
            for layer in range(self.layers[side]):
                self._draw_layer(side, f"body/{side}/layer_{layer}")
            if is_first:
                self._draw_norm(f"body/{side}/layer_prepostprocess/layer_norm")

    def _draw(self, name, *shape):
        values = 0.5 * self.random.standard_normal(shape)
        self.variables[f"transformer/{name}"] = values.astype("float32")

    def _rows(self, i):
        rows, divisor = 2 + len(self.tokens[i]), self.hparams["vocab_divisor"]
        return rows + -rows % divisor

    def _draw_shards(self, i, scope):
        rows, shards = self._rows(i), 3
        for shard in range(shards):
            size = rows // shards + (shard < rows % shards)
            self._draw(f"symbol_modality_{rows}_{D}/{scope}/weights_{shard}", size, D)

    def _draw_norm(self, name):
        self._draw(f"{name}/layer_norm_scale", D)
        self._draw(f"{name}/layer_norm_bias", D)

    def _draw_layer(self, side, name):
        norm = f"layer_{'prepostprocess' if self.is_first else 'postprocess'}/layer_norm"
        attentions = ["self_attention"] + ["encdec_attention"] * (side == "decoder")
        for each in attentions:
            linear = f"{name}/{each}/multihead_attention"
            for letter, size in (("q", self.key_size), ("k", self.key_size), ("v", D)):
                self._draw(f"{linear}/{letter}/kernel", D, size)
            self._draw(f"{linear}/output_transform/kernel", D, D)
        for each in (*attentions, "ffn"):
            self._draw_norm(f"{name}/{each}/{norm}")
        for linear, shape in (("conv1", (D, FF)), ("conv2", (FF, D))):
            self._draw(f"{name}/ffn/{linear}/kernel", *shape)
            self._draw(f"{name}/ffn/{linear}/bias", shape[1])

    def write(self, folder):
        """Writes the checkpoint, settings and vocabularies; returns the arguments to convert."""
        norm = "transformer/body/decoder/layer_0/ffn/conv1/bias"
        others = {"global_step": np.int64(7), f"{norm}/Adam": np.zeros(FF, "float32")}
        write_checkpoint(folder / "model.ckpt-7", self.variables | others)
        (folder / "hparams.json").write_text(json.dumps(self.hparams))
        paths = [folder / "vocab.en.subwords", folder / "vocab.de.subwords"]
        for path, tokens in zip(paths, self.tokens, strict=True):
            write_lines(path, [f"'{token}'" for token in ("<pad>", "<EOS>", *tokens)])
        return [folder, *paths]

    def ids(self, side, tokens):
        return [2 + self.tokens[side].index(token) for token in tokens]

    def logits(self, source, target, space=0):
        """`(T + 1, V)` of a source with its end token, and a translation without."""
        x = self._embed(0, source) + sinusoids(len(source), 0)
        spaces = self._find("body/target_space_embedding/kernel")
        x = x + (0 if spaces is None else spaces[space])
        memory = self._run("encoder", x, None)
        x = np.concatenate([np.zeros((1, D)), self._embed(1, target)])  # shift_right_3d
        outputs = self._run("decoder", x + sinusoids(len(x), 0), memory)
        return outputs @ self._matrix(1, "softmax").T

    def _find(self, name):
        return self.variables.get(f"transformer/{name}")

    def _matrix(self, i, name):
        for scope in (name, "shared"):
            path = f"symbol_modality_{self._rows(i)}_{D}/{scope}/weights_"
            if self._find(f"{path}0") is not None:
                return np.concatenate([self._find(f"{path}{shard}") for shard in range(3)])
        raise KeyError(name)

    def _embed(self, i, ids):
        ids = np.array(ids, int)
        embedded = self._matrix(i, ("input_emb", "target_emb")[i])[ids] * D**0.5
        return embedded * (ids != 0)[:, None]

    def _run(self, side, x, memory):
        for i in range(self.layers[side]):
            layer = f"body/{side}/layer_{i}"
            x = self._sublayer(f"{layer}/self_attention", x, None, memory is not None)
            if memory is not None:
                x = self._sublayer(f"{layer}/encdec_attention", x, memory, False)
            x = self._sublayer(f"{layer}/ffn", x, None, None)
        return self._norm(f"body/{side}", x) if self.is_first else x

    def _sublayer(self, name, inputs, memory, is_causal):
        x = self._norm(name, inputs) if self.is_first else inputs
        if name.endswith("ffn"):
            hidden = x @ self._find(f"{name}/conv1/kernel") + self._find(f"{name}/conv1/bias")
            x = np.maximum(hidden, 0) @ self._find(f"{name}/conv2/kernel")
            x = x + self._find(f"{name}/conv2/bias")
        else:
            memory = x if memory is None else memory
            queries, keys, values, output = (
                self._find(f"{name}/multihead_attention/{each}/kernel")
                for each in ("q", "k", "v", "output_transform")
            )
            x = attend(x @ queries, memory @ keys, memory @ values, is_causal) @ output
        x = x + inputs
        return x if self.is_first else self._norm(name, x)

    def _norm(self, scope, x):
        name = f"{scope}/layer_{'prepostprocess' if self.is_first else 'postprocess'}/layer_norm"
        scale, bias = self._find(f"{name}/layer_norm_scale"), self._find(f"{name}/layer_norm_bias")
        return normalize(x, scale, bias, self.hparams["norm_epsilon"])
