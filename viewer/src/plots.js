// Plots beside the picture: one card per quantity, all on one time axis, linked to the slider.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { button, el, fileName, format, save, setText, shorten } from "./dom.js";
import { QUANTITIES } from "./quantities.js";
import { DISTANCE } from "./compare.js";
import { outlines, paintStack } from "./stack.js";

const HEIGHT = 140;
const SMALLEST = 1e-18; // on a logarithmic axis, in place of zero

function axisValues(u, splits, axis, space, step) {
    return splits.map((v) => {
        if (v === null) return "";
        if (v === 0) return "0";
        const a = Math.abs(v);
        if (a >= 1e5 || a < 1e-3) return v.toExponential(a >= 10 * step ? 1 : 0).replace("e+", "e");
        return String(Number(v.toPrecision(8)));
    });
}

// Whole powers of ten, at most six.
function decades(u, axis, low, high) {
    const first = Math.ceil(Math.log10(low) - 1e-9);
    const last = Math.floor(Math.log10(high) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first + 1) / 6));
    const out = [];
    for (let e = first; e <= last; e += step) out.push(Number(`1e${e}`));
    return out;
}

// Rounding noise on a constant should look constant.
function quietRange(u, low, high) {
    if (low === null || high === null) return [0, 1];
    const size = Math.max(Math.abs(low), Math.abs(high));
    if (high - low <= 1e-9 * size) return size === 0 ? [-1, 1] : [low - 0.1 * size, high + 0.1 * size];
    const pad = 0.08 * (high - low);
    return [low - pad, high + pad];
}

class Card {
    constructor(plots, quantity, target) {
        this.plots = plots;
        this.quantity = quantity;
        this.target = target; // { run, body } or { run, key } or {}
        this.pinned = false;
        this.heading = el("h3", { class: "ellipsis" });
        const small = (label, text, action) => button(text, action, { class: "small", "aria-label": label, title: label });
        this.pinButton = quantity.group === "body" || quantity.group === "contact"
            ? small("Keep this one when something else is chosen", "Pin", () => this.pin())
            : null;
        this.pinButton?.setAttribute("aria-pressed", "false");
        this.box = el("div", { class: "plot" });
        this.legend = el("ul", { class: "legend-row" });
        this.element = el("section", { class: "card" },
            el("header", {}, this.heading,
                el("div", { class: "buttons" }, this.pinButton,
                    small("Save this plot as a PNG picture", "PNG", () => this.savePng()),
                    small("Save these numbers as CSV", "CSV", () => this.saveCsv()),
                    button("Remove this plot", () => plots.remove(this), { class: "icon-button small", icon: "close" }))),
            this.box, this.legend);
        this.line = el("div", { class: "now-line" });
        this.cells = [];
        this.load();
    }

    pin() {
        this.pinned = !this.pinned;
        this.pinButton.setAttribute("aria-pressed", String(this.pinned));
    }

    get title() {
        const { runs } = this.plots;
        const { group, title } = this.quantity;
        if (group === "body") return `${title} of ${runs[this.target.run].names[this.target.body]}`;
        if (group === "contact") return `${title}: ${this.plots.contactName(this.target)}`;
        return title;
    }

    // Per run its columns; a contact exists in the run it was picked in only.
    gather() {
        const { runs } = this.plots;
        if (this.quantity === DISTANCE) {
            return [{ run: runs[0], series: DISTANCE.series(runs[0], runs[1], this.plots.chosenBody()) }];
        }
        const tables = [];
        runs.forEach((run, i) => {
            if (!this.quantity.available(run)) return;
            let target = this.target;
            if (this.quantity.group === "contact" && target.run !== i) return;
            if (this.quantity.group === "body" && target.run !== i) {
                const body = run.names.indexOf(runs[target.run].names[target.body]);
                if (body < 0) return;
                target = { run: i, body };
            }
            const series = this.quantity.series(run, target);
            if (series.length) tables.push({ run, series });
        });
        return tables;
    }

    load() {
        this.tables = this.gather();
        const largest = Math.max(0, ...this.tables.flatMap((t) => t.series.map((s) => s.values.reduce((a, v) => (v > a ? v : a), 0))));
        this.log = Boolean(this.quantity.log) && largest > 0;
        // A law without rows has a certificate of exactly zero: no line for it.
        if (this.log) {
            for (const t of this.tables) t.series = t.series.filter((s) => s.values.some((v) => v !== 0));
        }
        const shown = (values, n) => Array.from(values.subarray ? values.subarray(0, n) : values.slice(0, n),
            (v) => (Number.isFinite(v) ? (this.log ? Math.max(v, SMALLEST) : v) : null));
        const tables = this.tables.map(({ run, series }) =>
            [Array.from(run.time.subarray(0, run.frames)), ...series.map((s) => shown(s.values, run.frames))]);
        const same = tables.every((t) => t[0].length === tables[0][0].length && t[0].every((x, k) => x === tables[0][0][k]));
        this.data = tables.length === 0 ? [[]] : same ? [tables[0][0], ...tables.flatMap((t) => t.slice(1))] : uPlot.join(tables);
        this.series = this.tables.flatMap(({ run, series }) => series.map((s, i) => ({ run, ...s, color: i, dashed: run.letter === "B" && this.tables.length > 1 })));
        this.stacked = Boolean(this.quantity.stacked) && this.tables.length === 1;
        setText(this.heading, shorten(this.title, 80));
        this.heading.title = shorten(this.title, 400);
        this.draw();
    }

    colorOf(s) {
        const { theme } = this.plots;
        return theme.ledger[s.term] ?? theme.series[s.color % theme.series.length];
    }

    // What uPlot draws: [{ values, stroke, width, dash }]. Of a stack, the lines over it, and its
    // outlines unseen, for the range.
    lines() {
        const shown = this.series.map((s, i) => ({
            ...s, values: this.data[i + 1], stroke: this.colorOf(s), width: s.kind === "line" ? 2 : 1.5, dash: s.dashed ? [5, 4] : undefined,
        }));
        const drawn = shown.filter((s) => s.kind !== "number");
        if (!this.stacked) return drawn;
        const { top, bottom } = outlines(shown.filter((s) => s.kind === "area"), this.data[0].length);
        const unseen = (values) => ({ label: "", values, stroke: "transparent", width: 0 });
        return [...drawn.filter((s) => s.kind === "line"), unseen(top), unseen(bottom)];
    }

    draw() {
        const { zoom } = this.plots;
        this.uplot?.destroy();
        this.box.replaceChildren();
        const style = getComputedStyle(document.documentElement);
        const ink = style.getPropertyValue("--muted").trim();
        const grid = style.getPropertyValue("--line").trim();
        const font = "11px system-ui, sans-serif";
        const axis = { stroke: ink, font, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1, size: 4 }, values: axisValues };
        const range = this.plots.range();
        const lines = this.lines();
        const areas = this.stacked ? this.series.filter((s) => s.kind === "area").map((s) => ({ values: s.values, color: this.colorOf(s) })) : [];
        this.uplot = new uPlot({
            width: this.plots.width(), height: HEIGHT,
            padding: [8, 10, 0, 0],
            legend: { show: false },
            cursor: { drag: { x: true, y: false }, sync: { key: "perp" }, points: { size: 6 } },
            scales: {
                x: { time: false, min: zoom?.[0] ?? range[0], max: zoom?.[1] ?? range[1] },
                y: this.log ? { distr: 3 } : { range: quietRange },
            },
            axes: [{ ...axis, size: 26, gap: 3 }, { ...axis, size: 54, gap: 4, ...(this.log ? { splits: decades, filter: (u, splits) => splits } : {}) }],
            series: [{}, ...lines.map(({ label, stroke, width, dash }) => ({
                label, stroke, width, dash, spanGaps: this.tables.length > 1, points: { show: false }, pxAlign: 0,
            }))],
            hooks: {
                drawAxes: areas.length ? [(u) => paintStack(u, areas)] : [],
                setScale: [(u, key) => key === "x" && this.plots.zoomed(this, u.scales.x.min, u.scales.x.max)],
                setCursor: [() => this.showValues()],
            },
        }, [this.data[0], ...lines.map((s) => s.values)], this.box);
        this.uplot.over.append(this.line);
        let downX = 0;
        this.uplot.over.addEventListener("mousedown", (e) => (downX = e.clientX));
        this.uplot.over.addEventListener("click", (e) => {
            if (Math.abs(e.clientX - downX) < 3) this.plots.onSeek(this.uplot.posToVal(e.offsetX, "x"));
        });
        this.cells = this.series.map((s) => {
            const value = el("span", { class: "value" });
            const swatch = s.kind === "number" ? null : el("span", { class: `swatch${s.dashed ? " dashed" : this.stacked && s.kind === "area" ? " area" : ""}` });
            swatch?.style.setProperty("--swatch", this.colorOf(s));
            const label = this.tables.length > 1 ? `${s.label} ${s.run.letter}` : s.label;
            return { value, item: el("li", {}, swatch, el("span", { class: "ellipsis", text: shorten(label, 40), title: shorten(label, 400) }), value) };
        });
        this.legend.classList.toggle("in-columns", this.stacked);
        this.legend.replaceChildren(...this.cells.map((c) => c.item));
        if (this.series.length === 0) this.legend.replaceChildren(el("li", { text: "nothing recorded" }));
        this.showTime();
    }

    showTime(numbers = true) {
        const { time } = this.plots;
        const x = this.uplot.valToPos(time, "x");
        const inside = x >= -1 && x <= this.uplot.bbox.width / devicePixelRatio + 1;
        this.line.style.display = inside ? "" : "none";
        if (inside) this.line.style.transform = `translateX(${x.toFixed(1)}px)`;
        if (numbers) this.showValues();
    }

    // The values under the pointer, or at the time of the picture.
    showValues() {
        if (!this.uplot || this.cells.length !== this.series.length) return;
        const { idx, left } = this.uplot.cursor;
        const hovered = idx !== null && idx !== undefined && left >= 0;
        this.series.forEach((s, i) => {
            const values = hovered ? this.data[i + 1] : s.values;
            const k = hovered ? idx : Math.min(s.values.length, s.run.frames) - 1 < 0 ? 0 : Math.round(s.run.frameAt(this.plots.time));
            setText(this.cells[i].value, format(values[k] ?? NaN));
        });
    }

    last() {
        return this.series.map((s) => ({ label: s.label, term: s.term, run: s.run.letter, last: s.values[s.run.frames - 1] }));
    }

    saveCsv() {
        save(fileName(this.title, ".csv"), new Blob([this.csv()], { type: "text/csv" }));
    }

    // Every header begins with our own words, so that no name can pose as a formula.
    csv() {
        const quote = (text) => `"${text.replaceAll('"', '""')}"`;
        const number = (v) => (v === null || v === undefined ? "" : String(v));
        const heads = this.series.map((s) => quote(`${this.title}, ${s.label}${s.run.letter ? ` (run ${s.run.letter})` : ""}`));
        const rows = [["time", ...heads].join(",")];
        for (let k = 0; k < this.data[0].length; ++k) rows.push(this.data.map((column) => number(column[k])).join(","));
        return `${rows.join("\r\n")}\r\n`;
    }

    savePng() {
        this.png().toBlob((blob) => save(fileName(this.title, ".png"), blob));
    }

    png() {
        const from = this.uplot.ctx.canvas;
        const scale = from.width / this.plots.width();
        const top = (40 + 14 * Math.floor(this.series.length / 4)) * scale; // room for a legend of several rows
        const canvas = el("canvas", { width: from.width, height: from.height + top });
        const pen = canvas.getContext("2d");
        const style = getComputedStyle(document.documentElement);
        pen.fillStyle = style.getPropertyValue("--panel").trim();
        pen.fillRect(0, 0, canvas.width, canvas.height);
        pen.drawImage(from, 0, top);
        pen.scale(scale, scale);
        pen.fillStyle = style.getPropertyValue("--text").trim();
        pen.font = "600 13px system-ui, sans-serif";
        pen.fillText(shorten(this.title, 60), 10, 16);
        pen.font = "11px system-ui, sans-serif";
        let x = 10, row = 34;
        this.series.forEach((s) => {
            const label = shorten(`${s.label} ${s.run.letter}`.trim(), 30);
            const wide = 30 + pen.measureText(label).width;
            if (x > 10 && x + wide > this.plots.width()) {
                x = 10;
                row += 14;
            }
            pen.fillStyle = this.colorOf(s);
            pen.fillRect(x, row - 5, 12, 3);
            pen.fillText(label, x + 16, row);
            x += wide;
        });
        return canvas;
    }
}

export class Plots {
    constructor(host, runs, theme, { onSeek, announce, contactName }) {
        this.runs = runs;
        this.theme = theme;
        this.onSeek = onSeek;
        this.contactName = contactName;
        this.announce = announce;
        this.cards = [];
        this.selection = null;
        this.time = runs[0].start;
        this.zoom = null;
        this.build(host);
    }

    build(host) {
        const options = { scene: [], body: [], contact: [] };
        for (const q of QUANTITIES) {
            if (this.runs.some((run) => q.available(run))) options[q.group].push(el("option", { value: q.id, text: q.title }));
        }
        const titles = { scene: "The whole scene", body: "The chosen body", contact: "The chosen contact" };
        this.chooser = el("select", { "aria-label": "Quantity to plot" },
            ...(this.runs.length > 1 ? [el("optgroup", { label: "Both runs" }, el("option", { value: DISTANCE.id, text: DISTANCE.title }))] : []),
            ...Object.entries(options).filter(([, list]) => list.length).map(([group, list]) => el("optgroup", { label: titles[group] }, ...list)));
        const small = (text, label, action) => button(text, action, { class: "small", "aria-label": label, title: label });
        this.list = el("div", { class: "cards" });
        host.append(
            el("div", { class: "plot-bar" }, this.chooser,
                button("Add", () => this.addById(this.chooser.value), { "aria-label": "Add this plot" }),
                el("div", { class: "buttons" },
                    small("+", "Zoom plots in around the current time", () => this.zoomBy(0.5)),
                    small("−", "Zoom plots out", () => this.zoomBy(2)),
                    small("All", "Show the whole time in plots", () => this.setZoom(null)))),
            this.list);
        this.host = host;
        new ResizeObserver(() => this.resize()).observe(this.list);
    }

    width() {
        return Math.max(160, (this.list.clientWidth || 340) - 2);
    }

    range() {
        const low = Math.min(...this.runs.map((r) => r.start));
        const high = Math.max(...this.runs.map((r) => r.duration));
        return high > low ? [low, high] : [low, low + this.runs[0].step];
    }

    resize() {
        const width = this.width();
        if (width === this.lastWidth) return;
        this.lastWidth = width;
        for (const card of this.cards) {
            card.uplot.setSize({ width, height: HEIGHT });
            card.showTime();
        }
    }

    chosenBody() {
        return this.selection?.kind === "body" && this.selection.run === 0 ? this.selection.body : -1;
    }

    targetOf(quantity) {
        const chosen = this.selection;
        if (quantity.group === "body") {
            if (chosen?.kind === "body") return { run: chosen.run, body: chosen.body };
            const body = this.runs[0].bodies.findIndex((b) => b.type === "dynamic");
            return this.runs[0].bodies.length ? { run: 0, body: Math.max(0, body) } : null;
        }
        if (quantity.group === "contact") return chosen?.kind === "contact" ? { run: chosen.run, key: chosen.key } : null;
        return {};
    }

    has(id) {
        const quantity = QUANTITIES.find((q) => q.id === id);
        return this.runs.some((run) => quantity?.available(run));
    }

    addById(id) {
        const quantity = id === DISTANCE.id && this.runs.length > 1 ? DISTANCE : QUANTITIES.find((q) => q.id === id);
        if (!quantity) return null;
        const target = this.targetOf(quantity);
        if (!target) {
            this.announce("Choose a contact first: show contacts and click one, or take it from the list");
            return null;
        }
        const card = new Card(this, quantity, target);
        this.cards.push(card);
        this.list.append(card.element);
        return card;
    }

    remove(card) {
        this.cards = this.cards.filter((c) => c !== card);
        card.uplot.destroy();
        card.element.remove();
        this.chooser.focus({ preventScroll: true });
    }

    // Cards of the chosen kind turn to what is chosen now; if there are none yet, two appear.
    select(selection) {
        this.selection = selection;
        for (const card of this.cards) if (card.quantity === DISTANCE) card.load();
        if (!selection) return;
        const free = this.cards.filter((c) => c.quantity.group === selection.kind && !c.pinned);
        const target = selection.kind === "body" ? { run: selection.run, body: selection.body } : { run: selection.run, key: selection.key };
        for (const card of free) {
            card.target = target;
            card.load();
        }
        if (free.length === 0) {
            const ids = selection.kind === "body" ? ["position", "velocity"] : ["force", "slip", "gap"];
            const cards = ids.map((id) => this.addById(id)).filter(Boolean);
            cards.reverse().forEach((card) => this.list.prepend(card.element));
        }
    }

    setTime(time, numbers) {
        this.time = time;
        for (const card of this.cards) card.showTime(numbers);
    }

    // One plot was zoomed with the pointer: the others follow.
    zoomed(from, low, high) {
        if (this.syncing || !from.uplot || low === null || high === null) return;
        const range = this.range();
        const whole = low <= range[0] && high >= range[1];
        this.setZoom(whole ? null : [low, high], from);
    }

    setZoom(zoom, from = null) {
        this.zoom = zoom;
        const [min, max] = zoom ?? this.range();
        this.syncing = true;
        for (const card of this.cards) {
            if (card !== from) card.uplot.setScale("x", { min, max });
        }
        queueMicrotask(() => {
            this.syncing = false;
            for (const card of this.cards) card.showTime();
        });
    }

    zoomBy(factor) {
        const whole = this.range();
        const [low, high] = this.zoom ?? whole;
        const half = 0.5 * factor * (high - low);
        const min = Math.max(whole[0], this.time - half);
        const max = Math.min(whole[1], Math.max(this.time + half, min + half));
        this.setZoom(max - min >= 0.999 * (whole[1] - whole[0]) ? null : [min, max]);
    }

    // Colours or (live) numbers have changed.
    refresh(reload) {
        for (const card of this.cards) reload ? card.load() : card.draw();
    }
}
