"""Hugging Face's Marian on the same weights."""

import numpy as np

from benchmarks.speed.batches import map_by_length
from benchmarks.speed.decode_systems import EXTRA_LENGTH, NUM_BEAMS, Translator

PAD, UNKNOWN, START, END = range(4)


def load_marian(task):
    """Hugging Face's `MarianMTModel` and its `generate`."""
    import torch

    from aiayn_keras import TransformerSeq2SeqLM

    ours = TransformerSeq2SeqLM.from_preset(task.model)
    tokenizer = ours.preprocessor.tokenizer
    model = build_marian(ours.backbone)
    must_agree(ours, model)
    model = model.to(getattr(torch, task.precision))
    options = {}
    if task.forced_length is not None:
        options = {
            "min_new_tokens": task.forced_length,
            "max_new_tokens": task.forced_length,
            "suppress_tokens": [PAD, UNKNOWN, START],
        }

    def translate_batch(sources):
        length = max(map(len, sources))
        token_ids = torch.full((len(sources), length), PAD)
        for row, source in zip(token_ids, sources, strict=True):
            row[: len(source)] = torch.tensor(source)
        limits = {"max_new_tokens": length - 1 + EXTRA_LENGTH, **options}
        with torch.inference_mode():
            outputs = model.generate(
                input_ids=token_ids,
                attention_mask=(token_ids != PAD).long(),
                num_beams=NUM_BEAMS,
                do_sample=False,
                length_penalty=0.0,
                early_stopping=False,  # go on while a better translation is possible
                **limits,
            )
        return tokenizer.detokenize([[i for i in row if i > END] for row in outputs.tolist()])

    def translate(texts):
        sources = [[*ids, END] for ids in tokenizer(list(texts))]
        return map_by_length(translate_batch, sources, list(map(len, sources)), task.batch_size)

    return Translator(translate)


def build_marian(backbone):
    """A `MarianMTModel` in float32 with the weights of a `TransformerBackbone` of its shape."""
    import keras
    import transformers

    sizes = {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in (
            ("layers", getattr(backbone, f"num_{side}_layers")),
            ("attention_heads", backbone.num_heads),
            ("ffn_dim", backbone.intermediate_dim),
        )
    }
    config = transformers.MarianConfig(
        **sizes,
        vocab_size=backbone.vocabulary_size,
        d_model=backbone.hidden_dim,
        max_position_embeddings=backbone.max_sequence_length,
        activation_function=keras.activations.serialize(backbone.activation),
        scale_embedding=True,
        pad_token_id=PAD,
        decoder_start_token_id=START,
        eos_token_id=END,
        forced_eos_token_id=None,
    )
    model = transformers.MarianMTModel(config).eval()
    copy_weights(backbone, model.model)
    return model


def copy_weights(backbone, theirs):
    """Copies all weights of a `TransformerBackbone` into a `MarianModel`."""
    _copy(theirs.shared.weight, backbone.token_embedding.embeddings)
    for side in ("encoder", "decoder"):
        stack = getattr(theirs, side)
        _copy(stack.embed_positions.weight, getattr(backbone, f"{side}_embedding").table)
        for block, layer in zip(getattr(backbone, f"{side}_blocks"), stack.layers, strict=True):
            _copy_attention(block.self_attention, layer.self_attn)
            _copy_norm(block.self_attention_add_norm, layer.self_attn_layer_norm)
            if side == "decoder":
                _copy_attention(block.cross_attention, layer.encoder_attn)
                _copy_norm(block.cross_attention_add_norm, layer.encoder_attn_layer_norm)
            _copy_dense(block.feed_forward.hidden_dense, layer.fc1)
            _copy_dense(block.feed_forward.output_dense, layer.fc2)
            _copy_norm(block.feed_forward_add_norm, layer.final_layer_norm)


def _copy_attention(ours, theirs):
    names = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    for our_name, their_name in names.items():
        _copy_dense(getattr(ours, f"{our_name}_dense"), getattr(theirs, their_name))


def _copy_dense(ours, theirs):
    _copy(theirs.weight, ours.kernel, transposed=True)
    if ours.use_bias:
        _copy(theirs.bias, ours.bias)
    else:
        theirs.bias.data.zero_()


def _copy_norm(ours, theirs):
    _copy(theirs.weight, ours.layer_norm.gamma)
    _copy(theirs.bias, ours.layer_norm.beta)
    theirs.eps = ours.layer_norm.epsilon


def _copy(parameter, tensor, transposed=False):
    import torch
    from keras import ops

    array = ops.convert_to_numpy(tensor)
    parameter.data.copy_(torch.from_numpy(np.array(array.T if transposed else array)))


def must_agree(ours, theirs):
    """Raises a `ValueError` if the logits of both models differ."""
    import torch

    random = np.random.default_rng(0)
    vocabulary_size = ours.backbone.vocabulary_size
    sources, targets = (
        torch.from_numpy(random.integers(4, vocabulary_size, size)) for size in ((3, 11), (3, 7))
    )
    source_mask = torch.ones_like(sources)
    source_mask[1, 5:] = 0
    batch = {
        "encoder_token_ids": sources,
        "encoder_padding_mask": source_mask,
        "decoder_token_ids": targets,
        "decoder_padding_mask": torch.ones_like(targets),
    }
    with torch.no_grad():
        expected = ours(batch, training=False)
        received = theirs(
            input_ids=sources, attention_mask=source_mask, decoder_input_ids=targets
        ).logits
    difference = float((received - expected).abs().max())
    if difference > 1e-4:
        raise ValueError(f"Marian's logits differ by {difference:.2g} from ours.")
