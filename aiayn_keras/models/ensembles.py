"""Models whose probabilities are averaged."""


def check_one_vocabulary(models):
    """Refuses models whose token ids do not mean the same.

    Args:
        models: Tuple of `TransformerSeq2SeqLM`s; those without tokenizer count by their size.

    Raises:
        ValueError: If sizes or tokenizers differ.
    """
    sizes = [model.backbone.vocabulary_size for model in models]
    if len(set(sizes)) > 1:
        raise ValueError(f"`ensemble` must be of one vocabulary. Received sizes: {sizes}.")
    tokenizers = [model.preprocessor.tokenizer for model in models if model.preprocessor]
    if len({(each.proto, each.target_proto, each.source_end) for each in tokenizers}) > 1:
        raise ValueError(
            "`ensemble` must be of one vocabulary. Received models of one size whose tokenizers "
            "differ: only models trained with one tokenizer go together."
        )
