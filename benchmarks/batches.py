"""Batches of similar length, for systems that do not make them themselves."""


def map_by_length(function, items, lengths, batch_size):
    """Calls a function with batches, longest items first, and puts the results back in order.

    Args:
        function: From a list of items to a list of as many results.
        items: List.
        lengths: List of an item's lengths, by which batches are made.
        batch_size: Most items in a batch.

    Returns:
        List of results, one for an item.
    """
    order = sorted(range(len(items)), key=lambda i: -lengths[i])
    results = [None] * len(items)
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        outputs = function([items[i] for i in rows])
        for i, output in zip(rows, outputs, strict=True):
            results[i] = output
    return results


def count_words(texts):
    """Number of words of every text."""
    return [len(text.split()) for text in texts]
