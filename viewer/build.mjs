// Bundles the replay page: node build.mjs OUT.html
//
// The result is one html file without any outside reference. In place of its line
// <!--PERP-RUNS--> `perp replay` writes the runs; see docs/replay.md.
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out || process.argv.length > 3) {
    console.error("usage: node build.mjs OUT.html");
    process.exit(2);
}

async function bundle(entry) {
    const result = await build({
        absWorkingDir: here,
        entryPoints: [join(here, entry)],
        bundle: true,
        write: false,
        outdir: "out",
        format: "iife",
        target: ["chrome100", "firefox113", "safari16.4"],
        minify: true,
        charset: "utf8",
        legalComments: "none", // the licences stand at the head
        logLevel: "warning",
    });
    const text = (suffix) =>
        result.outputFiles.filter((f) => f.path.endsWith(suffix)).map((f) => f.text).join("\n");
    return { js: text(".js"), css: text(".css") };
}

// Nothing in the bundle may end the element that holds it, or look like the marker.
const inScript = (js) => js.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
const inStyle = (css) => css.replace(/<\/(style)/gi, "<\\/$1");

// Both libraries are under the MIT licence, which travels with every copy of them.
const licences = ["three", "uplot"].map((name) =>
    `${name}:\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}`);
const notice = `/*! This page contains\n\n${licences.join("\n\n").replaceAll("*/", "* /")}\n*/\n`;

const { js, css } = await bundle("src/main.js");
const parts = { "/*STYLE*/": inStyle(css), "/*SCRIPT*/": inScript(notice + js) };
let html = readFileSync(join(here, "src/page.html"), "utf8");
for (const [mark, text] of Object.entries(parts)) {
    if (html.split(mark).length !== 2) throw new Error(`page.html must hold ${mark} once`);
    html = html.replace(mark, () => text);
}
if (html.split("<!--PERP-RUNS-->").length !== 2 || !/^<!--PERP-RUNS-->$/m.test(html)) {
    throw new Error("page.html must hold the line <!--PERP-RUNS--> once");
}
mkdirSync(dirname(resolve(out)), { recursive: true });
writeFileSync(out, html);
