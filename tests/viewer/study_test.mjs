// The page of a study: what it shows is what the database holds, a click gives the command of a run, it needs no network.
import { execFileSync } from "node:child_process";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { assert, near, runAll, test } from "./_harness.mjs";

const require = createRequire(`${process.env.PERP_NODE_MODULES}/x.js`);
const { chromium } = require("playwright-core");
const perp = (...words) => execFileSync(process.env.PERP, words, { encoding: "utf8" });

// 6 x 5 points with 20 trials; the names hold what html must not take for its own.
const scene = {
    dimension: 2, gravity: [0, -9.81], step: 0.05, duration: 0.5, parameters: { mu: 0.3, v: 2 }, friction: { default: "mu" },
    bodies: [
        { name: "ground", type: "static", shapes: [{ type: "halfplane", normal: [0, 1], offset: 0 }] },
        { name: "box", mass: 1, position: [0, 0.1], velocity: ["v", 0], shapes: [{ type: "box", size: [0.3, 0.2] }] }],
    measures: { x: "box.position.x", "</script><b>": "t" },
    stop: [{ name: "far", when: "box.position.x > 0.5" }],
};
const study = {
    name: "map </script><i>", scene: "scene.json",
    vary: { v: { grid: [0, 2.5, 6] }, mu: { grid: [0.1, 0.5, 5] }, "/bodies/1/mass": { uniform: [0.9, 1.1] } },
    sample: { trials: 20, seed: 1 },
};
for (const old of ["r.db", "r.csv", "r.html"]) rmSync(old, { force: true }); // of an earlier run
writeFileSync("scene.json", JSON.stringify(scene));
writeFileSync("study.json", JSON.stringify(study));
perp("sweep", "study.json", "--out", "r.db", "--csv", "r.csv", "--page", "r.html", "--quiet");
const rows = perp("sweep", "show", "r.db", "--csv", "-").trim().split("\n").slice(1).map((line) => line.split(","));

const browser = await chromium.launch({ executablePath: process.env.PERP_BROWSER, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
const trouble = [];
page.on("console", (m) => m.type() === "error" && trouble.push(m.text()));
page.on("pageerror", (e) => trouble.push(e.stack));
const home = pathToFileURL("r.html").href;
page.on("request", (r) => r.url() === home || r.url().startsWith("data:") || trouble.push(r.url()));
await page.goto(home);

test("the page says what the database holds", async () => {
    const held = await page.evaluate(() => window.perpStudy.study);
    assert.equal(held.rows, 600);
    assert.equal(held.data.length, 600);
    const far = held.kinds.indexOf("far"), pair = held.pairs[0];
    assert.deepEqual(pair.axes.map((a) => a.name), ["v", "mu"]);
    for (let cell = 0; cell < 30; cell++) {
        const here = rows.filter((_, i) => Math.floor(i / 20) === cell);
        assert.equal(pair.counts[far][cell], here.filter((r) => r[6] === "far").length, `cell ${cell}`);
        near(pair.means[0][cell], here.reduce((sum, r) => sum + Number(r[4]), 0) / 20, 1e-5, "mean of x");
        assert.equal(pair.first[cell], 20 * cell + 1);
    }
    for (const column of held.columns) assert.equal(column.bins.reduce((a, b) => a + b, 0), column.count, column.name);
});

test("names are text, not html", async () => {
    assert.equal(await page.locator("#title").textContent(), "map </script><i>");
    assert.equal(await page.locator("main i, main b").count(), 0);
});

test("a click on a cell gives the command of its run, and the interval", async () => {
    const { nx, ny, left, top, w, h } = await page.evaluate(() => window.perpStudy.map());
    assert.deepEqual([nx, ny], [5, 6]);
    const box = await page.locator("canvas").first().boundingBox();
    // the upper right cell: the largest speed, the most friction
    const at = { x: left + w * (nx - 0.5) / nx, y: top + h * 0.5 / ny };
    await page.mouse.move(box.x + at.x, box.y + at.y);
    const read = await page.locator(".read").first().textContent();
    assert.match(read, /mu 0\.5, v 2\.5: 20 runs; .*far 20, 100\.0 % \(83\.9 to 100\.0\)/);
    await page.mouse.click(box.x + at.x, box.y + at.y);
    assert.equal(await page.locator("#command").textContent(), "perp sweep rerun r.db 581 --out run581.h5 && perp replay run581.h5");
});

test("the table is sorted by a click, and a row gives its command", async () => {
    const header = page.locator("th button", { hasText: /^x$/ });
    await header.click();
    await header.click();
    const first = page.locator("tbody tr").first();
    const largest = Math.max(...rows.map((r) => Number(r[4])));
    near(Number(await first.locator("td").nth(5).textContent()), largest, 1e-5, "largest x");
    await first.click();
    const id = await first.locator("td").first().textContent();
    assert.match(await page.locator("#command").textContent(), new RegExp(`rerun r\\.db ${id} `));
});

test("every drawing has been drawn", async () => {
    const colours = await page.evaluate(() => [...document.querySelectorAll("canvas")].map((c) => {
        const pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
        return new Set(pixels).size;
    }));
    assert.equal(colours.length, 4);
    for (const n of colours) assert.ok(n > 3, `${colours}`);
});

test("it is small, and had no trouble", async () => {
    assert.ok(statSync("r.html").size < 200_000, `${statSync("r.html").size}`);
    assert.deepEqual(trouble, []);
});

await runAll(() => browser.close());
