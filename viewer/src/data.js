// From the header and the packed blob of a page to a Run that can be sampled at any time.
// The format is described in docs/replay.md.

export const STATE = { SEPARATING: 0, STICK: 1, SLIP: 2 };
export const STATE_NAMES = ["separating", "stick", "slip"];
export const CONE_NAMES = ["none", "polygon", "quadratic", "ellipsoid"];

function bytesOfBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text.trim());
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
    return bytes;
}

export async function inflate(base64) {
    const packed = bytesOfBase64(base64);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Width columns of count numbers: differences along a column, zigzag, byte planes.
function unpackFixed(bytes, column, Result) {
    const { count, width, origin, scale } = column;
    const total = count * width;
    const out = new Result(total);
    for (let j = 0; j < width; ++j) {
        const unit = Array.isArray(scale) ? scale[j] : scale;
        let value = 0;
        for (let i = 0, at = j * count; i < count; ++i, ++at) {
            const z =
                bytes[at] |
                (bytes[at + total] << 8) |
                (bytes[at + 2 * total] << 16) |
                (bytes[at + 3 * total] << 24);
            value = (value + ((z >>> 1) ^ -(z & 1))) | 0;
            out[i * width + j] = origin[j] + unit * value;
        }
    }
    return out;
}

const PLAIN = { f64: Float64Array, f32: Float32Array, i32: Int32Array, u8: Uint8Array };

function unpack(blob, column) {
    const { at, bytes, kind, count } = column;
    const width = column.width ?? 1;
    const item = kind === "fixed" ? 4 : PLAIN[kind]?.BYTES_PER_ELEMENT;
    if (!item) return null; // a kind of a later version
    if (!(at >= 0 && bytes === item * count * width && at + bytes <= blob.length)) {
        throw new Error(`the page is damaged: column ${column.name} does not fit`);
    }
    const slice = blob.slice(at, at + bytes);
    if (kind !== "fixed") return new PLAIN[kind](slice.buffer);
    // Orientations are unit vectors: single precision is finer than the page's own accuracy.
    return unpackFixed(slice, { ...column, width }, width === 4 ? Float32Array : Float64Array);
}

export function unpackColumns(header, blob) {
    const columns = new Map();
    for (const column of header.columns ?? []) {
        const data = unpack(blob, column);
        if (data) columns.set(column.name, data);
    }
    return columns;
}

// Control and direction marks in a name could garble the text around it.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function cleanName(name, fallback) {
    const text = String(name ?? "").replace(UNSEEN, "\ufffd").trim();
    return text === "" ? fallback : text;
}

// What recorded and live runs have in common.
export class BaseRun {
    constructor(header, letter) {
        this.header = header;
        this.letter = letter; // "A" or "B" on a page with two runs, else ""
        this.name = cleanName(header.name, cleanName(header.file, "unnamed scene"));
        this.planar = header.dimension === 2;
        this.step = header.step > 0 ? header.step : 1;
        this.size = header.size > 0 ? header.size : 1;
        this.bodies = header.bodies ?? [];
        this.names = this.bodies.map((b, i) => cleanName(b.name, `body ${i}`));
        this.joints = header.joints ?? [];
        this.supports = header.supports ?? [];
        const B = this.bodies.length;
        // The state at the time that was sampled last; one home for everything that draws.
        this.now = {
            f: 0, // fractional frame
            frame: 0, // the nearest whole one
            position: new Float64Array(3 * B),
            quaternion: new Float32Array(4 * B), // x, y, z, w
            velocity: new Float32Array(3 * B),
            spin: new Float32Array(3 * B),
        };
        for (let b = 0; b < B; ++b) this.now.quaternion[4 * b + 3] = 1;
        this.timeCursor = 0;
        this.c0 = 0; // contacts of the frame at hand: c0 .. c1 - 1
        this.c1 = 0;
    }

    get duration() {
        return this.frames ? this.time[this.frames - 1] : 0;
    }

    get start() {
        return this.frames ? this.time[0] : 0;
    }

    // Fractional frame at a time; playback mostly stays where it was, or moves to the next one.
    frameAt(t) {
        const n = this.frames;
        const time = this.time;
        if (n < 2 || !(t > time[0])) return 0;
        if (t >= time[n - 1]) return n - 1;
        let k = this.timeCursor;
        if (!(k < n - 1 && time[k] <= t && t < time[k + 1])) {
            ++k;
            if (!(k < n - 1 && time[k] <= t && t < time[k + 1])) {
                let high = n - 1;
                k = 0;
                while (high - k > 1) {
                    const middle = (k + high) >> 1;
                    if (time[middle] <= t) k = middle;
                    else high = middle;
                }
            }
            this.timeCursor = k;
        }
        const span = time[k + 1] - time[k];
        return span > 0 ? k + (t - time[k]) / span : k;
    }

    timeAt(frame) {
        return this.frames ? this.time[Math.max(0, Math.min(this.frames - 1, frame))] : 0;
    }

    setPlanar(b, x, y, angle) {
        const { position, quaternion } = this.now;
        position[3 * b] = x;
        position[3 * b + 1] = y;
        quaternion[4 * b + 2] = Math.sin(angle / 2);
        quaternion[4 * b + 3] = Math.cos(angle / 2);
    }

    // Sets c0, c1 to the contacts shown at a whole frame.
    contactsAt(frame) {
        const c = this.contacts;
        if (!c || !this.frames) {
            this.c0 = this.c1 = 0;
            return;
        }
        const k = this.contactFrame(frame);
        this.c0 = c.offset[k];
        this.c1 = c.offset[k + 1];
    }

    contactFrame(frame) {
        const every = this.contacts?.every ?? 1;
        if (every <= 1) return frame;
        const last = Math.floor((this.frames - 1) / every);
        return Math.min(last, Math.round(frame / every)) * every;
    }

    // Row of the contact with a key among those of a frame, or -1.
    findContact(frame, key) {
        const c = this.contacts;
        if (!c || !this.frames) return -1;
        const k = this.contactFrame(frame);
        for (let i = c.offset[k]; i < c.offset[k + 1]; ++i) if (c.key[i] === key) return i;
        return -1;
    }
}

const CONTACT_WIDTHS = {
    body: 2, point: 3, normal: 3, tangent: 3, gap: 1, mu: 1, cone: 1, directions: 1, impulse: 4,
    slip: 2, key: 1, state: 1,
};

export class Run extends BaseRun {
    constructor(header, columns, letter = "") {
        super(header, letter);
        this.columns = columns;
        this.time = columns.get("time") ?? new Float64Array(0);
        this.frames = this.time.length;
        this.accuracy = header.accuracy ?? 0;

        this.start_ = columns.get("track.start");
        this.keyFrame = columns.get("track.frame");
        this.keyPosition = columns.get("track.position");
        this.keyOrientation = columns.get("track.orientation");
        this.keyVelocity = columns.get("track.velocity");
        this.keySpin = columns.get("track.spin");
        if (!this.start_ || !this.keyFrame || !this.keyPosition) {
            throw new Error("the page is damaged: it holds no motion");
        }
        const B = this.bodies.length;
        if (this.start_.length !== B + 1) throw new Error("the page is damaged: tracks of bodies");
        this.cursor = new Int32Array(B);
        this.moving = [];
        for (let b = 0; b < B; ++b) {
            this.cursor[b] = this.start_[b];
            if (this.start_[b + 1] - this.start_[b] > 1) this.moving.push(b);
            if (this.start_[b + 1] > this.start_[b]) this.sampleBody(b, 0, this.now);
        }
        this.contacts = this.readContacts();
        this.sample(0);
    }

    readContacts() {
        const offset = this.columns.get("contacts.offset");
        if (!offset || offset.length !== this.frames + 1) return null;
        const contacts = { offset, count: offset[this.frames], every: this.header["contacts.every"] ?? 1 };
        let most = 0;
        for (let k = 0; k < this.frames; ++k) most = Math.max(most, offset[k + 1] - offset[k]);
        contacts.most = most; // in one frame
        for (const [name, width] of Object.entries(CONTACT_WIDTHS)) {
            const column = this.columns.get(`contacts.${name}`);
            if (column && column.length === contacts.count * width) contacts[name] = column;
            else contacts[name] = new Float32Array(contacts.count * width);
        }
        return contacts;
    }

    scalar(name) {
        return this.columns.get(name) ?? null;
    }

    // Index of the last key of body b at or before fractional frame f.
    keyBefore(b, f) {
        const first = this.start_[b];
        const last = this.start_[b + 1] - 1;
        const frame = this.keyFrame;
        let k = this.cursor[b];
        if (k >= last) k = last - 1;
        if (!(frame[k] <= f && f < frame[k + 1])) {
            ++k;
            if (!(k < last && frame[k] <= f && f < frame[k + 1])) {
                let high = last;
                k = first;
                while (high - k > 1) {
                    const middle = (k + high) >> 1;
                    if (frame[middle] <= f) k = middle;
                    else high = middle;
                }
            }
        }
        this.cursor[b] = k;
        return k;
    }

    // Pose and velocity of body b into `into` (arrays as in `now`).
    sampleBody(b, f, into) {
        let k = this.start_[b];
        let next = k;
        let s = 0;
        if (this.start_[b + 1] - k > 1) {
            k = this.keyBefore(b, f);
            next = k + 1;
            const f0 = this.keyFrame[k];
            s = Math.min(1, Math.max(0, (f - f0) / (this.keyFrame[next] - f0)));
        }
        const p = this.keyPosition;
        const x = p[3 * k] + s * (p[3 * next] - p[3 * k]);
        const y = p[3 * k + 1] + s * (p[3 * next + 1] - p[3 * k + 1]);
        const z = p[3 * k + 2] + s * (p[3 * next + 2] - p[3 * k + 2]);
        const v = this.keyVelocity;
        const w = this.keySpin;
        if (this.planar) {
            into.position[3 * b] = x;
            into.position[3 * b + 1] = y;
            into.quaternion[4 * b + 2] = Math.sin(z / 2);
            into.quaternion[4 * b + 3] = Math.cos(z / 2);
            for (let j = 0; j < 2 && v; ++j) {
                into.velocity[3 * b + j] = v[2 * k + j] + s * (v[2 * next + j] - v[2 * k + j]);
            }
            if (w) into.spin[3 * b + 2] = w[k] + s * (w[next] - w[k]);
            return z;
        }
        into.position[3 * b] = x;
        into.position[3 * b + 1] = y;
        into.position[3 * b + 2] = z;
        this.sampleOrientation(b, k, next, s, into.quaternion);
        for (let j = 0; j < 3; ++j) {
            if (v) into.velocity[3 * b + j] = v[3 * k + j] + s * (v[3 * next + j] - v[3 * k + j]);
            if (w) into.spin[3 * b + j] = w[3 * k + j] + s * (w[3 * next + j] - w[3 * k + j]);
        }
        return 0;
    }

    // Spherical interpolation; the keys keep the sign continuous.
    sampleOrientation(b, k, next, s, out) {
        const q = this.keyOrientation;
        if (!q) return;
        let dot = 0;
        for (let j = 0; j < 4; ++j) dot += q[4 * k + j] * q[4 * next + j];
        let u = 1 - s;
        let v = dot < 0 ? -s : s;
        const angle = Math.acos(Math.min(1, Math.abs(dot)));
        if (angle > 1e-3) {
            const sine = Math.sin(angle);
            u = Math.sin((1 - s) * angle) / sine;
            v = (Math.sin(s * angle) / sine) * (dot < 0 ? -1 : 1);
        }
        const qw = u * q[4 * k] + v * q[4 * next];
        const qx = u * q[4 * k + 1] + v * q[4 * next + 1];
        const qy = u * q[4 * k + 2] + v * q[4 * next + 2];
        const qz = u * q[4 * k + 3] + v * q[4 * next + 3];
        const norm = Math.sqrt(qw * qw + qx * qx + qy * qy + qz * qz) || 1;
        out[4 * b] = qx / norm;
        out[4 * b + 1] = qy / norm;
        out[4 * b + 2] = qz / norm;
        out[4 * b + 3] = qw / norm;
    }

    // The whole state at fractional frame f into `now`; allocates nothing.
    sample(f) {
        const now = this.now;
        now.f = f;
        now.frame = Math.min(Math.max(0, this.frames - 1), Math.round(f));
        for (let i = 0; i < this.moving.length; ++i) this.sampleBody(this.moving[i], f, now);
        this.contactsAt(now.frame);
    }

    // One quantity of a body at every frame: columns of Float64Array.
    // what: position, velocity, spin, orientation (planar: angle).
    bodySeries(b, what) {
        const n = this.frames;
        const width = what === "orientation" ? (this.planar ? 1 : 4) : 3;
        const out = Array.from({ length: width }, () => new Float64Array(n));
        const B = this.bodies.length;
        const into = {
            position: new Float64Array(3 * B), quaternion: new Float32Array(4 * B),
            velocity: new Float32Array(3 * B), spin: new Float32Array(3 * B),
        };
        for (let k = 0; k < n; ++k) {
            const angle = this.sampleBody(b, k, into);
            if (what === "orientation") {
                if (this.planar) out[0][k] = angle;
                else for (let j = 0; j < 4; ++j) out[j][k] = into.quaternion[4 * b + ((j + 3) & 3)];
            } else {
                for (let j = 0; j < 3; ++j) out[j][k] = into[what][3 * b + j];
            }
        }
        return out;
    }

    angleOf(b) {
        return this.sampleBody(b, this.now.f, this.now);
    }

    // Points of the path of a body, for drawing: positions and the frames they belong to.
    path(b) {
        const k0 = this.start_[b];
        const n = this.start_[b + 1] - k0;
        const position = new Float64Array(3 * n);
        const frame = new Float32Array(n);
        for (let i = 0; i < n; ++i) {
            for (let j = 0; j < 3; ++j) position[3 * i + j] = this.keyPosition[3 * (k0 + i) + j];
            if (this.planar) position[3 * i + 2] = 0;
            frame[i] = this.keyFrame[k0 + i];
        }
        return { position, frame };
    }
}

// Header and packed text of every run that the page holds.
export function findRuns(document) {
    const headers = [...document.querySelectorAll("script.perp-run")];
    const blobs = [...document.querySelectorAll("script.perp-blob")];
    return headers.map((element, i) => ({
        header: JSON.parse(element.textContent),
        base64: blobs[i]?.textContent ?? null,
    }));
}
