"""Batches of similar length, for systems that do not make them themselves."""

from concurrent.futures import ThreadPoolExecutor


def map_by_length(function, items, lengths, batch_size, threads=1):
    """Calls a function with batches, longest items first, and puts the results back in order.

    Args:
        function: Function from a list of items to a list of results of equal length.
        items: List.
        lengths: List of an item's lengths, which decide its batch.
        batch_size: Maximum number of items in a batch.
        threads: Number of batches under way at once.

    Returns:
        List of results, one per item.
    """
    order = sorted(range(len(items)), key=lambda i: -lengths[i])
    results = [None] * len(items)
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    with ThreadPoolExecutor(threads) as executor:
        outputs = executor.map(function, [[items[i] for i in rows] for rows in batches])
        for rows, outputs_of_batch in zip(batches, outputs, strict=True):
            for i, output in zip(rows, outputs_of_batch, strict=True):
                results[i] = output
    return results


def count_words(texts):
    """Number of words of every text."""
    return [len(text.split()) for text in texts]
