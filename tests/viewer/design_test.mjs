// The page of a design: what it shows is what the database holds, start and best run on one clock, it needs no network.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { assert, near, runAll, test } from "./_harness.mjs";

const require = createRequire(`${process.env.PERP_NODE_MODULES}/x.js`);
const { chromium } = require("playwright-core");
const perp = (...words) => execFileSync(process.env.PERP, words, { encoding: "utf8" });

// A ball that is thrown upwards; the names hold what html must not take for its own.
const scene = {
    dimension: 2, gravity: [0, -9.81], step: 0.02, duration: 0.5, parameters: { v: 2, w: 0 },
    bodies: [{ name: "ball", mass: 1, position: [0, 0], velocity: ["w", "v"], shapes: [{ type: "circle", radius: 0.1 }] }],
    measures: { top: { max: "ball.position.y" }, "</script><b>": "t" },
};
const design = {
    name: "high </script><i>", scene: "scene.json", minimise: "(top - 0.5)^2 + w^2 + if(w > 0.9, log(-1), 0)", method: "nelder-mead",
    unknown: { v: { start: 2, bounds: [1, 5] }, w: { start: 0.5, bounds: [0, 1] } }, stop: { tolerance: 1e-3 },
};
for (const old of ["d.db", "d.html"]) rmSync(old, { force: true }); // of an earlier run
writeFileSync("scene.json", JSON.stringify(scene));
writeFileSync("design.json", JSON.stringify(design));
const report = JSON.parse(perp("design", "design.json", "--out", "d.db", "--page", "d.html", "--json"));

const browser = await chromium.launch({ executablePath: process.env.PERP_BROWSER, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
const trouble = [];
page.on("console", (m) => m.type() === "error" && trouble.push(m.text()));
page.on("pageerror", (e) => trouble.push(e.stack));
const home = pathToFileURL("d.html").href;
page.on("request", (r) => r.url() === home || /^(data|blob|about):/.test(r.url()) || trouble.push(r.url()));
await page.goto(home);

test("the page says what the report says", async () => {
    const held = await page.evaluate(() => window.perpDesign.design);
    assert.equal(held.evaluations, report.evaluations);
    assert.equal(held.data.length, report.evaluations + 1);
    near(held.best, report.best, 1e-9, "best");
    near(held.unknowns[0].best, report.unknowns.v, 1e-9, "v");
    assert.match(await page.locator("#summary").textContent(), /nelder-mead, converged after \d+ evaluations/);
    const first = page.locator("#rows tbody tr").first();
    assert.equal(await first.locator("td").first().textContent(), String(report.best_evaluation));
});

test("names are text, not html", async () => {
    assert.equal(await page.locator("#title").textContent(), "high </script><i>");
    assert.equal(await page.locator("main i, main b").count(), 0);
});

test("objective and both unknowns have been drawn", async () => {
    const colours = await page.evaluate(() => [...document.querySelectorAll("canvas")].map((c) => {
        const pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
        return new Set(pixels).size;
    }));
    assert.equal(colours.length, 3);
    for (const n of colours) assert.ok(n > 3, `${colours}`);
});

test("start and best candidate are in one replay", async () => {
    const frame = page.frameLocator("iframe");
    const text = await frame.locator("body").innerText();
    assert.match(text, /d\.start\.h5/);
    assert.match(text, /d\.best\.h5/);
});

test("it had no trouble", async () => {
    assert.deepEqual(trouble, []);
});

await runAll(() => browser.close());
