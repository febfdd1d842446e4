"""fairseq's `transformer` written anew with PyTorch's functions, and its checkpoints.

After fairseq's own sources: embeddings times √d plus sinusoids of positions that begin at 2,
sublayers with a residual and a normalization before or behind, `F.multi_head_attention_forward`,
which fairseq calls itself, a decoder that starts with the end token.
"""

import argparse
import math

import torch
import torch.nn.functional as F  # noqa: N812  PyTorch's own abbreviation

D, H, FF = 12, 3, 20
BOS, PAD, EOS, UNK = range(4)
WORDS = ["das", "ist", "ein", "gu@@", "ter", "tag", "madeupword0000", "madeupword0001"]
TARGET_WORDS = ["this", "is", "ein", "good", "day", "madeupword0000"]


def settings(**options):
    """The settings that a training of `transformer` writes into its checkpoint, some of them."""
    defaults = {
        "arch": "transformer_wmt_en_de",
        "encoder_attention_heads": H,
        "decoder_attention_heads": H,
        "encoder_normalize_before": False,
        "decoder_normalize_before": False,
        "max_source_positions": 17,
        "max_target_positions": 19,
        "share_all_embeddings": True,
        "adaptive_softmax_cutoff": None,
        "lr": [0.0007],
        "data": "data-bin/wmt16_en_de",
    }
    return {**defaults, **options}


def random_state(settings, num_target, num_layers=2):
    """The tensors of a random model, in the newest names.

    Args:
        settings: Of `settings`.
        num_target: Number of tokens of the target's vocabulary.
        num_layers: Of a side whose number the settings do not state.
    """
    generator = torch.Generator().manual_seed(1)

    def draw(*shape):
        return 0.5 * torch.randn(*shape, generator=generator)

    state = {"encoder.version": torch.tensor([3.0]), "decoder.version": torch.tensor([3.0])}
    for side, rows in (("encoder", 4 + len(WORDS)), ("decoder", num_target)):
        state[f"{side}.embed_tokens.weight"] = draw(rows, D)
        if settings.get(f"{side}_learned_pos"):
            state[f"{side}.embed_positions.weight"] = draw(2 + 17, D)
        else:
            state[f"{side}.embed_positions._float_tensor"] = torch.zeros(1)
        for i in range(settings.get(f"{side}_layers", num_layers)):
            layer = f"{side}.layers.{i}"
            attentions = ["self_attn"] + ["encoder_attn"] * (side == "decoder")
            for attention in attentions:
                for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    state[f"{layer}.{attention}.{name}.weight"] = draw(D, D)
                    state[f"{layer}.{attention}.{name}.bias"] = draw(D)
            for name in (*(f"{each}_layer_norm" for each in attentions), "final_layer_norm"):
                state[f"{layer}.{name}.weight"] = 1 + draw(D)
                state[f"{layer}.{name}.bias"] = draw(D)
            state[f"{layer}.fc1.weight"], state[f"{layer}.fc1.bias"] = draw(FF, D), draw(FF)
            state[f"{layer}.fc2.weight"], state[f"{layer}.fc2.bias"] = draw(D, FF), draw(D)
        if settings["encoder_normalize_before"]:
            state[f"{side}.layer_norm.weight"] = 1 + draw(D)
            state[f"{side}.layer_norm.bias"] = draw(D)
    if settings["share_all_embeddings"]:
        state["decoder.embed_tokens.weight"] = state["encoder.embed_tokens.weight"]
        state["decoder.output_projection.weight"] = state["encoder.embed_tokens.weight"]
    elif settings.get("share_decoder_input_output_embed"):
        state["decoder.output_projection.weight"] = state["decoder.embed_tokens.weight"]
    else:
        state["decoder.output_projection.weight"] = draw(num_target, D)
    return state


def in_old_names(state):
    """The same tensors as checkpoints of 2018 name them."""
    old = {}
    for name, tensor in state.items():
        if ".q_proj." in name:
            parts = [state[name.replace(".q_", f".{letter}_")] for letter in "qkv"]
            old[name.replace(".q_proj.", ".in_proj_")] = torch.cat(parts)
        elif "output_projection" in name:
            if tensor is not state["decoder.embed_tokens.weight"]:
                old["decoder.embed_out"] = tensor
        elif ".k_proj." not in name and ".v_proj." not in name:
            order = ["self_attn_layer_norm", "final_layer_norm"]
            if name.startswith("decoder"):
                order.insert(1, "encoder_attn_layer_norm")
            for i, norm in enumerate(order):
                name = name.replace(norm, f"layer_norms.{i}")
            old[name] = tensor
    return old


def write_checkpoint(path, settings, state, is_new=True, is_zip=True):
    """Writes what fairseq's trainer writes: settings in `cfg`, or before 2021 in `args`."""
    content = {
        "args": None if is_new else argparse.Namespace(**settings),
        "model": state,
        "optimizer_history": [{"criterion_name": "LabelSmoothedCrossEntropyCriterion"}],
        "extra_state": {"epoch": 3, "val_loss": 4.5, "seen": {1, 2}},
        "last_optimizer_state": {"state": {0: {"step": 7, "exp_avg": torch.zeros(3)}}},
    }
    if is_new:
        content["cfg"] = {"model": argparse.Namespace(**settings), "task": {"_name": "translation"}}
    torch.save(content, path, _use_new_zipfile_serialization=is_zip)


def write_dictionary(path, words):
    path.write_text("".join(f"{word} {100 - i}\n" for i, word in enumerate(words)), "utf-8")


def forward(settings, state, source_ids, target_ids):
    """Logits `(B, T, V)` of ids `(B, S)` and `(B, T)` without padding."""
    x = _embed(settings, state, "encoder", source_ids)
    memory = _run_layers(settings, state, "encoder", x)
    x = _embed(settings, state, "decoder", target_ids)
    x = _run_layers(settings, state, "decoder", x, memory)
    return x.transpose(0, 1) @ state["decoder.output_projection.weight"].T


def _embed(settings, state, side, ids):
    """Embeddings `(T, B, D)`, time first as in fairseq."""
    scale = 1.0 if settings.get("no_scale_embedding") else math.sqrt(D)
    positions = torch.arange(PAD + 1, PAD + 1 + ids.shape[1])
    table = state.get(f"{side}.embed_positions.weight")
    if table is None:
        half = D // 2
        step = math.log(10000) / (half - 1)
        angles = positions[:, None] * torch.exp(torch.arange(half) * -step)[None]
        encoding = torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)
    else:
        encoding = table[positions]
    return (scale * state[f"{side}.embed_tokens.weight"][ids] + encoding).transpose(0, 1)


def _run_layers(settings, state, side, x, memory=None):
    before = settings["encoder_normalize_before"]
    i = 0
    while f"{side}.layers.{i}.fc1.weight" in state:
        layer = f"{side}.layers.{i}"
        sublayers = [("self_attn_layer_norm", lambda y, n=layer: _attend(state, n, y, y, side))]
        if memory is not None:
            sublayers.append(
                ("encoder_attn_layer_norm", lambda y, n=layer: _attend(state, n, y, memory))
            )
        sublayers.append(("final_layer_norm", lambda y, n=layer: _feed(settings, state, n, y)))
        for norm, sublayer in sublayers:
            if before:
                x = x + sublayer(_norm(state, f"{layer}.{norm}", x))
            else:
                x = _norm(state, f"{layer}.{norm}", x + sublayer(x))
        i += 1
    return _norm(state, f"{side}.layer_norm", x) if before else x


def _norm(state, name, x):
    return F.layer_norm(x, (D,), state[f"{name}.weight"], state[f"{name}.bias"], 1e-5)


def _feed(settings, state, layer, x):
    activation = getattr(F, settings.get("activation_fn", "relu"))
    x = activation(F.linear(x, state[f"{layer}.fc1.weight"], state[f"{layer}.fc1.bias"]))
    return F.linear(x, state[f"{layer}.fc2.weight"], state[f"{layer}.fc2.bias"])


def _attend(state, layer, query, memory, side=None):
    """fairseq's own call; `side` is that of self-attention, and the decoder's is causal."""
    name = f"{layer}.{'encoder_attn' if side is None else 'self_attn'}"
    length = len(query)
    mask = torch.full((length, length), -math.inf).triu(1) if side == "decoder" else None
    weights = {part: state[f"{name}.{part}_proj.weight"] for part in "qkv"}
    biases = [state[f"{name}.{part}_proj.bias"] for part in "qkv"]
    return F.multi_head_attention_forward(
        query,
        memory,
        memory,
        D,
        H,
        torch.empty(0),
        torch.cat(biases),
        None,
        None,
        False,
        0.0,
        state[f"{name}.out_proj.weight"],
        state[f"{name}.out_proj.bias"],
        training=False,
        need_weights=False,
        attn_mask=mask,
        use_separate_proj_weight=True,
        q_proj_weight=weights["q"],
        k_proj_weight=weights["k"],
        v_proj_weight=weights["v"],
    )[0]
