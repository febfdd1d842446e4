"""The part of the package that does not need Keras, so that what it does starts at once.

`aiayn_keras` is built on it, and the command `aiayn-keras translate` translates with it alone where
CTranslate2 can. NumPy is imported at once; except in `progress` and `piece_tokenizer`, all other
packages are imported by the functions that use them.

| file | task |
|---|---|
| `checks`, `files`, `text_files`, `progress` | arguments, files, lines of text, progress bars |
| `document_formats` | the formats of documents, by their endings, and the columns of tables |
| `search_numbers` | the numbers that control a search, and the length penalty |
| `placeables` | URLs, e-mail addresses, `{name}` and the like, kept as they are |
| `text_batches` | texts to padded batches of token ids |
| `translating` | texts to translations: prompts, length limits, a search, its results |
| `piece_tokenizer` | texts to wordpieces and back, by SentencePiece |
| `ctranslate2_search` | the search of a batch by CTranslate2, with the results of our own |
| `converted_model` | texts to translations by a model converted for CTranslate2, and their cache |
"""
