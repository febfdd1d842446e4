"""fairseq checkpoints made into ours, compared with fairseq's formulas in PyTorch."""

import sys

import keras
import numpy as np
import pytest

from aiayn_keras.convert import convert_fairseq
from aiayn_keras.convert.fairseq import read_dictionary, read_fairseq_checkpoint
from aiayn_keras.models import TransformerTokenizer
from tests.helpers import assert_close, slow_but

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("read_here")

from tests.convert import fairseq_models as fairseq  # noqa: E402  it needs PyTorch

PRE_NORM = {"encoder_normalize_before": True, "decoder_normalize_before": True}
SEPARATE = {"share_all_embeddings": False}
VARIANTS = {
    "joined": ({}, {}),
    "deep encoder": ({"encoder_layers": 6, "decoder_layers": 2}, {}),
    "pre-norm, gelu": ({**PRE_NORM, "activation_fn": "gelu"}, {}),
    "separate": ({**SEPARATE, "encoder_layers": 2, "decoder_layers": 1}, {"is_new": False}),
    "separate, shared output": ({**SEPARATE, "share_decoder_input_output_embed": True}, {}),
    "learned, unscaled": (
        {"encoder_learned_pos": True, "decoder_learned_pos": True, "no_scale_embedding": True},
        {},
    ),
    "of 2018": ({"encoder_layers": 1}, {"is_new": False, "is_zip": False}),
    "of 2018, separate": ({**SEPARATE, **PRE_NORM}, {"is_new": False, "is_zip": False}),
}


def write(folder, options, is_new=True, is_zip=True):
    """Writes a random model; returns its settings, tensors, and the arguments to convert it."""
    settings = fairseq.settings(**options)
    target = fairseq.WORDS if settings["share_all_embeddings"] else fairseq.TARGET_WORDS
    state = fairseq.random_state(settings, num_target=4 + len(target))
    written = state if is_zip else fairseq.in_old_names(state)
    fairseq.write_checkpoint(folder / "model.pt", settings, written, is_new, is_zip)
    fairseq.write_dictionary(folder / "dict.de.txt", fairseq.WORDS)
    fairseq.write_dictionary(folder / "dict.en.txt", target)
    return settings, state, [folder / name for name in ("model.pt", "dict.de.txt", "dict.en.txt")]


def logits_of(model, source, target):
    """Our logits `(T + 1, V)` of one pair of texts, and the target's ids."""
    tokenizer = model.preprocessor.tokenizer
    source_ids = [*tokenizer(source), tokenizer.end_token_id]
    target_ids = [tokenizer.start_token_id, *tokenizer.of_targets()(target)]
    inputs = {}
    for side, ids in (("encoder", source_ids), ("decoder", target_ids)):
        inputs[f"{side}_token_ids"] = np.array([ids], "int32")
        inputs[f"{side}_padding_mask"] = np.ones((1, len(ids)), "int32")
    return keras.ops.convert_to_numpy(model(inputs))[0]


@pytest.mark.parametrize(
    "name",
    slow_but(["joined", "learned, unscaled", "of 2018", "of 2018, separate"], list(VARIANTS)),
)
def test_logits_are_fairseq_s(name, tmp_path):
    options, form = VARIANTS[name]
    settings, state, arguments = write(tmp_path, options, **form)
    model = convert_fairseq(*arguments)
    source, target = "das ist ein gu@@ ter tag", "das tag ein gu@@"
    if not settings["share_all_embeddings"]:
        target = "this is ein good"
    words = [read_dictionary(path) for path in arguments[1:]]
    source_ids = [words[0].index(word) for word in source.split()] + [fairseq.EOS]
    target_ids = [fairseq.EOS] + [words[1].index(word) for word in target.split()]
    expected = fairseq.forward(
        settings, state, torch.tensor([source_ids]), torch.tensor([target_ids])
    )[0]
    ours = logits_of(model, source, target)
    tokenizer = model.preprocessor.tokenizer.of_targets()
    special = {"<pad>": 0, "</s>": 3, "<unk>": 1}
    ids = [special[word] if word in special else tokenizer([word])[0][0] for word in words[1]]
    assert_close(ours[:, ids], expected.numpy(), rtol=0, atol=1e-4)
    for side in ("encoder", "decoder"):
        depth = settings.get(f"{side}_layers", 2)
        assert getattr(model.backbone, f"num_{side}_layers") == depth
    others = np.delete(np.exp(ours - ours.max()), ids, axis=1)
    assert others.max(initial=0) < 1e-30


def test_joined_embeddings_stay_one_matrix(tmp_path):
    *_, arguments = write(tmp_path, {})
    backbone = convert_fairseq(*arguments[:2]).backbone
    assert backbone.tie_weights
    assert backbone.vocabulary_size == 4 + len(fairseq.WORDS) + 1  # one more start token


def test_neither_fairseq_nor_torch_is_imported_for_an_archive(tmp_path, monkeypatch):
    *_, arguments = write(tmp_path, {}, is_new=False)
    for name in ("torch", "fairseq", "argparse"):
        monkeypatch.setitem(sys.modules, name, None)  # an import of it fails
    assert read_fairseq_checkpoint(arguments[0])[0].encoder_attention_heads == fairseq.H


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arch": "fconv"}, "field `arch`: .*Only `transformer` models of fairseq"),
        ({"arch": "waitk_transformer"}, "field `arch`"),
        ({"arch": "transformer_unidirectional"}, "field `arch`: .*of another kind"),
        ({"encoder_layers_to_keep": "0"}, "`encoder_layers_to_keep`"),
        ({"no_decoder_final_norm": True}, "`no_decoder_final_norm`"),
        ({"activation_fn": "gelu_accurate"}, "`activation_fn`"),
        ({"layernorm_embedding": True}, "`layernorm_embedding`"),
        ({"adaptive_softmax_cutoff": "1,2"}, "`adaptive_softmax_cutoff`"),
        ({"decoder_attention_heads": 2}, "`encoder_attention_heads` is 3, but `decoder_att.*` 2"),
        ({"encoder_attention_heads": 10**9}, "`encoder_attention_heads`"),
        ({"max_source_positions": 10**12}, "`max_source_positions`"),
        ({"encoder_attention_heads": 5, "decoder_attention_heads": 5}, "multiple of `num_heads`"),
    ],
)
def test_another_model_is_refused_by_its_setting(options, message, tmp_path):
    *_, arguments = write(tmp_path, options)
    with pytest.raises(ValueError, match=rf"model\.pt.*{message}"):
        convert_fairseq(*arguments)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (
            {"share_all_embeddings": False, "share_decoder_input_output_embed": False},
            "decoder.output_projection.weight",
        ),
        ({"encoder_learned_pos": True}, "encoder.embed_positions.weight"),
        ({"decoder_learned_pos": True}, "decoder.embed_positions.weight"),
    ],
)
def test_a_matrix_that_the_settings_state_must_be_there(options, name, tmp_path):
    settings, state, arguments = write(tmp_path, options)
    del state[name]
    fairseq.write_checkpoint(arguments[0], settings, state)
    with pytest.raises(ValueError, match=rf"model\.pt: `{name}` is missing"):
        convert_fairseq(*arguments)


def test_sinusoids_that_old_checkpoints_hold_are_computed_again(tmp_path):
    settings, state, arguments = write(tmp_path, {})
    expected = convert_fairseq(*arguments)
    state |= {
        f"{side}.embed_positions.weights": torch.zeros(9, 12) for side in ("encoder", "decoder")
    }
    fairseq.write_checkpoint(arguments[0], settings, state)
    for ours, theirs in zip(
        convert_fairseq(*arguments).backbone.weights, expected.backbone.weights, strict=True
    ):
        assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_checkpoint_without_a_layer_of_its_settings_is_refused(side, tmp_path):
    settings, state, arguments = write(tmp_path, {})
    settings[f"{side}_layers"] = 3
    fairseq.write_checkpoint(arguments[0], settings, state)
    message = rf"model\.pt has 2 layers of the {side}, but its settings state 3"
    with pytest.raises(ValueError, match=message):
        convert_fairseq(*arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("das 3\nist\n", "line 2: expected `word count`, got 'ist'"),
        ("das 3\nist x\n", "line 2: expected `word count`"),
        (" 3\n", "line 1: expected `word count`"),
        ("das 3\ndas 2\n", "line 2: 'das' is already line 1"),
        ("<pad> 3\n", "line 1: the file must leave out the token <pad>"),
        ("das 3\n", r"5 tokens, .* but the embeddings have 12 rows"),
        ("x" * 2000 + " 3\n", "longer than 1000 characters"),
        ("", "expected `word count`"),
        ("\ufeffdas 3\nist 2\n", "line 1: it begins with a byte order mark"),
    ],
)
def test_a_wrong_dictionary_is_refused_with_its_line(text, message, tmp_path):
    *_, arguments = write(tmp_path, {})
    arguments[1].write_text(text, "utf-8")
    with pytest.raises(ValueError, match=rf"dict\.de\.txt.*{message}"):
        convert_fairseq(*arguments)


def test_a_sentencepiece_model_of_other_tokens_is_refused(tmp_path):
    *_, arguments = write(tmp_path, {})
    model = TransformerTokenizer.train(["das ist ein guter tag"] * 9, 22).proto
    (tmp_path / "sentencepiece.model").write_bytes(model)
    with pytest.raises(
        ValueError,
        match=r"dict\.de\.txt: the SentencePiece model of both .*8 tokens, such as 'das'",
    ):
        convert_fairseq(*arguments)


@pytest.mark.parametrize("word", ["ein mal", "ein▁mal", "▁"])
def test_a_warning_names_words_that_no_text_can_hold(word, tmp_path):
    *_, arguments = write(tmp_path, {})
    fairseq.write_dictionary(arguments[1], [*fairseq.WORDS[:-1], word])
    with pytest.warns(UserWarning, match=rf"dict\.de\.txt: 1 of its tokens .* such as '{word}'"):
        convert_fairseq(*arguments[:2])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda state: state.pop("encoder.layers.1.fc1.bias"), "`encoder.layers.1.fc1.bias` is mi"),
        (
            lambda state: state.update(extra=torch.zeros(2)),
            "`extra` is not a tensor of such a model",
        ),
        (
            lambda state: state["decoder.layers.0.fc2.bias"].fill_(torch.nan),
            "`decoder_block_0/feed_forward/output/bias`: it holds numbers that are not finite",
        ),
        (
            lambda state: state.update({"decoder.layers.0.fc2.bias": torch.zeros(7)}),
            r"expected the shape \(12,\), got \(7,\)",
        ),
        (
            lambda state: state.update({"decoder.layers.0.fc2.bias": torch.zeros(7, 2)}),
            r"`decoder.layers.0.fc2.bias` has the shape \(7, 2\), expected 1 axes",
        ),
        (
            lambda state: state.update({"encoder.layers.2.x": torch.zeros(2)}),
            "`encoder.layers.2.self_attn.out_proj.weight` is missing",
        ),
        (
            lambda state: [state.pop(name) for name in [*state] if "decoder.layers" in name],
            "has no layer `decoder.layers.0`",
        ),
    ],
)
def test_wrong_tensors_are_refused_by_name(damage, message, tmp_path):
    settings, state, arguments = write(tmp_path, {})
    damage(state)
    fairseq.write_checkpoint(arguments[0], settings, state)
    with pytest.raises(ValueError, match=rf"model\.pt.*{message}"):
        convert_fairseq(*arguments)
