"""Faults of parallel text: dirt, repeats, and sides that do not correspond.

`check_pairs` finds them all. The characters' encoding is judged by ftfy, languages by py3langid and
scripts by fontTools.
"""

from aiayn_keras.data.checking.corpus_check import KINDS, CorpusCheck, Finding, check_pairs

__all__ = ["KINDS", "CorpusCheck", "Finding", "check_pairs"]
