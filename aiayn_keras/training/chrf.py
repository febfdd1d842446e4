"""chrF by sacreBLEU (https://aclanthology.org/W15-3049): overlap of characters, not of words."""

from dataclasses import dataclass

import sacrebleu

from aiayn_keras.training.bleu import check_sides


@dataclass(frozen=True)
class ChrfScore:
    """A corpus chrF2.

    Attributes:
        score: chrF2, 0 to 100: F-score of n-grams of 1 to 6 characters, recall weighing twice.
        signature: sacreBLEU's signature; only scores with the same one are comparable.
    """

    score: float
    signature: str

    def __str__(self):
        return f"chrF2 = {self.score:.2f} {self.signature}"


def corpus_chrf(hypotheses, references, lowercase=False):
    """chrF2 of translations against one reference each.

    Args:
        hypotheses: List of strings.
        references: List of strings, one for a hypothesis, at least one.
        lowercase: Whether to ignore case.

    Returns:
        A `ChrfScore`.

    Raises:
        ValueError: For lists of different lengths, or empty ones.
    """
    check_sides(hypotheses, references)
    chrf = sacrebleu.CHRF(lowercase=lowercase)
    result = chrf.corpus_score(hypotheses, [references])
    return ChrfScore(score=result.score, signature=str(chrf.get_signature()))
