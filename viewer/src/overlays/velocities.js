// Velocities of the centres as arrows.
import { Arrows } from "../arrows.js";
import { crowd, typical } from "./states.js";

export const velocities = {
    name: "velocities",
    key: "8",
    label: "Velocities",
    hint: "velocities of the centres",
    available: (run) => run.bodies.some((b) => b.type !== "static"),
    create({ run, view, eye, colors }) {
        const arrows = new Arrows(run.bodies.length);
        const v = run.keyVelocity;
        const width = run.planar ? 2 : 3;
        const reference = v
            ? typical(v.length / width, (i) => Math.hypot(v[width * i], v[width * i + 1], width > 2 ? v[3 * i + 2] : 0))
            : 1;
        const length = (0.3 * Math.min(view.bounds.radius, 2 * run.size)) / crowd(run.moving.length);
        return {
            object: arrows.object,
            update() {
                const { position: x, velocity: u } = run.now;
                arrows.begin();
                for (let b = 0; b < run.bodies.length; ++b) {
                    const a = 3 * b;
                    const speed = Math.sqrt(u[a] * u[a] + u[a + 1] * u[a + 1] + u[a + 2] * u[a + 2]);
                    const drawn = length * Math.min(3, speed / reference);
                    const pixel = eye.perPixelAt(x[a], x[a + 1], x[a + 2]);
                    if (!(drawn > 2 * pixel)) continue;
                    arrows.add(x[a], x[a + 1], x[a + 2], u[a] / speed, u[a + 1] / speed, u[a + 2] / speed, drawn, 1.2 * pixel, colors().velocity);
                }
                arrows.end();
            },
        };
    },
};
