// One chromium, and what the tests ask of a page.
import { createRequire } from "node:module";
import { assert } from "./_harness.mjs";
import { url } from "./_pages.mjs";

const require = createRequire(`${process.env.PERP_NODE_MODULES}/x.js`);
const { chromium } = require("playwright-core");

const browser = await chromium.launch({
    executablePath: process.env.PERP_BROWSER,
    // WebGL by the processor; the rest of the page without it, which takes a fifth less time. One process for pages of
    // one kind, and none in reserve.
    args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--disable-gpu-compositing",
        "--in-process-gpu", "--renderer-process-limit=1", "--disable-site-isolation-trials",
        "--disable-features=SpareRendererForSitePerProcess,IsolateOrigins,site-per-process"],
});

export const closeBrowser = () => browser.close();

// Without smoothed edges, which cost the processor four times the pixels.
function coarse() {
    const real = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, options) {
        return real.call(this, kind, kind.startsWith("webgl") ? { ...options, antialias: false } : options);
    };
}

// Pages that cases have closed: the next case loads its file into one of them, because the process of a page has the program
// of the page compiled already.
const spare = [];

async function newPage() {
    const context = await browser.newContext({ acceptDownloads: true });
    const page = await context.newPage();
    page.on("console", (m) => m.type() === "error" && page.trouble.push(`console: ${m.text()}`));
    page.on("pageerror", (e) => page.trouble.push(`error: ${e.stack}`));
    page.on("dialog", (d) => page.trouble.push(`dialog: ${d.message()}`));
    page.on("request", (r) => {
        const u = r.url();
        const own = u.startsWith(page.home) || u.startsWith("data:") || u.startsWith("blob:");
        if (!own) page.trouble.push(`request: ${u}`);
    });
    await page.addInitScript(coarse);
    return page;
}

// Opens a page and waits until it has drawn. Trouble (errors, requests to elsewhere) gathers in
// page.trouble.
export async function open(file, { hash = "", dark = false, init = null, size = [760, 500], reducedMotion = "no-preference", address = null } = {}) {
    const page = (!init && spare.pop()) || (await newPage());
    page.trouble = [];
    page.home = address ?? url(file);
    page.changed = Boolean(init);
    if (init) await page.addInitScript(init);
    await page.setViewportSize({ width: size[0], height: size[1] });
    await page.emulateMedia({ colorScheme: dark ? "dark" : "light", reducedMotion });
    // An address that differs after # only would not load the page again.
    const loaded = page.url().split("#")[0] === page.home;
    await page.goto(page.home + (hash ? `#${hash}` : ""));
    if (loaded) await page.reload();
    await page.evaluate(() => window.perpPage.ready);
    return page;
}

export async function close(page) {
    assert.deepEqual(page.trouble, []);
    if (page.changed) await page.context().close();
    else spare.push(page);
}

// A page that several cases use, brought back to its start.
const sharedPages = new Map();
export async function shared(file) {
    let page = sharedPages.get(file);
    if (!page) {
        page = await open(file);
        sharedPages.set(file, page);
    }
    await page.bringToFront();
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "no-preference" });
    await page.evaluate(() => {
        for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
        const { perpPage } = window;
        perpPage.select(null);
        for (const { name, on } of perpPage.info().overlays) if (on) perpPage.overlay(name, false);
        perpPage.view("iso");
        perpPage.seek(0);
        window.lastLooks = [];
    });
    return page;
}

export async function closeShared() {
    for (const page of sharedPages.values()) await close(page);
    sharedPages.clear();
}

export const info = (page) => page.evaluate(() => window.perpPage.info());

// The picture as it is now, small: pixels of both layers, and how many colours it has.
export function look(page) {
    return page.evaluate(() => {
        window.perpPage.draw();
        const canvas = document.createElement("canvas");
        canvas.width = 400;
        canvas.height = 260;
        const pen = canvas.getContext("2d", { willReadFrequently: true });
        for (const layer of document.querySelectorAll(".stage canvas")) pen.drawImage(layer, 0, 0, 400, 260);
        const data = pen.getImageData(0, 0, 400, 260).data;
        const pixels = new Uint32Array(data.buffer);
        window.lastLooks = window.lastLooks ?? [];
        window.lastLooks.push(pixels.slice());
        return { index: window.lastLooks.length - 1, colors: new Set(pixels).size };
    });
}

// How many of the 104,000 pixels differ between two looks.
export function difference(page, a, b) {
    return page.evaluate(([i, j]) => {
        const [p, q] = [window.lastLooks[i], window.lastLooks[j]];
        let count = 0;
        for (let k = 0; k < p.length; ++k) count += p[k] !== q[k] ? 1 : 0;
        return count;
    }, [a.index, b.index]);
}

// A picture for a person to look at; nothing reads it, and CI does not draw it.
export async function shot(page, name) {
    if (process.env.CI && process.env.CI !== "false") return;
    await page.waitForTimeout(50);
    await page.screenshot({ path: `${name}.png` });
}

// Text whose contrast with what lies behind it is below 4.5, as [text, ratio].
export function poorContrast(page) {
    return page.evaluate(() => {
        const parse = (c) => (c.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
        const light = ([r, g, b]) => {
            const f = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
        };
        const behind = (element) => {
            for (let e = element; e; e = e.parentElement) {
                const c = parse(getComputedStyle(e).backgroundColor);
                if ((c[3] ?? 1) > 0.99) return c;
                if (e.tagName === "DIALOG") break;
            }
            return parse(getComputedStyle(document.body).backgroundColor);
        };
        const poor = [];
        let seen = 0;
        for (const element of document.querySelectorAll("body *")) {
            const text = element.tagName === "SELECT" ? element.selectedOptions[0]?.textContent
                : [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join("");
            if (!text || !element.checkVisibility({ visibilityProperty: true }) || element.closest(".visually-hidden, option, script, style, noscript")) continue;
            seen += 1;
            const style = getComputedStyle(element);
            const [a, b] = [light(parse(style.color)), light(behind(element))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (!(ratio >= 4.5) || Number(style.opacity) < 1) poor.push([text.slice(0, 40), ratio.toFixed(2)]);
        }
        if (seen < 20) poor.push(["only so many texts were found", String(seen)]);
        return poor;
    });
}

// Roles and names as a screen reader gets them.
export async function accessible(page) {
    const session = await page.context().newCDPSession(page);
    const { nodes } = await session.send("Accessibility.getFullAXTree");
    return nodes.filter((n) => !n.ignored).map((n) => ({ role: n.role?.value, name: n.name?.value ?? "" }));
}

// Everything that the Tab key should reach, and what it does reach.
export async function tabOrder(page) {
    const wanted = await page.evaluate(() => {
        const all = [...document.querySelectorAll("button, select, input, [tabindex='0'], a[href]")]
            .filter((e) => !e.disabled && e.checkVisibility() && !e.closest("dialog"));
        all.forEach((e, i) => (e.dataset.tab = String(i)));
        document.activeElement?.blur();
        return all.map((e) => e.dataset.tab);
    });
    const reached = new Set();
    for (let i = 0; i < wanted.length + 5; ++i) {
        await page.keyboard.press("Tab");
        reached.add(await page.evaluate(() => document.activeElement?.dataset.tab ?? ""));
    }
    return { wanted, missed: wanted.filter((id) => !reached.has(id)) };
}
