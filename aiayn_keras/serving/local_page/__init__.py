"""A local web page for one person to look at a model on one machine, not for production."""

from aiayn_keras.serving.local_page.folder_translator import FolderTranslator
from aiayn_keras.serving.local_page.kit_translator import KitTranslator, find_version
from aiayn_keras.serving.local_page.page import Application, PageFacts
from aiayn_keras.serving.local_page.server import listen, open_server

__all__ = [
    "Application",
    "FolderTranslator",
    "KitTranslator",
    "PageFacts",
    "find_version",
    "listen",
    "open_server",
]
