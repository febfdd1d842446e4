"""Architectures by name: every row of the paper's Table 3, its parser, and a tiny one.

`config` are constructor arguments of `TransformerBackbone`; those not named are the paper's base.
`label_smoothing` is what the row is trained with (paper 5.4); recipes take it from here.
"""


def _row(letter, what, label_smoothing=0.1, **config):
    return {
        "description": f"Table 3, row ({letter}): {what}.",
        "config": config,
        "label_smoothing": label_smoothing,
    }


TRANSFORMER_PRESETS = {
    "transformer_tiny": {
        "description": "4+4 layers for corpora of some ten thousand sentences, such as Multi30k "
        "(Wu et al. 2021, https://aclanthology.org/2021.acl-long.480).",
        "config": {
            "num_layers": 4,
            "num_heads": 4,
            "hidden_dim": 128,
            "intermediate_dim": 256,
            "dropout": 0.3,
        },
        "label_smoothing": 0.1,
    },
    "transformer_base": {
        "description": "The paper's base model (Table 3, row base).",
        "config": {},
        "label_smoothing": 0.1,
    },
    "transformer_base_h1": _row("A", "one head of 512", num_heads=1),
    "transformer_base_h4": _row("A", "4 heads of 128", num_heads=4),
    "transformer_base_h16": _row("A", "16 heads of 32", num_heads=16),
    "transformer_base_h32": _row("A", "32 heads of 16", num_heads=32),
    "transformer_base_k16": _row("B", "narrower queries and keys", key_dim=16),
    "transformer_base_k32": _row("B", "narrower queries and keys", key_dim=32),
    "transformer_base_n2": _row("C", "2+2 layers", num_layers=2),
    "transformer_base_n4": _row("C", "4+4 layers", num_layers=4),
    "transformer_base_n8": _row("C", "8+8 layers", num_layers=8),
    "transformer_base_d256": _row("C", "half the width, heads of 32", hidden_dim=256),
    "transformer_base_d1024": _row("C", "twice the width, heads of 128", hidden_dim=1024),
    "transformer_base_f1024": _row("C", "half as wide inside", intermediate_dim=1024),
    "transformer_base_f4096": _row("C", "twice as wide inside", intermediate_dim=4096),
    "transformer_base_dropout_00": _row("D", "no dropout", dropout=0.0),
    "transformer_base_dropout_02": _row("D", "twice the dropout", dropout=0.2),
    "transformer_base_smoothing_00": _row("D", "no label smoothing", label_smoothing=0.0),
    "transformer_base_smoothing_02": _row("D", "twice the label smoothing", label_smoothing=0.2),
    "transformer_base_learned": _row(
        "E", "learned positions, a table on either side", position_embedding="learned"
    ),
    "transformer_big": {
        "description": "The paper's big model (Table 3, row big).",
        "config": {
            "num_heads": 16,
            "hidden_dim": 1024,
            "intermediate_dim": 4096,
            "dropout": 0.3,
        },
        "label_smoothing": 0.1,
    },
    "transformer_parsing": {
        "description": "The paper's parser (section 6.3): 4+4 layers of width 1024. Dropout, which "
        "the paper chose on Section 22 and does not print, is that of tensor2tensor's "
        "transformer_parsing_base.",
        "config": {
            "num_layers": 4,
            "hidden_dim": 1024,
            "dropout": 0.2,
            "attention_dropout": 0.2,
        },
        "label_smoothing": 0.1,
    },
}
"""By name: arguments of `TransformerBackbone` that differ from those of base, a description, and
the label smoothing of the training."""
