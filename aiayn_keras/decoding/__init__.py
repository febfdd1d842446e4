"""Translation from text to text (paper 6.1), one file for each step.

| file | step |
|---|---|
| `search_options` | the options and the length penalty |
| `text_batches` | texts to padded batches of token ids |
| `translating` | texts to translations: prompts, length limits, the search, its results |
| `decoder_step` | one new token of every hypothesis, with the cache |
| `frozen_decoder` | the weights of the decoder, fused and cast once for a search |
| `beam_search` | the search over steps and its state |
| `candidates` | the best next tokens within the limits of the options |
| `constraints` | the tokens that a constraint allows |
| `beam_sampler` | `generate`: the search as a sampler of KerasHub |
| `scoring`, `attention_maps` | probabilities and attention of given translations |
| `recording` | a search with every step kept |

Nothing is imported here: each module is imported where it is used.
"""
