"""Mistakes in loss, metrics and schedule (paper 5), and in what the model adds to Keras."""

from tests.mutations.mutation import mistakes_in

MUTATIONS = [
    *mistakes_in(
        "optimization/label_smoothing.py",
        "optimization/test_label_smoothing.py",
        (
            "the label keeps all its weight",
            "log_normalizer - (1.0 - label_smoothing) * of_label",
            "log_normalizer - of_label",
        ),
        ("smoothing towards the best guess", "ops.mean(scores, axis=-1)", "ops.max(scores, -1)"),
        ("no smoothing by default", "label_smoothing=0.1,", "label_smoothing=0.0,"),
        (
            "padding divides the loss",
            'reduction="mean_with_sample_weight"',
            'reduction="sum_over_batch_size"',
        ),
        ("half-precision loss", 'scores = ops.cast(logits, "float32")', "scores = logits"),
        (
            "the label's gradient is not smoothed",
            "ops.where(is_label, on_label,",
            "ops.where(is_label, 1.0,",
        ),
        ("gradients do not know what follows", "* ops.expand_dims(upstream, axis=-1)", "* 1.0"),
    ),
    *mistakes_in(
        "optimization/metrics.py",
        "optimization/test_metrics.py",
        ("padding counts", "sample_weight=sample_weight)", "sample_weight=None)"),
        ("the loss, not the perplexity", "ops.exp(super().result())", "super().result()"),
        (
            "a mean of accuracy without its weights",
            "class TokenAccuracy(keras.metrics.SparseCategoricalAccuracy)",
            "class TokenAccuracy(keras.metrics.SparseTopKCategoricalAccuracy)",
        ),
    ),
    *mistakes_in(
        "optimization/warmup_schedule.py",
        "optimization/test_warmup_schedule.py",
        ("steps count from 0", 'ops.cast(update, "float32") + 1.0', 'ops.cast(update, "float32")'),
        ("batches are steps", "self.gradient_accumulation_steps)", "1)"),
        ("the larger of the two", "ops.minimum(rise, decay)", "ops.maximum(rise, decay)"),
        ("decay with the step itself", "ops.rsqrt(rise)", "1.0 / rise"),
        ("a peak without its warm-up", "(self.hidden_dim * self.warmup_steps)", "self.hidden_dim"),
        ("a given peak is not used", "if peak is None:", "if True:"),
    ),
    *mistakes_in(
        "models/transformer_seq2seq_lm.py",
        "models/test_transformer_seq2seq_lm.py",
        ("another Adam", "beta_2=0.98", "beta_2=0.999"),
        ("the wrong width's schedule", "(self.backbone.hidden_dim)", "(self.backbone.num_heads)"),
        ("texts are shuffled away from what follows", "shuffle=shuffle", "shuffle=not shuffle"),
        (
            "the length penalty is not passed on",
            "BeamSampler(num_beams, length_penalty, coverage",
            "BeamSampler(num_beams, 0.6, coverage",
        ),
    ),
    *mistakes_in(
        "models/transformer_seq2seq_lm.py",
        "models/test_lora_and_quantization.py",
        ("what is compiled stays compiled", "tuple(map(id, model.variables))", "()"),
        (
            "the tokenizer is quantized",
            "self.backbone.quantize(mode, config=config, **kwargs)",
            "super().quantize(mode, config=config, **kwargs)",
        ),
    ),
]
