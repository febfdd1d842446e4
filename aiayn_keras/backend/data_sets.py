"""Data sets for `fit` whose batches change their shapes."""

import keras
from keras import tree


def with_free_shapes(dataset):
    """A data set of whose batches no dimension is taken to stay as it is.

    Of a Grain data set Keras' TensorFlow trainer takes those for fixed on which the first two
    batches agree, and refuses a later batch with another size.

    Args:
        dataset: A `grain.IterDataset` of nested tuples and dictionaries of arrays.

    Returns:
        On TensorFlow a `tf.data.Dataset` of the same batches, elsewhere `dataset`.
    """
    if keras.config.backend() != "tensorflow":
        return dataset
    import tensorflow as tf

    signature = tree.map_structure(
        lambda array: tf.TensorSpec([None] * array.ndim, array.dtype), next(iter(dataset))
    )
    return tf.data.Dataset.from_generator(lambda: iter(dataset), output_signature=signature)
