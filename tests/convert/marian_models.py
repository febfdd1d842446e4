"""Marian models of random weights, in the files that Hugging Face's library writes."""

import io
import json

import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel

from tests.number_words import number_words

SIZES = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 40,
    "scale_embedding": True,
    "static_position_embeddings": True,
}
END_BIAS = 2.0
"""So that some translations end."""

LANGUAGES = ">>eng<<", ">>deu<<"


def write_marian_model(folder, *, left_out=3, end=0, seed=13, **config):
    """Writes a model of random weights that splits German and English number words.

    Args:
        folder: Path of the folder to fill.
        left_out: Number of pieces of either SentencePiece model that are not in the table.
        end: Number of the end token; the unknown token's is two more.
        seed: Of the weights.
        **config: Fields of the configuration.
    """
    pairs = number_words(300, seed=3)
    pieces = set(LANGUAGES)
    for name, texts in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            vocab_size=32,
            hard_vocab_limit=False,
            character_coverage=1.0,
            minloglevel=2,
        )
        (folder / f"{name}.spm").write_bytes(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        found = [processor.id_to_piece(i) for i in range(3, processor.vocab_size())]
        pieces.update(found[:-left_out] if left_out else found)
    tokens = sorted(pieces)
    tokens.insert(end, "</s>")
    tokens.insert(end + 2, "<unk>")
    tokens.append("<pad>")
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(tokens)}))
    (folder / "tokenizer_config.json").write_text("{}")
    padding, end = len(tokens) - 1, tokens.index("</s>")
    ids = {"pad_token_id": padding, "decoder_start_token_id": padding, "eos_token_id": end}
    options = SIZES | ids | {"vocab_size": len(tokens), "forced_eos_token_id": None} | config
    save_random_model(folder, options, lambda model: _add_noise(model, seed), seed)


def save_random_model(folder, config, randomize, seed):
    """Writes `config.json` and `model.safetensors` of a model of random weights.

    Args:
        folder: Path of the folder.
        config: Dictionary of the fields of the configuration.
        randomize: Function that changes the weights of the model, a `MarianMTModel` as it begins.
        seed: Of PyTorch's random numbers in all of this.
    """
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        model = MarianMTModel(MarianConfig(**config))
        randomize(model)
        model.model.shared.weight[config["pad_token_id"]] = 0
    model.save_pretrained(folder)


def _add_noise(model, seed):
    random = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        weight.add_(0.3 * torch.randn(weight.shape, generator=random))
    bias = model.final_logits_bias
    bias.add_(torch.randn(bias.shape, generator=random))
    bias[0, model.config.eos_token_id] += END_BIAS
