"""The methods of a model that show how it comes to a translation."""

from aiayn_keras.decoding.attention_maps import compute_attention_maps
from aiayn_keras.decoding.recording import record_search
from aiayn_keras.decoding.search_options import SearchOptions


class Inspection:
    """A base of `TransformerSeq2SeqLM`: its attention, and the steps of its search."""

    def attention_maps(self, source, target):
        """Attention weights of every layer and head for one pair, see `AttentionMaps`.

        Args:
            source: A string.
            target: A string, such as the translation.
        """
        return compute_attention_maps(self.backbone, self._tokenizer, source, target)

    def record_search(
        self,
        source,
        beam_counts=(1, 2, 3, 4, 5),
        length_penalties=(0.0, 0.6, 1.0),
        **search_options,
    ):
        """Searches for translations of a text as `translate` does, and keeps every step.

        Each number of beams is searched with each exponent. The searches are those of `translate`,
        run one step at a time; `aiayn_keras.plotting.decoding_steps` makes a page of them.

        Args:
            source: A string with at least one word.
            beam_counts: Numbers of beams.
            length_penalties: Exponents α of the length penalty.
            **search_options: The other fields of `SearchOptions`.

        Returns:
            `aiayn_keras.decoding.search_record.SearchRecord`.

        Raises:
            ValueError: For a text without words, one that is too long for the model, no beam count
                or exponent at all, options out of range, and where there is no translation.
        """
        if not beam_counts or not length_penalties:
            raise ValueError(
                "There must be at least one of `beam_counts` and of `length_penalties`. "
                f"Received: beam_counts={beam_counts}, length_penalties={length_penalties}."
            )
        options = [
            [SearchOptions(num_beams, alpha, **search_options) for alpha in length_penalties]
            for num_beams in beam_counts
        ]
        return record_search(self.backbone, self._tokenizer, source, options)
