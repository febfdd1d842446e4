"""Splitting texts into sentences and joining them again, byte for byte, in TensorFlow operations.

The served graph and `translate_documents` run the same functions, so they find the same sentences.

| file | step |
|---|---|
| `translation` | documents through `translate`, sentence by sentence |
| `long_texts` | texts of `translate` that are too long |
| `formats` | documents such as HTML and .docx, whose marks stay |
| `splitting` | texts to separators and sentences, and back; long sentences to parts |
| `sentence_ends` | the marks that end a sentence, and strings cut at given bytes |

Splitting only uses operations of TensorFlow and TensorFlow Text that stock TensorFlow Serving has.
"""
