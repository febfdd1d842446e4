"""Texts to sentences and back, byte for byte, in TensorFlow's ops.

The served graph and `translate_documents` run the same functions, so they give the same sentences.

| file | step |
|---|---|
| `splitting` | texts to separators and sentences, and back |
| `marks` | the marks that end a sentence, told from those that do not |
| `layout` | spaces, bullets and numbers around a sentence |
| `long_sentences` | a sentence of too many wordpieces to parts |
| `cutting` | strings to parts at given bytes |

Every op is one of TensorFlow's or TensorFlow Text's that stock TensorFlow Serving has.
"""
