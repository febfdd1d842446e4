"""Corpora of any size, in parts, by processes of this machine or on a Ray cluster.

`preparation.prepare` tokenizes a recipe's text, `translation.translate_files` translates files; an
`engines.Engine` says who does the work. Nothing is imported here: workers that tokenize start
without Keras.
"""
