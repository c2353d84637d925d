// Contact forces on B as arrows; their length says how large, their colour stick or slip. A contact
// that carries nothing is a dot.
import { Group } from "three";
import { Arrows, Dots } from "../arrows.js";
import { crowd, stateColor, typical } from "./states.js";

const LIMIT = 3; // times the length of a typical force

export function forceOf(contacts, i, step) {
    const p = contacts.impulse;
    return Math.hypot(p[4 * i], p[4 * i + 1], p[4 * i + 2]) / step;
}

export const forces = {
    name: "forces",
    key: "2",
    label: "Forces",
    hint: "contact forces on body B",
    legend: "states",
    available: (run) => run.contacts !== null,
    create({ run, view, eye, colors }) {
        const capacity = Math.max(64, run.contacts.most);
        const arrows = new Arrows(capacity);
        const dots = new Dots(capacity);
        const object = new Group();
        object.add(dots.object, arrows.object);
        let reference = typical(run.contacts.count, (i) => forceOf(run.contacts, i, run.step));
        const length = (0.22 * Math.min(view.bounds.radius, 2 * run.size)) / crowd(0.5 * run.contacts.most);
        return {
            object,
            // For the legend: this force is drawn as long as this.
            scale: () => ({ force: reference, length }),
            update() {
                const { point, normal: n, tangent: t, impulse: p, state } = run.contacts;
                if (run.live) reference = Math.max(reference, typical(run.contacts.count, (i) => forceOf(run.contacts, i, run.step)));
                arrows.begin();
                dots.begin();
                for (let i = run.c0; i < run.c1; ++i) {
                    const a = 3 * i;
                    const pn = p[4 * i] / run.step, pt = p[4 * i + 1] / run.step, po = p[4 * i + 2] / run.step;
                    // o = n x t
                    const ox = n[a + 1] * t[a + 2] - n[a + 2] * t[a + 1];
                    const oy = n[a + 2] * t[a] - n[a] * t[a + 2];
                    const oz = n[a] * t[a + 1] - n[a + 1] * t[a];
                    const fx = pn * n[a] + pt * t[a] + po * ox;
                    const fy = pn * n[a + 1] + pt * t[a + 1] + po * oy;
                    const fz = pn * n[a + 2] + pt * t[a + 2] + po * oz;
                    const size = Math.sqrt(fx * fx + fy * fy + fz * fz);
                    const x = point[a], y = point[a + 1], z = point[a + 2];
                    const pixel = eye.perPixelAt(x, y, z);
                    const color = stateColor(colors(), state[i]);
                    if (!(size > 0)) {
                        dots.add(x, y, z, 2.5 * pixel, color);
                        continue;
                    }
                    const drawn = length * Math.min(LIMIT, size / reference);
                    arrows.add(x, y, z, fx / size, fy / size, fz / size, Math.max(drawn, 2 * pixel), 1.3 * pixel, color);
                }
                arrows.end();
                dots.end();
            },
        };
    },
};
