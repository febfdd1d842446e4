"""Documents with a format: their texts are found, translated and put back, all else stays.

| file | what it finds or does |
|---|---|
| `html`, `markdown`, `docx` | text between tags and marks |
| `subtitles`, `po`, `json_values`, `tables` | captions, entries, values, cells |
| `units` | texts, and the marks in them that stay |
| `unit_translation`, `tag_placement` | translations of sentences, and the places of marks in them |
| `document_files` | formats by name and ending; bytes in, bytes out |
"""
