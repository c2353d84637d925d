"""The replay page of a recording, alone and inside a notebook."""
from __future__ import annotations

import base64
import html
from typing import Any

from . import _core


def page(path: Any) -> str:
    """The page as one HTML text that needs no network."""
    parts = _core.page(path)
    if parts is None:
        return ("<!doctype html><p>This perp was built without the replay page: install nodejs and npm, "
                "and build again with a network.</p>")
    head, header, blob, tail = parts
    run = ('<script type="application/json" class="perp-run">' + header + "</script>\n"
           '<script type="text/plain" class="perp-blob">' + base64.b64encode(blob).decode("ascii")
           + "</script>\n")
    return str(head, "utf-8") + run + str(tail, "utf-8")


def frame(text: str, height: int = 480) -> str:
    """The page inside another one: its text is in the frame's attribute, so that no server is asked."""
    return (f'<iframe srcdoc="{html.escape(text)}" width="100%" height="{height}" '
            'style="border:0" allow="fullscreen"></iframe>')
