"""A reader of replay pages, written from docs/replay.md and not from the code that packs them."""
import base64
import json
import re
import zlib

import numpy

RUN = re.compile(
    r'<script type="application/json" class="perp-run">(.*?)</script>\s*'
    r'<script type="text/plain" class="perp-blob">(.*?)</script>', re.S)
PLAIN = {"f64": "<f8", "f32": "<f4", "i32": "<i4", "u8": "u1"}


def fixed(data, column):
    count, width = column["count"], column["width"]
    planes = numpy.frombuffer(data, "u1").reshape(4, width, count).astype("u4")
    zigzag = planes[0] | planes[1] << 8 | planes[2] << 16 | planes[3] << 24
    delta = (zigzag >> 1).astype("i8") ^ -(zigzag & 1).astype("i8")
    whole = numpy.cumsum(delta, axis=1)
    return numpy.array(column["origin"]) + numpy.array(column["scale"]) * whole.T


class Page:
    """One run of a page: header and columns."""

    def __init__(self, header, blob):
        self.header = json.loads(header)
        self.column = {}
        data = zlib.decompress(base64.b64decode(blob))
        self.inflated = len(data)
        for column in self.header["columns"]:
            part = data[column["at"]:column["at"] + column["bytes"]]
            assert len(part) == column["bytes"] and column["at"] % 8 == 0, column
            if column["kind"] == "fixed":
                values = fixed(part, column)
            else:
                values = numpy.frombuffer(part, PLAIN[column["kind"]])
                values = values.reshape(column["count"], column["width"])
            self.column[column["name"]] = values if column["width"] > 1 else values[:, 0]

    def __getitem__(self, name):
        return self.column[name]

    def track(self, body):
        """Pose (and velocity, spin) of a body in every frame of the page, between keys by rule."""
        rows = slice(*self["track.start"][body:body + 2])
        frame = self["track.frame"][rows]
        n = self.header["frames"]
        assert frame[0] == 0 and (len(frame) == 1 or frame[-1] == n - 1), frame
        assert (numpy.diff(frame) > 0).all()
        at = numpy.arange(n)
        position = numpy.stack([numpy.interp(at, frame, column)
                                for column in self["track.position"][rows].T], axis=1)
        if self.header["dimension"] == 2:
            return position, None
        q = self["track.orientation"][rows]
        left = numpy.clip(numpy.searchsorted(frame, at, side="right") - 1, 0, len(frame) - 1)
        right = numpy.clip(left + 1, 0, len(frame) - 1)
        span = numpy.maximum(frame[right] - frame[left], 1)
        s = ((at - frame[left]) / span)[:, None]
        dot = (q[left] * q[right]).sum(axis=1, keepdims=True)
        assert (dot > 0).all(), "signs must be continuous"
        angle = numpy.arccos(numpy.clip(dot, -1, 1))
        sine = numpy.where(angle > 1e-9, numpy.sin(angle), 1)
        u = numpy.where(angle > 1e-9, numpy.sin((1 - s) * angle) / sine, 1 - s)
        v = numpy.where(angle > 1e-9, numpy.sin(s * angle) / sine, s)
        turned = u * q[left] + v * q[right]
        return position, turned / numpy.linalg.norm(turned, axis=1, keepdims=True)


def read_pages(path):
    with open(path, encoding="ascii", errors="surrogateescape") as file:
        text = file.read()
    return [Page(*match.groups()) for match in RUN.finditer(text)]
