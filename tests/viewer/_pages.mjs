// Recordings and pages, made with the program under test in the current (scratch) folder.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";
import { pathToFileURL } from "node:url";

const perp = process.env.PERP;
export const scene = (name) => `${process.env.PERP_SOURCE}/scenes/${name}.json`;
export const call = (...args) => execFileSync(perp, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
export const url = (file) => pathToFileURL(resolve(file)).href;

export function record(sceneFile, out, ...flags) {
    call("run", sceneFile, "--out", out, "--quiet", ...flags);
    return out;
}

export function writeScene(name, content) {
    writeFileSync(`${name}.json`, JSON.stringify(content));
    return `${name}.json`;
}

export function page(out, ...recordings) {
    call("replay", ...recordings, "-o", out);
    return out;
}

// The table of `perp export`: last row, by column name.
export function exported(recording) {
    const { columns, rows } = JSON.parse(call("export", recording, "--json"));
    return { columns, rows, at: (row, name) => rows.at(row)[columns.indexOf(name)] };
}

const HEADER = /<script type="application\/json" class="perp-run">([^<]*)<\/script>/;
const RUNS = /<script type="application\/json" class="perp-run">[\s\S]*?<\/script>\s*<script type="text\/plain" class="perp-blob">[\s\S]*?<\/script>/;

// A copy of a page with a changed header.
export function changed(from, to, change) {
    const html = readFileSync(from, "utf8");
    const header = change(JSON.parse(HEADER.exec(html)[1]));
    const text = JSON.stringify(header).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);
    writeFileSync(to, html.replace(HEADER, () => `<script type="application/json" class="perp-run">${text}</script>`));
    return to;
}

const BLOB = /<script type="text\/plain" class="perp-blob">([\s\S]*?)<\/script>/;

// A copy of a page with columns of doubles instead of those of the energy ledger that it may have.
// make: (name of the term) => (time) => number.
export function withLedger(from, to, terms) {
    const html = readFileSync(from, "utf8");
    const header = JSON.parse(HEADER.exec(html)[1]);
    let blob = inflateSync(Buffer.from(BLOB.exec(html)[1], "base64"));
    const time = header.columns.find((c) => c.name === "time");
    header.columns = header.columns.filter((c) => !c.name.startsWith("ledger."));
    for (const [name, value] of Object.entries(terms)) {
        const pad = Buffer.alloc((8 - (blob.length % 8)) % 8);
        const cells = Buffer.alloc(8 * time.count);
        for (let k = 0; k < time.count; ++k) cells.writeDoubleLE(value(blob.readDoubleLE(time.at + 8 * k)), 8 * k);
        header.columns.push({ name: `ledger.${name}`, kind: "f64", count: time.count, width: 1, at: blob.length + pad.length, bytes: cells.length });
        blob = Buffer.concat([blob, pad, cells]);
    }
    const text = JSON.stringify(header).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);
    writeFileSync(to, html.replace(HEADER, () => `<script type="application/json" class="perp-run">${text}</script>`)
        .replace(BLOB, () => `<script type="text/plain" class="perp-blob">${deflateSync(blob).toString("base64")}</script>`));
    return to;
}

// A page as the live server gives it: a header, no blob.
export function livePage(from) {
    const html = readFileSync(from, "utf8");
    const { columns, ...header } = JSON.parse(HEADER.exec(html)[1]);
    const text = JSON.stringify({ ...header, live: true }).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);
    return { header, html: html.replace(RUNS, () => `<script type="application/json" class="perp-run">${text}</script>`) };
}

// A run that is ended by a signal after it has recorded for a while.
export async function interrupted(sceneFile, out, signal) {
    const child = spawn(perp, ["run", sceneFile, "--out", out, "--quiet"], { stdio: "ignore" });
    const ended = new Promise((done) => child.on("exit", done));
    await new Promise((done) => setTimeout(done, 1500));
    child.kill(signal);
    await ended;
    return out;
}

// `perp run --watch`: its address, and its exit status when it has ended.
export function watch(sceneFile) {
    const child = spawn(perp, ["run", sceneFile, "--watch", "--quiet", "--linger", "3"], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    const address = new Promise((done, fail) => {
        child.stderr.on("data", (d) => {
            said += d;
            const found = /http:\/\/\S+/.exec(said);
            if (found) done(found[0]);
        });
        child.on("exit", () => fail(new Error(`perp run --watch ended: ${said}`)));
    });
    const ended = new Promise((done) => child.on("exit", done));
    process.on("exit", () => child.kill("SIGKILL"));
    return { address, ended };
}

export const PLANAR = {
    name: "planar pile", dimension: 2, gravity: [0, -9.81], step: 0.005, duration: 1.5, friction: { default: 0.4 },
    bodies: [
        { name: "ground", type: "static", shapes: [{ type: "halfplane", normal: [0, 1], offset: 0 }] },
        { name: "slope", type: "static", shapes: [{ type: "halfplane", normal: [0.5, 0.866025403784], offset: -1 }] },
        { name: "lower", mass: 1, position: [0, 0.25], shapes: [{ type: "box", size: [0.5, 0.5] }] },
        { name: "upper", mass: 1, position: [0.1, 0.8], angle: 0.1, shapes: [{ type: "box", size: [0.5, 0.5] }] },
        { name: "wheel", mass: 1, position: [-1.2, 1.2], shapes: [{ type: "circle", radius: 0.2 }] },
        { name: "ball", mass: 1, position: [0.6, 1.8], velocity: [-2, 0], shapes: [{ type: "circle", radius: 0.15 }] },
        {
            name: "hammer", mass: 1, position: [0.9, 0.9], angle: 0.4,
            shapes: [{ type: "box", size: [0.9, 0.1] }, { type: "circle", radius: 0.12, position: [0.45, 0] }],
        },
    ],
};

const INJECT = "window.injected=1";
export const EVIL_NAMES = [
    `</script><script>${INJECT}</script>`,
    `"><img src=x onerror="${INJECT}">`,
    `<!--<script>${INJECT}`,
    `' onmouseover='${INJECT}' &lt;b&gt; \\u003c/script\\u003e`,
    `=HYPERLINK("http://x") \u202e rtl \u2028 line 🧱🤖👩‍👩‍👧‍👦`,
    "n".repeat(10000),
];

export const EVIL = {
    name: `<b>scene</b></title><script>${INJECT}</script>${"s".repeat(5000)}`,
    gravity: [0, 0, -9.81], step: 0.01, duration: 0.5,
    bodies: [
        { name: "</style><svg onload=window.injected=1>", type: "static", shapes: [{ type: "plane", normal: [0, 0, 1] }] },
        ...EVIL_NAMES.map((name, i) => ({ name, mass: 1, position: [0.5 * i, 0, 0.4], shapes: [{ type: "sphere", radius: 0.2 }] })),
    ],
    joints: [{ name: EVIL_NAMES[0], type: "spherical", a: EVIL_NAMES[1], b: EVIL_NAMES[2], at: [0.75, 0, 0.4] }],
};
