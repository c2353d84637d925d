// Contact points with their normals (from A onto B), coloured by state.
import { Group } from "three";
import { Arrows, Dots } from "../arrows.js";
import { stateColor } from "./states.js";

export const contacts = {
    name: "contacts",
    key: "1",
    label: "Contacts",
    hint: "contact points and normals",
    legend: "states",
    available: (run) => run.contacts !== null,
    create({ run, eye, colors }) {
        const capacity = Math.max(64, run.contacts.most);
        const dots = new Dots(capacity);
        const arrows = new Arrows(capacity);
        const object = new Group();
        object.add(arrows.object, dots.object);
        return {
            object,
            update() {
                const { point, normal, state } = run.contacts;
                dots.begin();
                arrows.begin();
                for (let i = run.c0; i < run.c1; ++i) {
                    const x = point[3 * i], y = point[3 * i + 1], z = point[3 * i + 2];
                    const pixel = eye.perPixelAt(x, y, z);
                    const color = stateColor(colors(), state[i]);
                    dots.add(x, y, z, 4 * pixel, color);
                    arrows.add(x, y, z, normal[3 * i], normal[3 * i + 1], normal[3 * i + 2], 24 * pixel, 0.9 * pixel, color);
                }
                dots.end();
                arrows.end();
            },
        };
    },
};
