// The numbers of what was chosen: a body or a contact.
import { button, el, format, setText, shorten } from "./dom.js";
import { CONE_NAMES, STATE_NAMES } from "./data.js";

const list = (values) => values.map(format).join(", ");

export class Inspect {
    constructor(host, runs, { onSelect, onFollow }) {
        this.runs = runs;
        this.onSelect = onSelect;
        this.selection = null;
        this.rows = new Map();
        this.build(host, onFollow);
    }

    build(host, onFollow) {
        this.bodies = el("select", { "aria-label": "Body", class: "grow", onchange: () => this.choose(this.bodies.value) },
            el("option", { value: "", text: "Choose a body…" }),
            ...this.runs.map((run, r) => {
                const options = run.names.map((name, b) => el("option", { value: `body ${r} ${b}`, text: shorten(name, 48) }));
                return run.letter ? el("optgroup", { label: `Run ${run.letter}` }, ...options) : options;
            }).flat());
        this.contacts = el("select", {
            "aria-label": "Contact at this time", class: "grow",
            onchange: () => this.choose(this.contacts.value),
            onfocus: () => this.listContacts(), onpointerdown: () => this.listContacts(),
        }, el("option", { value: "", text: "Choose a contact…" }));
        this.followButton = button("Follow", onFollow, { "aria-pressed": "false", title: "Keep the body in the middle (f)" });
        this.table = el("dl", { class: "facts" });
        this.hint = el("p", { class: "hint", text: "Click a body in the picture, or a contact while contacts are shown." });
        host.append(el("div", { class: "choosers" }, this.bodies, this.followButton),
            this.runs.some((r) => r.contacts) ? el("div", { class: "choosers" }, this.contacts) : null ?? "", this.hint, this.table);
    }

    // The contacts of this moment; built when someone asks for them.
    listContacts() {
        const options = [el("option", { value: "", text: "Choose a contact…" })];
        this.runs.forEach((run, r) => {
            for (let i = run.c0; i < run.c1 && options.length < 500; ++i) {
                const key = run.contacts.key[i];
                options.push(el("option", { value: `contact ${r} ${key}`, text: `${run.letter ? `${run.letter}: ` : ""}${contactName(run, i)}` }));
            }
        });
        this.contacts.replaceChildren(...options);
        if (this.selection?.kind === "contact") this.contacts.value = `contact ${this.selection.run} ${this.selection.key}`;
    }

    choose(value) {
        const [kind, run, id] = value.split(" ");
        if (kind === "body") this.onSelect({ kind, run: Number(run), body: Number(id) });
        else if (kind === "contact") this.onSelect({ kind, run: Number(run), key: Number(id) });
        else this.onSelect(null);
    }

    select(selection) {
        this.selection = selection;
        this.bodies.value = selection?.kind === "body" ? `body ${selection.run} ${selection.body}` : "";
        if (selection?.kind === "contact") this.listContacts();
        else this.contacts.value = "";
        this.rows.clear();
        this.table.replaceChildren();
        this.hint.hidden = Boolean(selection);
        this.show();
    }

    setFollowing(on) {
        this.followButton.setAttribute("aria-pressed", String(on));
    }

    row(label, value, title) {
        let cell = this.rows.get(label);
        if (!cell) {
            cell = el("dd");
            this.rows.set(label, cell);
            this.table.append(el("dt", { text: label }), cell);
        }
        setText(cell, value);
        if (title) cell.title = title;
    }

    show() {
        if (this.selection?.kind === "body") this.showBody(this.runs[this.selection.run], this.selection.body);
        else if (this.selection?.kind === "contact") this.showContact(this.runs[this.selection.run], this.selection.key);
    }

    showBody(run, b) {
        const body = run.bodies[b];
        const { position: x, quaternion: q, velocity: v, spin: w } = run.now;
        const d = run.planar ? 2 : 3;
        this.row("name", shorten(run.names[b], 120), shorten(run.names[b], 400));
        this.row("type", String(body.type));
        if (body.type === "dynamic") {
            this.row("mass", format(Number(body.mass)));
            const inertia = [body.inertia ?? []].flat(2).map(Number);
            const diagonal = inertia.length === 9 ? [0, 4, 8].map((i) => inertia[i]) : inertia;
            if (diagonal.length) this.row("inertia", list(diagonal));
        }
        this.row("position", list([...x.subarray(3 * b, 3 * b + d)]));
        if (run.planar) this.row("angle", format(run.angleOf(b)));
        else this.row("orientation", list([q[4 * b + 3], q[4 * b], q[4 * b + 1], q[4 * b + 2]]), "quaternion w, x, y, z");
        this.row("velocity", list([...v.subarray(3 * b, 3 * b + d)]));
        this.row("ang. velocity", run.planar ? format(w[3 * b + 2]) : list([...w.subarray(3 * b, 3 * b + 3)]));
        if (run.contacts) {
            let count = 0;
            for (let i = run.c0; i < run.c1; ++i) {
                const c = run.contacts;
                if (c.state[i] !== 0 && (c.body[2 * i] === b || c.body[2 * i + 1] === b)) ++count;
            }
            this.row("contacts", `${count} with force`);
        }
    }

    showContact(run, key) {
        const i = run.findContact(run.now.frame, key);
        const c = run.contacts;
        const none = "–";
        if (i >= 0) {
            const names = [0, 1].map((side) => run.names[c.body[2 * i + side]] ?? "world");
            this.row("A → B", names.map((n) => shorten(n, 30)).join(" → "), names.map((n) => shorten(n, 200)).join(" → "));
        }
        const p = (j) => c.impulse[4 * i + j];
        const friction = i >= 0 ? Math.hypot(p(1), p(2)) : 0;
        const value = (make) => (i >= 0 ? make() : none);
        this.row("state", i >= 0 ? STATE_NAMES[c.state[i]] ?? none : "not in reach now");
        this.row("gap", value(() => format(c.gap[i])));
        this.row("impulse n, t, o", value(() => list([p(0), p(1), p(2)])), "on B, along normal and both tangents");
        if (!run.planar && i >= 0 && p(3) !== 0) this.row("impulse about n", format(p(3)));
        this.row("normal force", value(() => format(p(0) / run.step)));
        this.row("friction force", value(() => format(friction / run.step)));
        this.row("slip t, o", value(() => list([c.slip[2 * i], c.slip[2 * i + 1]])));
        this.row("cone", value(() => `${CONE_NAMES[c.cone[i]] ?? none}${c.cone[i] === 1 && c.directions[i] ? ` (${c.directions[i]} directions)` : ""}, µ = ${format(c.mu[i])}`));
        this.row("use of the cone", value(() => (c.mu[i] * p(0) > 0 ? `${(100 * friction / (c.mu[i] * p(0))).toFixed(1)} %` : none)), "friction over µ times normal");
        this.row("residual", value(() => (p(0) > 0 && c.cone[i] ? format(Math.max(0, friction - c.mu[i] * p(0)) / p(0)) : "0")), "how far friction leaves the round cone, relative to the normal impulse, in the page's single precision");
        for (const law of ["normal", "friction"]) {
            const column = run.scalar(`certificate.${law}`);
            if (column) this.row(`step's ${law}`, format(column[run.now.frame]), "certificate of the whole step");
        }
    }
}

export function contactName(run, i) {
    const c = run.contacts;
    const name = (side) => shorten(run.names[c.body[2 * i + side]] ?? "world", 20);
    return `${name(0)} → ${name(1)} (${c.key[i]})`;
}
