"""JoeyNMT, in its own environment; see `benchmarks.speed.train`."""

from types import SimpleNamespace

import numpy as np

from benchmarks.speed.train_systems import DROPOUT, LABEL_SMOOTHING, load_batches
from benchmarks.speed.train_torch import torch_trainer

UNK, PAD, BOS, EOS = range(4)


def _swap_first_ids(batch):
    """JoeyNMT has the unknown word at 0 and padding at 1; our batches have the opposite."""
    swapped = np.arange(2)[::-1]
    for name in ("encoder_token_ids", "decoder_token_ids", "labels"):
        ids = batch[name]
        batch[name] = np.where(ids < 2, swapped[np.minimum(ids, 1)], ids)
    return batch


def load(task):
    import torch
    from joeynmt.model import build_model
    from joeynmt.vocabulary import Vocabulary

    words = [f"t{i}" for i in range(task.vocabulary_size - 4)]
    special = SimpleNamespace(
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        sep_token=None,
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        sep_id=None,
        lang_tags=[],
    )
    vocabulary = Vocabulary(words, special)
    side = {
        "type": "transformer",
        "num_layers": task.num_layers,
        "num_heads": task.num_heads,
        "hidden_size": task.hidden_dim,
        "ff_size": task.intermediate_dim,
        "dropout": DROPOUT,
        "embeddings": {"embedding_dim": task.hidden_dim, "scale": True, "dropout": DROPOUT},
    }
    model = build_model(
        {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": dict(side),
            "decoder": dict(side),
        },
        src_vocab=vocabulary,
        trg_vocab=vocabulary,
    )
    model.loss_function = "crossentropy", LABEL_SMOOTHING
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)

    def step(batch):
        optimizer.zero_grad()
        source_mask = (batch["encoder_padding_mask"] > 0).unsqueeze(1)
        target_mask = (batch["decoder_padding_mask"] > 0).unsqueeze(1)
        loss, *_ = model(
            return_type="loss",
            src=batch["encoder_token_ids"],
            src_mask=source_mask,
            src_length=source_mask.sum(dim=(1, 2)),
            trg_input=batch["decoder_token_ids"],
            trg=batch["labels"],
            trg_mask=target_mask,
        )
        loss = loss / target_mask.sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    batches = list(map(_swap_first_ids, load_batches(task.batches)))
    return torch_trainer(step, batches)
