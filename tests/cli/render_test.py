"""perp render: pictures and films where chromium and ffmpeg are, a plain message where not."""
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib

from _cli import PERP, main, perp, test, write_planar, write_scene

import numpy

if "built without the replay page" in perp("replay", "none.h5", status=2).err:
    print("skipped: this perp was built without the replay page")
    sys.exit(77)
CHROMIUM = any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome",
                                               "google-chrome-stable", "chrome"))


def needs_chromium(function):
    def wrapper():
        if CHROMIUM:
            function()
        else:
            print("without chromium:", function.__name__)
    wrapper.__name__ = function.__name__
    return wrapper


def pixels(data):
    """Rows of an 8-bit RGB or RGBA PNG, by its specification."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, = struct.unpack(">I", data[at:at + 4])
        kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6)
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    step = 3 if colour == 2 else 4
    raw = numpy.frombuffer(zlib.decompress(packed), "u1").reshape(height, 1 + width * step)
    out = numpy.zeros((height, width * step), "u1")
    for y in range(height):
        line = raw[y, 1:].astype(int)
        above = out[y - 1].astype(int) if y else numpy.zeros_like(line)
        kind = raw[y, 0]
        if kind == 2:
            out[y] = line + above
        elif kind == 0:
            out[y] = line
        else:
            left = numpy.zeros(step, int)
            corner = numpy.zeros(step, int)
            for x in range(0, width * step, step):
                up = above[x:x + step]
                if kind == 1:
                    guess = left
                elif kind == 3:
                    guess = (left + up) // 2
                else:
                    p = left + up - corner
                    a, b, c = abs(p - left), abs(p - up), abs(p - corner)
                    guess = numpy.where((a <= b) & (a <= c), left, numpy.where(b <= c, up, corner))
                left = (line[x:x + step] + guess) & 255
                corner = up
                out[y, x:x + step] = left
    return out.reshape(height, width, step)[:, :, :3]


def record():
    perp("run", write_scene(), "--quiet", "--out", "r.h5")


def path_with(**programs):
    """A PATH of scripts only."""
    os.makedirs("bin", exist_ok=True)
    for name, text in programs.items():
        with open(f"bin/{name}", "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(f"bin/{name}", 0o755)
    os.makedirs("tmp", exist_ok=True)
    return dict(os.environ, PATH=os.path.abspath("bin"), TMPDIR=os.path.abspath("tmp"))


def nothing_left(*expected):
    assert os.listdir("tmp") == [], os.listdir("tmp")
    assert sorted(os.listdir(".")) == sorted(["bin", "r.h5", "scene.json", "tmp", *expected])


@test
def what_is_missing_is_named():
    record()
    env = path_with()
    result = perp("render", "r.h5", "-o", "p.png", "--json", status=2, env=env)
    assert "chromium, which is not installed" in result.err and "perp replay" in result.err
    assert result.json["status"] == "bad-input"
    env = path_with(chromium="exit 0\n")
    for out in ("f.mp4", "f.gif"):
        result = perp("render", "r.h5", "-o", out, status=2, env=env)
        assert "needs ffmpeg, which is not installed" in result.err, result.err
    nothing_left()


@test
def a_browser_that_fails_is_quoted():
    record()
    env = path_with(chromium="echo 'no display, no luck' >&2\nexit 1\n")
    result = perp("render", "r.h5", "-o", "p.png", status=3, env=env)
    assert "chromium has gone: no display, no luck" in result.err, result.err
    env = path_with(chromium="printf 'rubbish\\0' >&4\nread x <&3\n")
    result = perp("render", "r.h5", "-o", "p.png", status=3, env=env)
    assert "no JSON" in result.err, result.err
    nothing_left()


@test
def options_are_checked():
    record()
    for args, words in (
            ((), "say where to"), (("-o", "p.jpg"), ".mp4, .gif or .png"),
            (("-o", "r.h5"), ".mp4, .gif or .png"), (("-o", "p.png", "--size", "0x0"), "--size"),
            (("-o", "p.mp4", "--size", "641x360"), "even"),
            (("-o", "p.mp4", "--fps", "0"), "--fps: must be > 0"),
            (("-o", "p.mp4", "--speed", "x"), "--speed: must be > 0"),
            (("-o", "p.mp4", "--time", "1"), "is for a picture"),
            (("-o", "p.png", "--time", "soon"), "must be a number")):
        result = perp("render", "r.h5", *args, status=2)
        assert words in result.err, result.err


@test
@needs_chromium
def a_picture_shows_its_time_and_its_overlays():
    record()
    os.makedirs("tmp")
    env = dict(os.environ, TMPDIR=os.path.abspath("tmp"))
    picture = {}
    for name, args in (("begin", ("--time", "0")), ("later", ("--time", "0.5")),
                       ("forces", ("--time", "0.5", "--overlay", "forces", "--overlay",
                                   "velocities"))):
        perp("render", "r.h5", "-o", "p.png", "--size", "320x240", *args, env=env)
        picture[name] = pixels(open("p.png", "rb").read()).astype(int)
        assert picture[name].shape == (240, 320, 3)
        assert picture[name].std() > 5, "the picture is blank"
    assert (numpy.abs(picture["begin"] - picture["later"]).max(axis=2) > 30).sum() > 100
    assert (numpy.abs(picture["forces"] - picture["later"]).max(axis=2) > 30).sum() > 50
    assert "has no t = 7: it goes from 0 to 1" in perp(
        "render", "r.h5", "-o", "p.png", "--time", "7", status=2, env=env).err
    result = perp("render", "r.h5", "-o", "q.png", "--overlay", "force", status=2, env=env)
    assert "did you mean 'forces'?" in result.err, result.err
    assert "cannot write" in perp("render", "r.h5", "-o", "no/p.png", status=2, env=env).err
    assert os.listdir("tmp") == []
    assert sorted(os.listdir(".")) == ["p.png", "r.h5", "scene.json", "tmp"]


@test
@needs_chromium
def a_film_has_every_frame():
    perp("run", write_planar(), "--quiet", "--out", "r.h5")
    # an ffmpeg that keeps the pictures
    os.makedirs("bin")
    here = os.getcwd()
    with open("bin/ffmpeg", "w") as file:
        file.write(f'#!/bin/sh\nprintf "%s\\n" "$@" > {here}/args\ncat > {here}/stream\n'
                   'for last; do :; done\necho film > "${last#file:}"\n')
    os.chmod("bin/ffmpeg", 0o755)
    env = dict(os.environ, PATH=os.path.abspath("bin") + ":" + os.environ["PATH"])
    perp("render", "r.h5", "-o", "-f.mp4", "--fps", "10", "--size", "160x120", env=env)
    assert open("-f.mp4").read() == "film\n"
    args = open("args").read().split("\n")
    assert args[args.index("-framerate") + 1] == "10" and "libx264" in args
    stream = open("stream", "rb").read()
    frames = [b"\x89PNG" + part for part in stream.split(b"\x89PNG")[1:]]
    assert len(frames) == 6  # 0, 0.1, ... 0.5
    shown = [pixels(frame).astype(int) for frame in frames]
    assert (numpy.abs(shown[0] - shown[-1]).max(axis=2) > 30).sum() > 50
    with open("bin/ffmpeg", "w") as file:
        file.write("#!/bin/sh\necho 'Unknown encoder' >&2\nexit 1\n")
    result = perp("render", "r.h5", "-o", "g.mp4", "--fps", "10", status=3, env=env)
    assert "ffmpeg could not write g.mp4: Unknown encoder" in result.err, result.err
    assert not [name for name in os.listdir(".") if name.startswith("g.mp4")]


@test
@needs_chromium
def films_that_ffmpeg_makes():
    if shutil.which("ffmpeg") is None:
        print("without ffmpeg: films_that_ffmpeg_makes")
        return
    perp("run", write_planar(), "--quiet", "--out", "r.h5")
    perp("render", "r.h5", "-o", "f.mp4", "--fps", "10", "--size", "160x120")
    assert open("f.mp4", "rb").read(12)[4:8] == b"ftyp"
    perp("render", "r.h5", "-o", "f.gif", "--fps", "10", "--size", "160x120")
    data = open("f.gif", "rb").read()
    assert data[:6] == b"GIF89a" and struct.unpack("<HH", data[6:10]) == (160, 120)


@test
@needs_chromium
def ctrl_c_leaves_nothing_behind():
    record()
    os.makedirs("tmp")
    process = subprocess.Popen([PERP, "render", "r.h5", "-o", "p.png"], stderr=subprocess.PIPE,
                               env=dict(os.environ, TMPDIR=os.path.abspath("tmp")), text=True)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not [
            d for d in os.listdir("tmp") if os.path.exists(f"tmp/{d}/profile")]:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=30)[1]
    assert process.returncode == 3 and "interrupted" in err, (process.returncode, err)
    assert os.listdir("tmp") == []
    assert sorted(os.listdir(".")) == ["r.h5", "scene.json", "tmp"]


main("render_test")
