"""Sphinx configuration."""

import warnings
from importlib.metadata import version as installed_version
from importlib.util import find_spec

project = "noisewise"
author = "the noisewise authors"
copyright = "2026, the noisewise authors"
release = installed_version("noisewise")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "gallery/**/*.ipynb"]
html_theme = "pydata_sphinx_theme"
html_title = "noisewise"
html_static_path = ["_static"]
html_css_files = ["noisewise.css"]
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 6,
}
html_show_sourcelink = False

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
templates_path = ["_templates"]
autosummary_generate = True
autodoc_mock_imports = [] if find_spec("torch") else ["torch"]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "abort_on_example_error": True,
    "capture_repr": (),  # no legends and texts in print
}
suppress_warnings = ["config.cache"]
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
