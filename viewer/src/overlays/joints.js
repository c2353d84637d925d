// Joints: a dot at each side's anchor, a line where these have come apart, and the axis.
import { Group } from "three";
import { Arrows, Dots } from "../arrows.js";

const anchor = [0, 0, 0];
const other = [0, 0, 0];

// A point or (with `turnOnly`) a direction of a body's frame in the world; -1 is the world itself.
function toWorld(now, b, local, turnOnly, out) {
    const x = local[0] ?? 0, y = local[1] ?? 0, z = local[2] ?? 0;
    if (!(b >= 0)) {
        out[0] = x;
        out[1] = y;
        out[2] = z;
        return out;
    }
    const q = now.quaternion;
    const qx = q[4 * b], qy = q[4 * b + 1], qz = q[4 * b + 2], qw = q[4 * b + 3];
    const tx = 2 * (qy * z - qz * y), ty = 2 * (qz * x - qx * z), tz = 2 * (qx * y - qy * x);
    out[0] = x + qw * tx + qy * tz - qz * ty;
    out[1] = y + qw * ty + qz * tx - qx * tz;
    out[2] = z + qw * tz + qx * ty - qy * tx;
    if (!turnOnly) for (let j = 0; j < 3; ++j) out[j] += now.position[3 * b + j];
    return out;
}

export const joints = {
    name: "joints",
    key: "4",
    label: "Joints",
    hint: "joints and their axes",
    missing: "this recording has no joints",
    available: (run) => run.joints.length > 0,
    create({ run, eye, colors }) {
        const dots = new Dots(2 * run.joints.length);
        const arrows = new Arrows(3 * run.joints.length);
        const object = new Group();
        object.add(arrows.object, dots.object);
        return {
            object,
            update() {
                const { joint, axis } = colors();
                dots.begin();
                arrows.begin();
                for (let i = 0; i < run.joints.length; ++i) {
                    const j = run.joints[i];
                    toWorld(run.now, j.a, j.at_a ?? [], false, anchor);
                    toWorld(run.now, j.b, j.at_b ?? [], false, other);
                    const pixel = eye.perPixelAt(anchor[0], anchor[1], anchor[2]);
                    dots.add(anchor[0], anchor[1], anchor[2], 5 * pixel, joint);
                    dots.add(other[0], other[1], other[2], 3 * pixel, joint);
                    addLine(arrows, anchor, other, pixel, joint);
                    if (!j.axis_a) continue;
                    toWorld(run.now, j.a, j.axis_a, true, other);
                    const norm = Math.hypot(other[0], other[1], other[2]);
                    if (!(norm > 0)) continue;
                    for (let sign = -1; sign <= 1; sign += 2) {
                        const s = sign / norm;
                        arrows.add(anchor[0], anchor[1], anchor[2], s * other[0], s * other[1], s * other[2], 34 * pixel, 1.1 * pixel, axis);
                    }
                }
                arrows.end();
                dots.end();
            },
        };
    },
};

function addLine(arrows, from, to, pixel, color) {
    const dx = to[0] - from[0], dy = to[1] - from[1], dz = to[2] - from[2];
    const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
    if (!(length > pixel)) return;
    arrows.add(from[0], from[1], from[2], dx / length, dy / length, dz / length, length, 0.9 * pixel, color);
}
