"""Parts tokenized into shards.

Workers import this module without Keras, so that they start soon and need little memory.
"""

import sentencepiece

from aiayn_keras.common.addresses import join, whole_file
from aiayn_keras.data.shard_writer import ENDINGS, split_into_shards, write_shard
from aiayn_keras.data.token_shards import facts_of
from aiayn_keras.scale.job import Job, stem_of
from aiayn_keras.scale.part_lines import BadLine, read_pairs
from aiayn_keras.scale.work import PartWork


class TokenizingWork(PartWork):
    """Tokenizes parts into shards.

    Args:
        output: As in `Job`.
        proto: A SentencePiece model.
        dtype: NumPy's name of the type of the ids.
        most_pairs: As in `write_shards`.
    """

    def __init__(self, output, proto, dtype, most_pairs):
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
        self._output, self._dtype, self._most_pairs = output, dtype, most_pairs

    def write(self, part):
        """Writes the shards of a `Part`; see `PartWork`."""
        bad, files, records = [], {}, {}
        pairs = _usable(read_pairs(part), bad)
        for number, some in enumerate(split_into_shards(pairs, self._most_pairs)):
            name = f"{stem_of(part)}-{number:05d}"
            records[name] = self._write_shard(name, some, files)
        lines = sum(records.values()) + len(bad)
        return Job(self._output, [part]).finish_part(part, lines, bad, files, records)

    def _write_shard(self, name, pairs, files):
        addresses = [join(self._output, f"{name}.{ending}") for ending in ENDINGS]
        with whole_file(addresses[0]) as records, whole_file(addresses[1]) as lengths:
            count = write_shard(pairs, self._processor, self._dtype, records, lengths)
            for path in (records, lengths):
                files[path.name] = facts_of(path)
        return count


def _usable(rows, bad):
    """Gives the pairs among rows, and notes the others in a list, by line."""
    for line, row in enumerate(rows, start=1):
        if isinstance(row, BadLine):
            bad.append((line, row.reason))
        else:
            yield row
