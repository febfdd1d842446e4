"""Architectures by name: the paper's models, and a tiny one for small corpora.

Values are constructor arguments of `TransformerBackbone`; those not named are the paper's base.
"""

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
    },
    "transformer_base": {
        "description": "The paper's base model (Table 3, row base).",
        "config": {},
    },
    "transformer_big": {
        "description": "The paper's big model (Table 3, row big).",
        "config": {
            "num_heads": 16,
            "hidden_dim": 1024,
            "intermediate_dim": 4096,
            "dropout": 0.3,
        },
    },
}
