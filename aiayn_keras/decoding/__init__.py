"""The way of a sentence from text to text (paper 6.1), one file a step.

| file | step |
|---|---|
| `search_options` | the options, in the one place where they are written |
| `translating` | texts to batches, through a search, and back; with `text_batches`, `hypotheses` |
| `documents` | texts of any length to sentences and back; with the package `sentences` |
| `generation` | token ids to token ids: prompts and length limits of a batch |
| `decoder_step` | one new token of every hypothesis; with `frozen_decoder`, `cache` |
| `beam_search` | the search over steps; with `beam_state`, `finished_sentences`, `length_penalty` |
| `candidates` | the best next tokens; with `token_limits`, `repetition`, `constraints` |
| `beam_sampler` | the search as a sampler of KerasHub's |
| `scoring`, `attention_maps` | given translations: their probabilities, their attention |
| `recording` | every step of a search, to look at; with `search_record` |

Nothing is imported here, so that the command reads the options without loading Keras.
"""
