// A static notebook: cells with the pages of a recording and of a simulation, as a notebook shows them. They draw,
// play, and ask nobody for anything.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { assert, runAll, test } from "./_harness.mjs";

const require = createRequire(`${process.env.PERP_NODE_MODULES}/x.js`);
const { chromium } = require("playwright-core");

// names hold what html must not take for its own
execFileSync(process.env.PERP_PYTHON, ["-c", `
import perp
scene = {"name": "a </iframe> & \\"b\\"", "gravity": [0, 0, -9.81], "step": 0.01, "duration": 1, "friction": {"default": 0.2},
         "bodies": [{"name": "ground", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
                    {"name": "ball'><script>", "mass": 1, "position": [0, 0, 0.1], "velocity": [2, 0, 0],
                     "shapes": [{"type": "sphere", "radius": 0.1}]}]}
recording = perp.run(scene)
cells = [recording._repr_html_(), recording.sim._repr_html_()]
with open("notebook.html", "w", encoding="utf-8") as f:
    f.write("<!doctype html><meta charset=utf-8><title>notebook</title>")
    for cell in cells:
        f.write('<div class="cell"><pre>recording</pre><div class="output">' + cell + "</div></div>")
    f.write('<p id="end">end</p>')
`], { stdio: ["ignore", "inherit", "inherit"] });

const browser = await chromium.launch({
    executablePath: process.env.PERP_BROWSER,
    args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
});
const page = await browser.newPage({ viewport: { width: 1000, height: 1100 } });
const trouble = [];
page.on("console", (m) => m.type() === "error" && trouble.push(m.text()));
page.on("pageerror", (e) => trouble.push(e.stack));
const home = pathToFileURL("notebook.html").href;
page.on("request", (r) => [home, "about:srcdoc"].includes(r.url()) || /^(data|blob):/.test(r.url()) || trouble.push(r.url()));
await page.goto(home);

const frames = page.frames().filter((f) => f !== page.mainFrame());

test("each cell holds a page, and the notebook goes on below", async () => {
    assert.equal(frames.length, 2);
    assert.equal(await page.locator("#end").textContent(), "end");
    assert.equal(await page.locator(".output iframe").count(), 2);
    for (const frame of frames) await frame.evaluate(() => window.perpPage.ready);
});

test("the recording's page draws and plays", async () => {
    const frame = frames[0];
    const colors = await frame.evaluate(() => {
        const { perpPage } = window;
        const look = () => {
            perpPage.draw();
            const canvas = document.createElement("canvas");
            canvas.width = 400;
            canvas.height = 260;
            const pen = canvas.getContext("2d", { willReadFrequently: true });
            for (const layer of document.querySelectorAll(".stage canvas")) pen.drawImage(layer, 0, 0, 400, 260);
            return new Uint32Array(pen.getImageData(0, 0, 400, 260).data.buffer);
        };
        perpPage.seek(0);
        const first = look();
        perpPage.seek(1);
        const last = look();
        let differ = 0;
        for (let i = 0; i < first.length; ++i) differ += first[i] !== last[i] ? 1 : 0;
        return { colors: new Set(first).size, differ };
    });
    assert.ok(colors.colors > 20, `${colors.colors} colours`);
    assert.ok(colors.differ > 50, `${colors.differ} pixels moved`);
});

test("nothing is asked of anybody, no errors", async () => {
    assert.deepEqual(trouble, []);
});

await runAll(() => browser.close());
