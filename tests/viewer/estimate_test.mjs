// The page of an estimate: what it shows is what the report says, names are text, plots are drawn, it needs no network.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { assert, near, runAll, test } from "./_harness.mjs";

const require = createRequire(`${process.env.PERP_NODE_MODULES}/x.js`);
const { chromium } = require("playwright-core");
const perp = (...words) => execFileSync(process.env.PERP, words, { encoding: "utf8" });

// A ball that falls, twice; its mass cannot be told. Names hold what html must not take for its own.
const scene = {
    dimension: 2, gravity: [0, "-g"], step: 0.01, duration: 1, parameters: { g: 5, m: 1 },
    bodies: [{ name: "ball", mass: "m", position: [0, 0], shapes: [{ type: "circle", radius: 0.1 }] }],
};
const channel = "y </script><b>";
const study = {
    name: "fall </script><i>", scene: "scene.json", data: "data.csv", time: "t", trajectory: "k", start: "scene", noise: 0.002,
    observe: { [channel]: { quantity: "ball.position.y", column: "y" } }, unknown: { g: {}, m: {} }, hold_out: 0.5,
};
const rows = ["k,t,y"];
for (const k of [1, 2])
    for (let i = 0; i < 50; ++i) {
        const t = 0.01 * i;
        rows.push(`${k},${t},${-9.81 * t * (t + 0.01) / 2 + 0.002 * Math.sin(37 * i + k)}`);
    }
for (const old of ["e.html", "f.json"]) rmSync(old, { force: true }); // of an earlier run
writeFileSync("scene.json", JSON.stringify(scene));
writeFileSync("study.json", JSON.stringify(study));
writeFileSync("data.csv", `${rows.join("\n")}\n`);
const report = JSON.parse(perp("estimate", "study.json", "--out", "f.json", "--page", "e.html", "--json"));

const browser = await chromium.launch({ executablePath: process.env.PERP_BROWSER, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
const trouble = [];
page.on("console", (m) => m.type() === "error" && trouble.push(m.text()));
page.on("pageerror", (e) => trouble.push(e.stack));
const home = pathToFileURL("e.html").href;
page.on("request", (r) => r.url() === home || /^(data|blob|about):/.test(r.url()) || trouble.push(r.url()));
await page.goto(home);

test("the page says what the report says", async () => {
    const held = await page.evaluate(() => window.perpEstimate.report);
    near(held.estimates.g.value, report.estimates.g.value, 1e-12, "g");
    const rowsShown = await page.locator("#values tr").allTextContents();
    assert.match(rowsShown[1], /^g9\.8/);
    assert.match(rowsShown[2], /the data cannot tell it/);
    assert.match(await page.locator("#tell").textContent(), /1 m/);
    assert.match(await page.locator("#summary").textContent(), /shooting, converged after \d+ iterations/);
});

test("names are text, not html", async () => {
    assert.equal(await page.locator("#title").textContent(), "fall </script><i>");
    assert.equal(await page.locator("main i, main b").count(), 0);
    assert.ok((await page.locator("#errors td").allTextContents()).includes(channel));
});

test("data, residuals and their course are drawn, of either trajectory", async () => {
    for (const which of ["0", "1"]) {
        await page.selectOption("#which", which);
        const colours = await page.evaluate(() => [...document.querySelectorAll("canvas")].map((c) => {
            const pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
            return new Set(pixels).size;
        }));
        assert.equal(colours.length, 3);
        for (const n of colours) assert.ok(n > 3, `${colours}`);
    }
    assert.match((await page.locator("#which option").allTextContents()).join(), /held out/);
});

test("it had no trouble", async () => {
    assert.deepEqual(trouble, []);
});

await runAll(() => browser.close());
