"""Builds the documentation: ``make docs``."""

import inspect
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from amaranth.lib import wiring

from beltline.host import __version__ as release

project = "Beltline"
author = "The Beltline authors"
copyright = author
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["**/.*", "tables"]

# Links to headings and equations between dollars, as code hosts have them.
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
add_module_names = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Sources"]

html_theme = "furo"
html_title = f"Beltline {release}"
html_show_sourcelink = False
html_copy_source = False
html_css_files = ["wide.css"]
html_static_path = ["static"]


def _unlink_folders(app: object, page: str, text: list[str]) -> None:
    """Leave the text of a link to a folder: code hosts show folders, and a site has no page for them."""
    text[0] = re.sub(r"\[([^]]+)]\([\w./-]+/\)", r"\1", text[0])


def _component_signature(
    app: object, what: str, name: str, thing: Any, options: object, arguments: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Show a component's own arguments: Amaranth's classes take any, and pass them on."""
    if what == "class" and issubclass(thing, wiring.Component):
        _, *own = inspect.signature(thing.__init__).parameters.values()
        plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in own]
        return str(inspect.Signature(plain)), returns
    return arguments, returns


def setup(app: Any) -> None:
    """Register what this file adds; Sphinx calls it."""
    app.connect("autodoc-process-signature", _component_signature)
    app.connect("source-read", _unlink_folders)
