"""Translation from text to text (paper 6.1), one file for each step.

| file | step |
|---|---|
| `search_options` | the options of a search |
| `translation_search` | the search for the translations of a batch, by us or another engine |
| `cached_decoding` | one new token of every hypothesis, and the caches of keys and values |
| `frozen_decoder` | the weights of the decoder, fused and cast once for a search |
| `beam_search` | the search over steps and its state |
| `candidates` | the best next tokens within the limits of the options |
| `constraints` | the tokens that a constraint allows |
| `beam_sampler` | `generate`: the search as a sampler of KerasHub |
| `scoring` | probabilities and attention of given translations |
| `recording` | a search with every step kept |

Texts become batches, and what is found becomes texts, in `aiayn_keras_light`.

Nothing is imported here: each module is imported where it is used.
"""
