"""Translation from text to text (paper 6.1), one file for each step.

| file | step |
|---|---|
| `search_options` | the options of a search |
| `translation_search` | the search for the translations of a batch, our own or another engine's |
| `cached_decoding` | one new token of every hypothesis, and the caches of keys and values |
| `frozen_decoder` | the weights of the decoder, fused and cast once for a search |
| `beam_search` | the search over steps, its state, and the scores of hypotheses |
| `candidates` | the best next tokens within the limits of the options |
| `constraints` | the tokens that a constraint allows |
| `beam_sampler` | `generate`: the search as a sampler of KerasHub |
| `scoring` | probabilities and attention of given translations |
| `recording` | a search with every step kept |

`aiayn_keras_light` has what needs no Keras: the numbers of a search and the formula of the length
penalty (`search_numbers`), and the ways from texts to batches and from token ids to texts.

Nothing is imported here: each module is imported where it is used.
"""
