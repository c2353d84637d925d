// Puts the page together.
import "./page.css";
import { Run, findRuns, inflate, unpackColumns } from "./data.js";
import { el } from "./dom.js";
import { createTheme } from "./theme.js";
import { readParams } from "./params.js";
import { App } from "./app.js";
import { connect } from "./live.js";

function showMessage(title, text) {
    document.body.append(el("main", { class: "message", role: "alert" }, el("h1", { text: title }), el("p", { text })));
}

async function loadRuns(found) {
    const runs = [];
    for (const [i, { header, base64 }] of found.entries()) {
        if (!String(header.format ?? "").startsWith("perp-page 1")) {
            throw new Error(`this page can show the format "perp-page 1", not "${header.format}"`);
        }
        const columns = unpackColumns(header, await inflate(base64 ?? ""));
        runs.push(new Run(header, columns, found.length > 1 ? "AB"[i] : ""));
    }
    return runs;
}

function liveApp(theme, params) {
    return new Promise((resolve) => {
        let app = null;
        let waiting = null;
        let state = null;
        const make = (run) => {
            app = new App([run], theme, params);
            if (state) app.liveBar.state(state);
            resolve(app);
        };
        connect({
            onRun: (run) => (waiting = run),
            // The camera needs to know where things are: begin with the first frame.
            onFrame: () => (app ? app.liveFrame() : make(waiting)),
            onState: (now) => {
                state = now;
                app?.liveBar.state(now);
            },
            onEnd: (text) => {
                if (app) app.liveEnd(text);
                else showMessage("The run has ended", text);
            },
        });
    });
}

async function begin() {
    const params = readParams(window.location);
    const theme = createTheme(params.theme);
    const found = findRuns(document);
    if (found.length === 0) {
        showMessage("No recording", "This page holds no recording. Make one with: perp replay recording.h5 -o page.html");
        return null;
    }
    if (found[0].header.live) return liveApp(theme, params);
    if (typeof DecompressionStream === "undefined") {
        showMessage("This browser is too old for the page",
            "The recording in this page is compressed, and this browser cannot unpack it (it lacks DecompressionStream). Firefox 113, Chrome 103, Safari 16.4 and anything newer can.");
        return null;
    }
    return new App(await loadRuns(found), theme, params);
}

// For tests and for `perp render`.
const ready = new Promise((resolve, reject) => {
    const start = () => begin().then(async (app) => {
        if (app) Object.assign(window.perpPage, app.handle());
        await app?.firstPicture;
        resolve(app !== null);
    }).catch((error) => {
        showMessage("This page cannot be shown", String(error?.message ?? error));
        reject(error);
    });
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
    else start();
});
ready.catch(() => {});
window.perpPage = { ready };
