"""`torch.nn.Transformer` with tied embeddings, as PyTorch's users write it."""

import contextlib
import math

import numpy as np

from benchmarks.speed.train_systems import (
    DROPOUT,
    LABEL_SMOOTHING,
    Trainer,
    load_batches,
)


def load_eager(task):
    return _load(task, compiled=False)


def load_compiled(task):
    return _load(task, compiled=True)


def _load(task, compiled):
    import torch

    model = _model(task).to(_device())
    if compiled:
        model.compile(dynamic=len(load_batches(task.batches)) > 1 or None)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    autocast = (
        contextlib.nullcontext
        if task.precision == "float32"
        else lambda: torch.autocast(_device(), getattr(torch, task.precision))
    )

    def step(batch):
        optimizer.zero_grad()
        with autocast():
            logits = model(batch)
            loss = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1).float(),
                batch["labels"].flatten(),
                label_smoothing=LABEL_SMOOTHING,
                ignore_index=0,
            )
        loss.backward()
        optimizer.step()
        return loss.item()

    return torch_trainer(step, load_batches(task.batches), compiled)


def torch_trainer(step, batches, compiled=False):
    """A `Trainer` that calls `step` with tensors."""
    import torch

    tensors = [
        {
            name: torch.from_numpy(array.astype(np.int64)).to(_device())
            for name, array in batch.items()
        }
        for batch in batches
    ]

    def run():
        for batch in tensors:
            loss = step(batch)
        return loss

    def count():
        return torch._dynamo.utils.counters["stats"]["unique_graphs"]

    return Trainer(run, batches, count if compiled else None)


def _device():
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _model(task):
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(task.vocabulary_size, task.hidden_dim)
            self.transformer = torch.nn.Transformer(
                task.hidden_dim,
                task.num_heads,
                task.num_layers,
                task.num_layers,
                task.intermediate_dim,
                DROPOUT,
                batch_first=True,
            )
            self.dropout = torch.nn.Dropout(DROPOUT)
            self.register_buffer("positions", _positions(1024, task.hidden_dim))

        def embed(self, token_ids):
            x = self.embedding(token_ids) * math.sqrt(task.hidden_dim)
            return self.dropout(x + self.positions[: token_ids.shape[1]])

        def forward(self, batch):
            is_padding = batch["encoder_padding_mask"] == 0
            length = batch["decoder_token_ids"].shape[1]
            future = torch.triu(torch.ones(length, length, dtype=torch.bool, device=_device()), 1)
            x = self.transformer(
                self.embed(batch["encoder_token_ids"]),
                self.embed(batch["decoder_token_ids"]),
                tgt_mask=future,
                src_key_padding_mask=is_padding,
                tgt_key_padding_mask=batch["decoder_padding_mask"] == 0,
                memory_key_padding_mask=is_padding,
                tgt_is_causal=False,
            )
            return x @ self.embedding.weight.T

    return Model().train()


def _positions(length, width):
    import torch

    angles = torch.arange(length)[:, None] / 10_000 ** (torch.arange(0, width, 2) / width)
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
