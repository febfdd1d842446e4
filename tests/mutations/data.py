"""Mistakes in batches, shards and what a run keeps: accumulation, packing, resuming."""

from tests.mutations.mutation import mistakes_in

MUTATIONS = [
    *mistakes_in(
        "data/batch_arrays.py",
        "data/test_packed_batches.py",
        (
            "all sentences of a row are the first",
            "np.arange(len(rows)) - first + 1",
            "rows * 0 + 1",
        ),
        ("a packed sentence starts with the end before", "shifted[begins] = start_id", "pass"),
        (
            "sentences lie upon each other",
            "columns = before - before[first]",
            "columns = 0 * before",
        ),
    ),
    *mistakes_in(
        "data/first_fit.py",
        "data/test_first_fit.py",
        ("only one side needs room", "& (target_left[:opened] >= target)", ""),
        ("short pairs first", "np.argsort(-(source_lengths", "np.argsort((source_lengths"),
        ("chunks share rows", "rows[chunk] = num_rows + _pack", "rows[chunk] = _pack"),
    ),
    *mistakes_in(
        "data/packed_batches.py",
        "data/test_packed_batches.py",
        (
            "rows are not shuffled",
            "self._swapped_pairs(rng), rng.permutation(rows)",
            "self._swapped_pairs(rng), rows",
        ),
        ("neighbours stay", "pairs, rows = self._swapped_pairs(rng), ", "rows = "),
        (
            "all epochs alike",
            "np.random.default_rng([self.seed, epoch])",
            "np.random.default_rng(0)",
        ),
    ),
    *mistakes_in(
        "data/update_batches.py",
        "data/test_update_batches.py training/test_accumulation.py",
        (
            "a batch divides by its own tokens",
            "self.batches_per_update / real_tokens",
            "1 / real_tokens",
        ),
        ("the neighbour's batch", "(update)[place]", "(update)[-1 - place]"),
    ),
    *mistakes_in(
        "data/token_shards.py",
        "data/test_token_shards.py",
        ("sides are swapped", "np.tile([True, False]", "np.tile([False, True]"),
        (
            "numbers of the pairs before the filter",
            "self._numbers[numbers].tolist()",
            "numbers.tolist()",
        ),
        ("a damaged index is used", "if digest != shard", "if not digest and shard"),
    ),
    *mistakes_in(
        "data/sampled_pairs.py",
        "data/test_sampled_pairs.py",
        ("all epochs alike", "default_rng([self.seed, epoch])", "default_rng([self.seed])"),
        ("what is too long is kept", "if len(ids) <= room", "if True"),
        (
            "drawn by what was drawn before",
            "set_random_generator_seed(seed)",
            "SetRandomGeneratorSeed(1)",
        ),
    ),
    *mistakes_in(
        "training/checkpoints.py",
        "training/test_checkpoints.py",
        (
            "the checksum is not looked at",
            "if digest != _NAME.fullmatch(path.name)[2]",
            "if not digest",
        ),
        (
            "the oldest checkpoint is used",
            "for update, path in reversed(list_checkpoints(folder))",
            "for update, path in list_checkpoints(folder)",
        ),
        ("the best is deleted", "if update != best", "if True"),
    ),
    *mistakes_in(
        "training/validation_history.py",
        "training/test_validation_history.py",
        ("the lowest BLEU is best", 'return -row["val_bleu"]', 'return row["val_bleu"]'),
        ("patience counts from the start", 'row["updates"] > best', 'row["updates"] > 0'),
    ),
    *mistakes_in(
        "training/running_mean.py",
        "training/test_running_mean.py",
        ("the mean stays", "_assign(model.trainable_variables, kept)", "pass"),
        ("validation without the mean", "enter_context(mean_weights(self.model))", "close()"),
    ),
    *mistakes_in(
        "training/recipe_sections.py",
        "training/test_accumulation.py",
        ("the mean moves with every batch", "** (1 / batches)", ""),
        ("batches are steps", "gradient_accumulation_steps=batches,\n        )", ")"),
    ),
]
