"""The book: lessons, how-to pages and the reference of the API as a web site, by `make book`.

| file | content |
|---|---|
| `sources` | the pages that are in the repository, and where each stands in the book |
| `links` | links of pages: kept, or led to the repository; and the check of those of a built book |
| `lessons` | a notebook as the book shows it |
| `api` | the pages of the reference, one for each public package |
| `live` | pages that a reader can play with, made by the package |
| `stage` | writes all of it into one folder, which Sphinx reads |
| `conf`, `mathml` | settings of Sphinx, and formulas without a script |
| `index.md`, `how_to.md` | the pages that are the book's own |
"""
