"""The documentation builds, without the network; what it says of solvers and shapes is what the
program says; a link that leads nowhere is found. Slow: it runs every scene for its picture."""
import html
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

from _cli import PERP, SOURCE, main, perp, test

SCRIPT = os.path.join(SOURCE, "scripts/build-docs")
loader = importlib.machinery.SourceFileLoader("build_docs", SCRIPT)
build_docs = importlib.util.module_from_spec(importlib.util.spec_from_loader("build_docs", loader))
loader.exec_module(build_docs)


SCRATCH = tempfile.TemporaryDirectory(dir=os.getcwd())


def build():
    """Once for all tests: they only read it."""
    site = os.path.join(SCRATCH.name, "site")
    if not os.path.exists(site):
        done = subprocess.run([sys.executable, SCRIPT, PERP, site], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert ", 0 broken" in done.stdout
    return site


def page(name):
    with open(os.path.join(build(), name), encoding="utf-8") as file:
        return file.read()


def convert(text):
    return build_docs.Markdown(lambda target: "to:" + target, lambda comment: f"[{comment}]").page(text)


@test
def every_page_of_the_docs_is_there():
    site = build()
    for name in os.listdir(os.path.join(SOURCE, "docs")):
        if name.endswith(".md"):
            assert os.path.exists(os.path.join(site, name[:-3] + ".html")), name
    assert "A laboratory for bodies that touch" in page("index.html")
    for folder, _, names in os.walk(site):
        for name in names:
            if name.endswith(".html"):
                text = open(os.path.join(folder, name), encoding="utf-8").read()
                assert not re.search(r'(?:src|rel="stylesheet" href)="https?:', text), name
                assert "\0" not in text and "\1" not in text


@test
def the_gallery_has_one_picture_per_scene_and_the_tutorial_one_per_step():
    text = page("gallery.html")
    for row in perp("list", "scenes", "--json").json["scenes"]:
        assert f'>{row["name"]}</h2>' in text
        assert html.escape(row["description"]) in text
    images = re.findall(r'<img src="([^"]+)"', text)
    assert len(images) == len(set(images)) == len(perp("list", "scenes", "--names").out.split())
    tutorial = re.findall(r'<img src="([^"]+)"', page("tutorial.html"))
    with open(os.path.join(SOURCE, "docs/tutorial.md"), encoding="utf-8") as file:
        asked = len(re.findall(r"^(?:<!-- picture: |!\[)", file.read(), re.M))
    assert len(tutorial) == len(set(tutorial)) == asked >= 11  # a scene in each step, and figures of studies
    for image in images + tutorial:
        picture = xml.dom.minidom.parse(os.path.join(build(), image))
        tags = ("rect",) if image.endswith("slide-map.svg") else ("path", "circle")  # a map of cells
        drawn = [e for e in picture.getElementsByTagName("*") if e.tagName in tags]
        assert len(drawn) > 3, image


@test
def every_solver_with_every_setting_its_default_and_range_is_in_the_reference():
    text = page("reference/solvers.html")
    count = 0
    for solver in perp("list", "solvers", "--json").json["solvers"]:
        section = text.split(f'<h2 id="{solver["name"]}">')[1].split("<h2")[0]
        rows = re.findall(r"<tr><td><code>(.*?)</code></td><td>(.*?)</td><td>(.*?)</td>"
                          r"<td>(.*?)</td><td>(.*?)</td></tr>", section)
        assert [r[0] for r in rows] == [s["name"] for s in solver["settings"]]
        for row, setting in zip(rows, solver["settings"]):
            count += 1
            assert abs(json.loads(row[2]) - setting["default"]) <= 1e-8 * abs(setting["default"]), (
                solver["name"], row)
            assert html.unescape(row[4]) == setting["text"]
            if setting["type"] != "bool":
                assert [float(x) for x in row[3].split(" to ")] == [setting["minimum"],
                                                                     setting["maximum"]]
    assert count > 20


@test
def every_stepper_contact_model_shape_and_joint_is_in_the_reference():
    for kind in ("steppers", "contacts", "shapes", "joints"):
        text = page(f"reference/{kind}.html")
        seen = []
        for row in perp("list", kind, "--json").json[kind]:
            anchor = row["name"] + ("-planar" if row["name"] in seen else "")
            seen.append(row["name"])
            section = text.split(f'<h2 id="{anchor}">')[1].split("<h2")[0]
            assert html.escape(row["summary"]) in section
            assert ("does not exist yet" in section) == (not row.get("built", True))
    sphere = page("reference/shapes.html").split('<h2 id="sphere">')[1].split("<h2")[0]
    assert "<code>radius</code></td><td>number or string</td><td>required</td><td>&gt; 0</td>" in sphere
    keys = page("reference/scene.html")
    for key in ("step", "duration", "friction", "tolerance", "collides_with", "surface_velocity"):
        assert f"<code>{key}</code>" in keys, key
    commands = page("reference/commands.html")
    for verb in ("init", "demo", "compare"):
        assert f'<h2 id="{verb}">' in commands


@test
def markdown_becomes_the_html_that_it_means():
    for text, expected in (
            ("# A `b` & c\n", '<h1 id="a-b--c">A <code>b</code> &amp; c</h1>'),
            ("one\ntwo\n\nthree", "<p>one two</p>\n<p>three</p>"),
            ("a **bold** and *em*, 2*3*4", "<p>a <strong>bold</strong> and <em>em</em>, 2*3*4</p>"),
            ("`a|b` <b> [x](y.md#z)", '<p><code>a|b</code> &lt;b&gt; <a href="to:y.md#z">x</a></p>'),
            ("[`code`](t)", '<p><a href="to:t"><code>code</code></a></p>'),
            ("![alt \"q\"](i.svg)", '<p><img src="to:i.svg" alt="alt &quot;q&quot;"></p>'),
            ("    if (a < b)\n        c;", "<pre>if (a &lt; b)\n    c;</pre>"),
            ("```\n# no heading\n```", "<pre># no heading</pre>"),
            ("- a\n- b\n  more\n", "<ul>\n<li>a</li>\n<li>b more</li></ul>"),
            ("1. a\n2. b\n", "<ol>\n<li>a</li>\n<li>b</li></ol>"),
            ("<!-- scene: x -->", "[scene: x]"),
            ("[B09 (2.78)] stays", "<p>[B09 (2.78)] stays</p>")):
        assert convert(text) == expected, (text, convert(text))
    table = convert("| a | b |\n| --- | ---: |\n| `x|y` | p \\| q |\n")
    assert table.count("<th") == 2 and "<code>x|y</code>" in table and "p | q" in table
    assert convert('<script>alert("x")</script>').count("<script") == 0
    console = convert("```console\n$ perp x <y\nout\n```")
    assert '<span class="command">$ perp x &lt;y</span>\nout' in console


@test
def a_link_that_leads_nowhere_is_found():
    os.makedirs("broken")
    for target, good in (("other.html", True), ("other.html#there", True), ("#here", True),
                         ("missing.html", False), ("other.html#nowhere", False),
                         ('#here"><b id="here', False)):
        with open("broken/other.html", "w") as file:
            file.write('<h2 id="there">x</h2>')
        with open("broken/index.html", "w") as file:
            file.write(f'<h1 id="here">x</h1><a href="{target}">x</a>')
        assert build_docs.check_site("broken") == good, target


main("docs_slow_test")
