"""A program that tokenizes pairs and writes one shard: `shard_worker.py TOKENIZER STEM DTYPE`.

It is run by its path, not imported: a process that does not load the package starts in a fraction
of a second and needs little memory, of which there is one for each core. It reads JSON lines, each
a list of `[source, target]`, and writes `STEM.array_record`, a record for a pair: the source ids
and then the target ids, as DTYPE; and `STEM.lengths.npy`, uint32 `(pairs, 2)`.
"""

import array
import json
import sys

import numpy as np
import sentencepiece
from array_record.python.array_record_module import ArrayRecordWriter


def main(tokenizer, stem, dtype):
    """Reads pairs from standard input until it ends; writes the two files of a shard."""
    processor = sentencepiece.SentencePieceProcessor(model_file=tokenizer)
    lengths = array.array("I")
    # With one record a group, each can be read alone.
    writer = ArrayRecordWriter(f"{stem}.array_record", "group_size:1")
    for line in sys.stdin.buffer:
        sources, targets = zip(*json.loads(line), strict=True)
        sides = processor.encode(list(sources)), processor.encode(list(targets))
        for source, target in zip(*sides, strict=True):
            writer.write(np.array(source + target, dtype=dtype).tobytes())
            lengths.extend((len(source), len(target)))
    writer.close()
    np.save(f"{stem}.lengths.npy", np.array(lengths, dtype="<u4").reshape(-1, 2))


if __name__ == "__main__":
    main(*sys.argv[1:])
