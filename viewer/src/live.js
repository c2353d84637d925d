// A run that is still being worked out: frames come in over server-sent events, and pause, play,
// step and stop go back to the program.
import { BaseRun } from "./data.js";
import { button, el } from "./dom.js";

const BUDGET = 192e6; // bytes for poses and velocities; beyond, every other frame is let go

// An array that grows by doubling.
class Column {
    constructor(Type, width = 1) {
        this.width = width;
        this.data = new Type(1024 * width);
        this.rows = 0;
    }

    push(row) {
        const at = this.rows * this.width;
        if (at + this.width > this.data.length) {
            const grown = new this.data.constructor(2 * this.data.length);
            grown.set(this.data);
            this.data = grown;
        }
        if (this.width === 1) this.data[at] = row;
        else for (let j = 0; j < this.width; ++j) this.data[at + j] = row?.[j] ?? 0;
        this.rows += 1;
    }
}

const LEDGER = ["change", "forces", "drag", "springs", "motors", "prescribed", "friction", "impacts", "joints", "scheme.gap",
    "scheme.joints", "scheme.gyroscopic", "scheme.springs", "scheme.step_loss", "scheme.projection", "scheme.extrapolation", "unexplained"];

const SCALARS = {
    ...Object.fromEntries(LEDGER.map((term) => [`ledger.${term}`, (f) => f.ledger?.[term]])), // summed since the start
    "energy.kinetic": (f) => f.energy?.kinetic, "energy.potential": (f) => f.energy?.potential,
    "energy.total": (f) => f.energy?.total, "certificate.dynamics": (f) => f.certificate?.dynamics,
    "certificate.normal": (f) => f.certificate?.normal, "certificate.friction": (f) => f.certificate?.friction,
    "certificate.joints": (f) => f.certificate?.joints, "solver.iterations": (f) => f.iterations,
    "solver.penetration": (f) => f.penetration, "solver.residual": (f) => f.residual,
    "momentum.x": (f) => f.momentum?.[0], "momentum.y": (f) => f.momentum?.[1], "momentum.z": (f) => f.momentum?.[2],
    "angular.x": (f) => f.angular?.[0], "angular.y": (f) => f.angular?.[1], "angular.z": (f) => f.angular?.[2],
    "momentum_error.linear": (f) => f.momentum_error?.[0], "momentum_error.angular": (f) => f.momentum_error?.[1],
    angular: (f) => f.angular, joint_error: (f) => f.joint_error,
    "solver.contacts": (f) => (f.contacts ?? []).filter((c) => c.state !== 0).length,
};

const CONTACT = {
    body: [Int32Array, 2], point: [Float32Array, 3], normal: [Float32Array, 3], tangent: [Float32Array, 3],
    gap: [Float32Array, 1], mu: [Float32Array, 1], cone: [Uint8Array, 1], directions: [Uint8Array, 1],
    impulse: [Float32Array, 4], slip: [Float32Array, 2], key: [Float64Array, 1], state: [Uint8Array, 1],
};

export class LiveRun extends BaseRun {
    constructor(header, budget = BUDGET) {
        super(header, "");
        this.live = true;
        this.budget = budget;
        this.moving = this.bodies.map((_, b) => b).filter((b) => this.bodies[b].type !== "static");
        this.nq = (this.planar ? 3 : 7) * this.bodies.length;
        this.nv = (this.planar ? 3 : 6) * this.bodies.length;
        this.clear();
    }

    clear() {
        const spatial = /^(momentum\.z|angular\..)$/;
        const names = Object.keys(SCALARS).filter((name) => (this.planar ? !spatial.test(name) : name !== "angular") && (name !== "joint_error" || this.joints.length > 0));
        this.columns = new Map(names.map((name) => [name, new Column(Float64Array)]));
        this.timeColumn = new Column(Float64Array);
        this.q = new Column(Float32Array, Math.max(1, this.nq));
        this.v = new Column(Float32Array, Math.max(1, this.nv));
        this.rows = Object.fromEntries(Object.entries(CONTACT).map(([name, [Type, width]]) => [name, new Column(Type, width)]));
        this.offset = new Column(Int32Array);
        this.offset.push(0);
        this.contacts = { most: 4096, count: 0, every: 1 };
        this.frames = 0;
        this.point();
    }

    // The arrays may have moved.
    point() {
        this.time = this.timeColumn.data;
        for (const name of Object.keys(CONTACT)) this.contacts[name] = this.rows[name].data;
        this.contacts.offset = this.offset.data;
        this.contacts.count = this.rows.key.rows;
    }

    push(frame) {
        const bytes = 4 * (this.nq + this.nv) * (this.frames + 1);
        if (bytes > this.budget) this.thin();
        this.timeColumn.push(frame.time);
        this.q.push(frame.q);
        this.v.push(frame.v);
        for (const [name, column] of this.columns) column.push(SCALARS[name](frame) ?? NaN);
        for (const c of frame.contacts ?? []) {
            for (const name of Object.keys(CONTACT)) this.rows[name].push(c[name] ?? 0);
        }
        this.offset.push(this.rows.key.rows);
        this.frames += 1;
        this.point();
    }

    // Keeps every other frame and all contacts of those.
    thin() {
        const old = { q: this.q, v: this.v, time: this.timeColumn, columns: this.columns, rows: this.rows, offset: this.offset, n: this.frames };
        this.clear();
        for (let k = 0; k < old.n; k += 2) {
            this.timeColumn.push(old.time.data[k]);
            this.q.push(old.q.data.subarray(k * this.q.width));
            this.v.push(old.v.data.subarray(k * this.v.width));
            for (const [name, column] of old.columns) this.columns.get(name).push(column.data[k]);
            for (let i = old.offset.data[k]; i < old.offset.data[k + 1]; ++i) {
                for (const [name, [, width]] of Object.entries(CONTACT)) {
                    const from = old.rows[name].data;
                    this.rows[name].push(width === 1 ? from[i] : from.subarray(width * i));
                }
            }
            this.offset.push(this.rows.key.rows);
            this.frames += 1;
        }
        this.point();
    }

    scalar(name) {
        return this.columns.get(name)?.data ?? null;
    }

    sampleBody(b, f, into) {
        const k = Math.max(0, Math.min(this.frames - 1, Math.floor(f)));
        const next = Math.min(this.frames - 1, k + 1);
        const s = f - k;
        const q = this.q.data, v = this.v.data;
        const mix = (data, row, other) => data[row] + s * (data[other] - data[row]);
        if (this.planar) {
            const a = k * this.q.width + 3 * b, c = next * this.q.width + 3 * b;
            const angle = mix(q, a + 2, c + 2);
            into.position[3 * b] = mix(q, a, c);
            into.position[3 * b + 1] = mix(q, a + 1, c + 1);
            into.quaternion[4 * b + 2] = Math.sin(angle / 2);
            into.quaternion[4 * b + 3] = Math.cos(angle / 2);
            const m = k * this.v.width + 3 * b, n = next * this.v.width + 3 * b;
            into.velocity[3 * b] = mix(v, m, n);
            into.velocity[3 * b + 1] = mix(v, m + 1, n + 1);
            into.spin[3 * b + 2] = mix(v, m + 2, n + 2);
            return angle;
        }
        const a = k * this.q.width + 7 * b, c = next * this.q.width + 7 * b;
        for (let j = 0; j < 3; ++j) into.position[3 * b + j] = mix(q, a + j, c + j);
        let dot = 0;
        for (let j = 3; j < 7; ++j) dot += q[a + j] * q[c + j];
        let norm = 0;
        for (let j = 0; j < 4; ++j) {
            const x = (1 - s) * q[a + 3 + j] + (dot < 0 ? -s : s) * q[c + 3 + j];
            into.quaternion[4 * b + ((j + 3) & 3)] = x;
            norm += x * x;
        }
        norm = Math.sqrt(norm) || 1;
        for (let j = 0; j < 4; ++j) into.quaternion[4 * b + j] /= norm;
        const m = k * this.v.width + 6 * b, n = next * this.v.width + 6 * b;
        for (let j = 0; j < 3; ++j) {
            into.velocity[3 * b + j] = mix(v, m + j, n + j);
            into.spin[3 * b + j] = mix(v, m + 3 + j, n + 3 + j);
        }
        return 0;
    }

    angleOf(b) {
        return this.frames ? this.sampleBody(b, this.now.f, this.now) : 0;
    }

    sample(f) {
        this.now.f = f;
        this.now.frame = Math.max(0, Math.min(this.frames - 1, Math.round(f)));
        if (this.frames) for (let b = 0; b < this.bodies.length; ++b) this.sampleBody(b, f, this.now);
        this.contactsAt(this.now.frame);
    }

    bodySeries(b, what) {
        const n = this.frames;
        const width = what === "orientation" ? (this.planar ? 1 : 4) : 3;
        const out = Array.from({ length: width }, () => new Float64Array(n));
        const B = this.bodies.length;
        const into = { position: new Float64Array(3 * B), quaternion: new Float32Array(4 * B), velocity: new Float32Array(3 * B), spin: new Float32Array(3 * B) };
        for (let k = 0; k < n; ++k) {
            const angle = this.sampleBody(b, k, into);
            for (let j = 0; j < width; ++j) {
                out[j][k] = what !== "orientation" ? into[what][3 * b + j] : this.planar ? angle : into.quaternion[4 * b + ((j + 3) & 3)];
            }
        }
        return out;
    }
}

// Opens the stream. The run is made when its header has come; handlers: onRun(run), onFrame(),
// onState({ paused }), onEnd(text).
export function connect({ onRun, onFrame, onState, onEnd }) {
    let run = null;
    let ended = false;
    const source = new EventSource("events");
    const end = (text) => {
        if (ended) return;
        ended = true;
        source.close();
        onEnd(text);
    };
    source.addEventListener("header", (event) => {
        if (run) return; // a new connection to the same run
        run = new LiveRun(JSON.parse(event.data));
        onRun(run);
    });
    source.addEventListener("frame", (event) => {
        if (!run) return;
        const frame = JSON.parse(event.data);
        // After a lost connection the program may send frames again.
        if (run.frames && !(frame.time > run.time[run.frames - 1])) return;
        run.push(frame);
        onFrame();
    });
    source.addEventListener("state", (event) => onState(JSON.parse(event.data)));
    source.addEventListener("end", (event) => {
        const data = JSON.parse(event.data || "{}");
        end(String(data.message || data.status || "the run has ended"));
    });
    source.onerror = () => {
        if (source.readyState === EventSource.CLOSED) end("the connection to the program was lost");
    };
    return source;
}

async function control(word, announce) {
    try {
        const answer = await fetch("control", { method: "POST", body: word });
        if (!answer.ok) announce(`The program refused: ${word}`);
    } catch {
        announce("The program does not answer");
    }
}

// Buttons that steer the program.
export function liveControls(announce) {
    let paused = false;
    const show = (now) => {
        paused = now;
        pause.textContent = paused ? "Continue run" : "Pause run";
    };
    const pause = button("Pause run", () => {
        show(!paused);
        control(paused ? "pause" : "play", announce);
    });
    const step = button("Step run", async () => {
        if (!paused) {
            show(true);
            await control("pause", announce);
        }
        control("step", announce);
    });
    const stop = button("Stop run", () => control("stop", announce));
    const state = el("span", { class: "badge live", text: "live" });
    const element = el("div", { class: "buttons", role: "group", "aria-label": "The running program" }, state, pause, step, stop);
    return {
        element,
        state: (state) => show(Boolean(state.paused)), // another page may have paused it
        end(text) {
            state.textContent = "ended";
            state.title = text;
            for (const b of [pause, step, stop]) b.disabled = true;
        },
    };
}
