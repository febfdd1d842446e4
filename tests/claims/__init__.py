"""Programs of proof: each holds the package to one claim by the thousand, on demand.

The tests run a small sample of each, from a fixed seed. `make test-all` runs those in this list but
the last two, which need Chromium. The other programs of this folder measure, or need another
toolkit or a model as an argument: they are run by hand.

- `python -m tests.claims.kills`: a killed training goes on to the very same weights; the sample is
  `tests/training/test_kills.py`.
- `python -m tests.claims.runs`: a damaged training goes on to the very same weights, or is refused
  in one line; `tests/training/test_damaged_runs.py`.
- `python -m tests.claims.folders`: a damaged or foreign model folder or kit is refused in one line
  that names the file, and nothing of it is executed; `tests/models/test_hostile_folders.py`.
- `python -m tests.claims.arguments`: an impossible argument of a public function is refused by its
  name; the same test.
- `python -m tests.claims.data_kinds`: `fit`, `evaluate` and `predict` compute the same from every
  kind of data that Keras takes; `tests/models/test_data_kinds.py`.
- `python -m tests.claims.inputs`: hostile files, recipes, shards and options of the command are
  answered or refused in one line; `tests/cli/test_hostile_inputs.py`.
- `python -m tests.claims.names`, `sets` and `time`: jobs read and write what a name says, and only
  that, pair files by their names, and notice files that change; a mistake is refused in one line;
  `tests/scale/test_names_sets_and_time.py`.
- `python -m tests.claims.kit_ops`: the list of operations that kits may have is that of the
  exports; `tests/common/test_kit_graphs.py`.
- `python -m tests.claims.token_ids`: a SavedModel reads texts of all kinds of characters as Python
  does; `tests/export/test_token_ids.py`.
- `python -m tests.claims.engine_equality`: CTranslate2, as an engine of `translate`, finds what our
  own search finds, once Tatoeba's sentences are here; `tests/export/test_ctranslate2_engine.py`.
- `python -m tests.claims.hardening`: a served model answers hostile text, gives each text the same
  translation in any batch, and needs no more memory over time; `tests/export/test_hardening.py`.
- `python -m tests.claims.servers`: whatever a server sends, a client answers correctly or refuses
  with one clear error, in time and in little memory; `tests/serving/test_lying_servers.py`.
- `python -m tests.claims.served_texts`: a kit translates like its model folder, in a clean process
  and in a C program; `tests/export/test_saved_model.py`, `tests/export/test_served_documents.py`.
- `python -m tests.claims.documents`: hard texts are split into the sentences of a table;
  `tests/documents/test_splitting.py`.
- `python -m tests.claims.book`: every page of the built book opens in Chromium, wide and as on a
  phone, without an error and without scrolling sideways; `tests/book/test_pages.py`.
- `python -m tests.claims.play_page`: the page to type into translates as `translate` does, asks
  nobody else and can be used by everybody; `tests/book/test_play.py`.
"""
