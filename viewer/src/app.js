// The page: header, picture with overlays, panel with plots, player; and what joins them.
import { button, el, fileName, format, save, setText, shorten } from "./dom.js";
import { MODES, Stage } from "./stage.js";
import { VIEWS } from "./camera.js";
import { OVERLAYS } from "./overlays/index.js";
import { Player } from "./player.js";
import { Plots } from "./plots.js";
import { Inspect, contactName } from "./inspect.js";
import { createHelp } from "./help.js";
import { listenToKeys } from "./keyboard.js";
import { Legend } from "./legend.js";
import { liveControls } from "./live.js";
import { readParams } from "./params.js";
import { matchBodies } from "./compare.js";

const PANEL_INTERVAL = 100; // milliseconds between updates of numbers while playing
const LIVE_INTERVAL = 1000; // milliseconds between reloads of plots of a live run
const MODE_NAMES = { side: "Side by side", ghost: "Ghost" };

export class App {
    constructor(runs, theme, params) {
        this.runs = runs;
        this.theme = theme;
        this.live = Boolean(runs[0].live);
        this.atLiveEnd = this.live;
        this.selection = null;
        this.following = false;
        this.scheduled = false;
        this.panelAt = 0;
        this.plotsAt = 0;
        this.cost = { frames: 0, script: 0, worst: 0 }; // milliseconds of scripting
        this.tick = this.tick.bind(this);
        this.invalidate = this.invalidate.bind(this);
        this.announce = this.announce.bind(this);
        this.bare = params.ui === "none";
        this.shadows = params.shadows; // null: as the machine can
        this.build();
        this.apply(params);
        this.firstPicture = new Promise((resolve) => (this.firstDrawn = resolve));
        theme.onChange(() => this.repaint());
        window.addEventListener("hashchange", () => this.apply(readParams(window.location)));
        listenToKeys(this);
        this.invalidate();
    }

    // --- building ----------------------------------------------------------------------------

    build() {
        document.title = `${shorten(this.runs[0].name, 60)} – perp`;
        document.body.classList.toggle("bare", this.bare);
        this.status = el("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
        this.picture = el("div", { class: "stage" });
        this.toolbar = el("div", { class: "toolbar" });
        this.panel = el("aside", { class: "panel", "aria-label": "Numbers and plots" });
        const footer = el("footer", { class: "player", role: "group", "aria-label": "Time" });
        document.body.append(this.buildHeader(), el("main", { class: "work" },
            el("div", { class: "left" }, this.toolbar, this.picture), this.panel), footer, this.status);
        this.player = new Player(footer, this.runs, {
            announce: this.announce,
            onChange: () => {
                this.atLiveEnd = this.live && this.player.time >= this.player.end;
                this.invalidate();
            },
        });
        this.buildStage();
        this.buildToolbar();
        this.buildPanel();
        this.help = createHelp(document.body);
        this.legend.rebuild();
        new ResizeObserver(() => {
            this.stage?.resize();
            this.drawNow();
        }).observe(this.picture);
    }

    buildHeader() {
        const title = this.runs.map((r) => r.name).filter((n, i, all) => all.indexOf(n) === i).join(" and ");
        const theme = button("Light or dark", () => this.theme.toggle(), { class: "icon-button", icon: "theme", title: "Light or dark (t)" });
        const help = button("?", () => this.help.toggle(), { class: "icon-button", "aria-label": "Help: keys and pointer", title: "Keys and pointer (?)" });
        this.panelButton = button("Panel", () => this.togglePanel(), { "aria-pressed": "true", title: "Show or hide numbers and plots (p)" });
        this.liveBar = this.live ? liveControls(this.announce) : null;
        return el("header", { class: "top" },
            el("span", { class: "mark", "aria-hidden": "true", text: "⊥" }),
            el("div", { class: "titles" },
                el("h1", { class: "ellipsis", text: shorten(title, 120), title: shorten(title, 400) }),
                ...this.runs.map((run) => this.runLine(run)), this.differenceLine()),
            this.liveBar?.element ?? "",
            el("div", { class: "buttons" }, this.panelButton, theme, help));
    }

    runLine(run) {
        const h = run.header;
        const file = run.letter ? `${run.letter}: ${shorten(String(h.file ?? ""), 40)} · ` : "";
        const words = [h.stepper, h.contact, h.solver, h.cone && `${h.cone} cone`, `h = ${format(run.step)}`, !run.live && `${run.frames} frames`]
            .filter(Boolean).map((w) => shorten(String(w), 40));
        const line = el("p", { class: "meta ellipsis", text: file + words.join(" · ") });
        const note = runNote(run);
        if (note) line.prepend(el("span", { class: "badge", text: shorten(note, 100), title: shorten(note, 400) }));
        return line;
    }

    // What was changed between the scenes of two runs; "" if there is one run.
    differenceLine() {
        const list = this.runs[1]?.header.differences;
        if (!Array.isArray(list)) return "";
        const words = list.map((d) => `${shorten(String(d.path), 60)}${d.name ? ` (${shorten(String(d.name), 40)})` : ""}: ${d.a} in A, ${d.b} in B`);
        const text = words.length ? `Scenes differ: ${words.join(" · ")}` : "Both runs are of the same scene";
        return el("p", { class: "meta ellipsis differences", text: shorten(text, 300), title: words.slice(0, 30).join("\n") });
    }

    buildStage() {
        try {
            this.stage = new Stage(this.picture, this.runs, this.theme, {
                onChange: this.invalidate, onPick: (what) => this.select(what), shadows: this.shadows,
            });
        } catch (error) {
            this.stage = null;
            this.picture.append(el("div", { class: "message", role: "alert" }, el("h2", { text: "No picture" }),
                el("p", { text: "The picture is drawn with WebGL, which this browser does not offer, or has switched off. Plots and numbers work without it." }),
                el("p", { class: "hint", text: shorten(String(error?.message ?? error), 200) })));
        }
        this.legend = new Legend(this.picture, this);
    }

    buildToolbar() {
        this.overlayButtons = new Map();
        const chips = el("div", { class: "chips", role: "group", "aria-label": "Overlays" });
        for (const overlay of OVERLAYS) {
            const usable = this.stage?.available(overlay) ?? false;
            const hint = usable ? `${overlay.hint} (${overlay.key})` : overlay.missing ?? `${overlay.hint}: not in this recording`;
            const chip = button(overlay.label, () => this.toggleOverlay(overlay.name), {
                class: "chip", "aria-pressed": "false", title: hint, disabled: !usable,
            });
            this.overlayButtons.set(overlay.name, chip);
            chips.append(chip);
        }
        const planar = this.runs[0].planar;
        this.viewBox = planar ? null : el("select", {
            "aria-label": "View from", onchange: () => this.look(this.viewBox.value),
        }, ...VIEWS.map((v) => el("option", { value: v, text: v === "iso" ? "View: free" : `View: ${v}` })));
        const home = button("Back to the first view", () => this.look("iso"), { class: "icon-button", icon: "home", title: "Back to the first view (r)" });
        const shot = button("Save the picture as PNG", () => this.savePicture(), { class: "icon-button", icon: "camera" });
        this.modeBox = this.runs.length > 1
            ? el("div", { class: "buttons", role: "group", "aria-label": "Two runs" }, ...MODES.map((mode) =>
                button(MODE_NAMES[mode], () => this.setMode(mode), { class: "chip", "aria-pressed": String(mode === "side"), "data-mode": mode })))
            : null;
        this.toolbar.append(chips, el("div", { class: "buttons" }, this.modeBox ?? "", this.viewBox ?? "", home, shot));
    }

    buildPanel() {
        const inspect = el("section", { class: "inspect" }, el("h2", { text: "Inspect" }));
        const plots = el("section", { class: "plots" }, el("h2", { text: "Plots" }));
        const results = this.runs.map((run) => resultSection(run)).filter(Boolean);
        this.panel.append(...results, inspect, plots);
        this.inspect = new Inspect(inspect, this.runs, { onSelect: (s) => this.select(s), onFollow: () => this.toggleFollow() });
        this.plots = new Plots(plots, this.runs, this.theme, {
            onSeek: (t) => this.player.seek(t), announce: this.announce,
            contactName: ({ run, key }) => this.nameOfContact(run, key),
        });
        const first = this.runs.length > 1 ? ["distance", "energy"] : ["energy", ...(this.plots.has("ledger") ? ["ledger"] : []), "certificate"];
        for (const id of first) this.plots.addById(id);
    }

    nameOfContact(index, key) {
        const run = this.runs[index];
        const i = run.contacts.key.indexOf(key);
        return i >= 0 ? contactName(run, i) : String(key);
    }

    // --- what the address says ---------------------------------------------------------------

    apply(params) {
        this.bare = params.ui === "none";
        document.body.classList.toggle("bare", this.bare);
        if (params.theme === "light" || params.theme === "dark") this.theme.set(params.theme);
        if (params.mode && this.runs.length > 1 && MODES.includes(params.mode)) this.setMode(params.mode);
        if (params.view && this.stage) this.look(params.view);
        if (params.projection === "parallel" && this.stage?.eye.camera.isPerspectiveCamera) this.stage.eye.toggleProjection();
        if (params.overlays) for (const o of OVERLAYS) this.setOverlay(o.name, params.overlays.includes(o.name));
        if (params.speed > 0) this.player.speed = params.speed;
        if (params.frame !== null) this.player.seek(this.player.lead.timeAt(Math.round(params.frame)));
        if (params.time !== null) this.player.seek(params.time);
        if (params.follow) {
            const body = this.runs[0].names.indexOf(params.follow);
            if (body >= 0) {
                this.select({ kind: "body", run: 0, body });
                this.setFollow(true);
            }
        }
        if (params.play && !window.matchMedia("(prefers-reduced-motion: reduce)").matches) this.player.play();
    }

    // --- drawing -----------------------------------------------------------------------------

    invalidate() {
        if (this.scheduled) return;
        this.scheduled = true;
        requestAnimationFrame(this.tick);
    }

    tick(now) {
        this.scheduled = false;
        const begin = performance.now();
        this.player.advance(now);
        this.sample();
        this.stage?.draw();
        this.updatePanel(now);
        const spent = performance.now() - begin;
        this.cost.frames += 1;
        this.cost.script += spent;
        this.cost.worst = Math.max(this.cost.worst, spent);
        this.firstDrawn?.();
        this.firstDrawn = null;
        if (this.player.playing) this.invalidate();
    }

    sample() {
        if (this.atLiveEnd) this.player.time = this.player.end;
        for (let i = 0; i < this.runs.length; ++i) this.runs[i].sample(this.runs[i].frameAt(this.player.time));
    }

    // At once, for a resize (a canvas that changed its size is empty) and for tests.
    drawNow() {
        this.sample();
        this.stage?.draw();
        this.updatePanel(Infinity);
    }

    // The slider and the lines in the plots move with the picture; numbers change less often: nobody
    // reads them sixty times a second.
    updatePanel(now) {
        if (this.bare) return;
        const numbers = !this.player.playing || now - this.panelAt >= PANEL_INTERVAL;
        this.player.show();
        this.plots.setTime(this.player.time, numbers);
        if (!numbers) return;
        this.panelAt = Number.isFinite(now) ? now : this.panelAt;
        this.inspect.show();
        this.legend.show();
    }

    repaint() {
        this.stage?.paint();
        this.plots.refresh(false);
        this.legend.rebuild();
        this.invalidate();
    }

    // --- what the buttons and keys do --------------------------------------------------------

    announce(text) {
        setText(this.status, text);
    }

    setOverlay(name, on) {
        if (!this.stage?.setOverlay(name, on)) return false;
        this.overlayButtons.get(name).setAttribute("aria-pressed", String(on));
        this.legend.rebuild();
        this.invalidate();
        return true;
    }

    toggleOverlay(name) {
        const on = !this.stage?.on.has(name);
        if (this.setOverlay(name, on)) this.announce(`${OVERLAYS.find((o) => o.name === name).label} ${on ? "on" : "off"}`);
    }

    setMode(mode) {
        this.stage?.setMode(mode);
        for (const b of this.modeBox?.querySelectorAll("button") ?? []) b.setAttribute("aria-pressed", String(b.dataset.mode === mode));
        this.legend.rebuild();
        this.invalidate();
    }

    nextMode() {
        if (this.runs.length < 2 || !this.stage) return;
        const mode = MODES[(MODES.indexOf(this.stage.mode) + 1) % MODES.length];
        this.setMode(mode);
        this.announce(MODE_NAMES[mode]);
    }

    look(view) {
        this.setFollow(false);
        this.stage?.eye.look(view);
        if (this.viewBox && this.stage) this.viewBox.value = VIEWS.includes(this.stage.eye.view) ? this.stage.eye.view : "iso";
        this.invalidate();
    }

    nextView() {
        if (!this.stage || this.runs[0].planar) return;
        this.look(VIEWS[(VIEWS.indexOf(this.stage.eye.view) + 1) % VIEWS.length]);
        this.announce(`View: ${this.stage.eye.view}`);
    }

    select(what) {
        this.selection = what;
        if (this.stage) this.stage.selection = this.both(what);
        if (this.following && what?.kind !== "body") this.setFollow(false);
        this.inspect.select(what);
        this.plots.select(what);
        if (this.following) this.setFollow(true);
        if (what?.kind === "body") this.announce(`Body ${shorten(this.runs[what.run].names[what.body], 60)}`);
        this.invalidate();
    }

    // A body chosen in one of two runs is marked in both, if both count their bodies alike.
    both(what) {
        if (what?.kind !== "body" || this.runs.length < 2) return what;
        this.match ??= matchBodies(this.runs[0], this.runs[1]);
        const alike = this.match.every((b, i) => b === i);
        return alike ? what : { ...what, kind: "none" };
    }

    chooseNext(by) {
        const run = this.selection?.run ?? 0;
        const count = this.runs[run].bodies.length;
        if (!count) return;
        const at = this.selection?.kind === "body" ? this.selection.body : by > 0 ? -1 : 0;
        this.select({ kind: "body", run, body: (at + by + count) % count });
    }

    setFollow(on) {
        const chosen = this.selection;
        this.following = on && chosen?.kind === "body";
        this.stage?.setFollow(this.following ? { run: chosen.run, body: chosen.body } : null);
        this.inspect?.setFollowing(this.following);
        this.invalidate();
    }

    toggleFollow() {
        if (!this.following && this.selection?.kind !== "body") {
            this.announce("Choose a body to follow first");
            return;
        }
        this.setFollow(!this.following);
        this.announce(this.following ? "Following" : "Not following");
    }

    togglePanel() {
        const hidden = document.body.classList.toggle("no-panel");
        this.panelButton.setAttribute("aria-pressed", String(!hidden));
    }

    savePicture() {
        if (!this.stage) return;
        this.stage.snapshot().toBlob((blob) => save(fileName(this.runs[0].name, ".png"), blob));
    }

    // --- live --------------------------------------------------------------------------------

    liveFrame() {
        const now = performance.now();
        if (now - this.plotsAt > LIVE_INTERVAL) {
            this.plotsAt = now;
            this.plots.refresh(true);
            this.stage?.refit();
        }
        this.invalidate();
    }

    liveEnd(text) {
        this.liveBar.end(text);
        this.announce(text);
        this.plots.refresh(true);
        this.invalidate();
    }

    // --- for tests and pictures --------------------------------------------------------------

    handle() {
        return {
            seek: (time) => {
                this.player.pause();
                this.player.seek(time);
                this.drawNow();
            },
            overlay: (name, on) => {
                const done = this.setOverlay(name, on);
                this.drawNow();
                return done;
            },
            view: (name) => {
                this.look(name);
                this.drawNow();
            },
            select: (what) => this.select(what),
            addPlot: (id) => this.plots.addById(id)?.last() ?? null,
            csv: (index) => this.plots.cards[index].csv(),
            draw: () => this.drawNow(),
            project: (run, body) => this.pixelOf(run, body),
            resetCost: () => Object.assign(this.cost, { frames: 0, script: 0, worst: 0 }),
            info: () => this.info(),
        };
    }

    pixelOf(run, body) {
        const at = { x: 0, y: 0, visible: false };
        const p = this.runs[run].now.position;
        const side = this.stage.mode === "side";
        this.stage.viewport.width = side ? this.stage.width / 2 : this.stage.width;
        this.stage.viewport.x = side ? run * this.stage.viewport.width : 0;
        this.stage.project(p[3 * body], p[3 * body + 1], p[3 * body + 2], at);
        const box = this.picture.getBoundingClientRect();
        return { x: box.left + at.x, y: box.top + at.y, visible: at.visible };
    }

    info() {
        return {
            format: "perp-page 1",
            runs: this.runs.map((run) => ({
                name: run.name, frames: run.frames, bodies: run.names, duration: run.duration, start: run.start,
                accuracy: run.accuracy ?? 0, frame: run.now.frame, contacts: run.c1 - run.c0,
                position: [...run.now.position], parameters: run.header.parameters ?? {},
                measures: run.header.measures ?? {}, outcome: run.header.outcome ?? "",
            })),
            time: this.player.time,
            begin: this.player.begin,
            end: this.player.end,
            playing: this.player.playing,
            speed: this.player.speed,
            mode: this.stage?.mode ?? "none",
            view: this.stage?.eye.view ?? "none",
            theme: this.theme.name,
            selection: this.selection,
            following: this.following,
            overlays: OVERLAYS.map((o) => ({ name: o.name, available: this.stage?.available(o) ?? false, on: this.stage?.on.has(o.name) ?? false })),
            plots: this.plots.cards.map((card) => ({ title: card.title, series: card.last() })),
            cost: { ...this.cost },
        };
    }
}

// Parameters, measures and outcome of a run; null if its scene has none.
function resultSection(run) {
    const h = run.header;
    const rows = (object) => Object.entries(object ?? {}).slice(0, 200).flatMap(([name, value]) =>
        [el("dt", { text: shorten(name, 60) }), el("dd", { text: value === null ? "none" : format(Number(value)) })]);
    const parts = [
        ["Parameters", rows(h.parameters)],
        ["Measures", [...rows(h.measures), ...(h.outcome ? [el("dt", { text: "outcome" }), el("dd", { text: shorten(String(h.outcome), 100) })] : [])]],
    ].filter(([, list]) => list.length);
    if (!parts.length) return null;
    return el("section", { class: "results" }, ...parts.flatMap(([title, list]) =>
        [el("h2", { text: run.letter ? `${title} of run ${run.letter}` : title }), el("dl", { class: "facts" }, ...list)]));
}

// What a reader must know about a recording that did not end as planned.
function runNote(run) {
    const h = run.header;
    if (run.live || h.finished !== false) return "";
    const why = h.note ? String(h.note) : h.complete === false ? "the program was cut off" : "stopped early";
    return `not finished: ${why}; ends at t = ${format(run.duration)}`;
}
