"""The book: lessons, how-to pages and the reference of the API as a web site, by `make book`.

| file | content |
|---|---|
| `sources` | the pages in the repository, and the place of each in the book |
| `links` | links in pages, kept or redirected to the repository; the check of a built book |
| `lessons` | a notebook as the book shows it |
| `api` | the pages of the reference, one for each public package |
| `live` | pages that a reader can play with, made by the package |
| `stage` | writes everything into one folder, which Sphinx reads |
| `conf`, `mathml` | settings for Sphinx, and formulas without a script |
| `index.md`, `how_to.md` | the book's own pages |
"""
