"""Settings for Sphinx, which reads them by name; stages the book's sources first."""

import importlib.metadata
import re
import sys
from pathlib import Path

from sphinx.util import inspect

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def import_quietly():
    """Imports the package without the start-up messages of TensorFlow."""
    from aiayn_keras_cli.running import quiet_start

    with quiet_start():
        import aiayn_keras.models  # noqa: F401


import_quietly()

from book import mathml
from book.sources import BOOK, STAGED, repository
from book.stage import stage

stage(STAGED)

project = "aiayn_keras"
author = "the authors of aiayn_keras"
project_copyright = author
version = release = importlib.metadata.version("aiayn-keras")
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
html_theme = "pydata_sphinx_theme"
html_title = "aiayn_keras"
html_favicon = str(BOOK / "static/favicon.svg")
html_context = {"default_mode": "auto"}  # light or dark as the reader's system is
html_static_path = [str(BOOK / "static")]
html_css_files = ["book.css"]
html_js_files = ["book.js"]
html_extra_path = [str(STAGED / "extra")]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_theme_options = {
    "github_url": repository(),
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
# A page without pages below it has no list of them.
html_sidebars = {"index": [], "play": [], "docs/glossary": []}

nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a lesson may begin a level below its title

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

default_role = "py:obj"
add_module_names = False
toc_object_entries = False  # every name has a heading
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_attr_annotations = False  # docstrings say what attributes are
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_custom_sections = [("Call arguments", "params_style")]
python_maximum_signature_line_length = 80
nitpick_ignore_regex = [
    # Backticks hold any code; where it is a public name, it becomes a link to it.
    ("py:obj", "(?s).*"),
    # Names from other libraries, whose lists would come from the network.
    ("py:class", r"(keras|keras_hub|numpy|pathlib|tensorflow)\..*"),
    # The types of a recipe's fields, whose own fields docs/training.md describes.
    ("py:class", r"aiayn_keras\.training\.(recipe|model)_sections?\..*Section"),
]

FENCE = re.compile(r"^( *)```(\w+)$")
CODE = re.compile(r"`[^`]+`(?P<letter>\w?)")


def read_markdown(app, what, name, obj, options, lines):
    """Turns Markdown in a docstring into reStructuredText: fenced code, and letters after code."""
    inside = False
    for i, line in enumerate(lines):
        if not inside and (fence := FENCE.match(line)):
            inside, lines[i] = True, f"{fence[1]}.. code-block:: {fence[2]}\n"
        elif inside:
            inside = line.strip() != "```"
            lines[i] = f"    {line}" if inside else ""
    lines[:] = CODE.sub(part_letter, "\n".join(lines)).splitlines()


def part_letter(code):
    """Marks the end of `code` followed by a letter, as in the plural of a class."""
    letter = code["letter"]
    return f"{code[0].removesuffix(letter)}\\ {letter}" if letter else code[0]


def sign_classes(app, what, name, obj, options, signature, returned):
    """Gives a class the signature of its `__init__`; Keras layers' `__new__` takes anything."""
    if what != "class" or signature != "(*args, **kwargs)":
        return None
    arguments = inspect.signature(obj.__init__, bound_method=True)
    return inspect.stringify_signature(arguments, show_annotation=False), returned


def skip_fields_of_tuples(app, what, name, obj, skip, options):
    """Leaves out the fields of named tuples, which their class describes."""
    is_field = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if is_field else None


def setup(app):
    """Registers what settings cannot express."""
    app.add_html_math_renderer(
        "mathml", (mathml.visit_math, None), (mathml.visit_displayed_math, None)
    )
    app.connect("autodoc-process-docstring", read_markdown, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", sign_classes)
    app.connect("autodoc-skip-member", skip_fields_of_tuples)
