// Names of the bodies, written on the flat layer above the picture: never markup, always pixels.
import { shorten } from "../dom.js";

const MOST = 250; // more would only cover each other

export const names = {
    name: "names",
    key: "9",
    label: "Names",
    hint: "names of the bodies",
    available: (run) => run.bodies.length > 0,
    create({ run, view, colors }) {
        const texts = run.names.map((name) => shorten(name, 24));
        const shown = run.bodies.map((_, b) => b).filter((b) => view.radius[b] > 0).slice(0, MOST);
        const at = { x: 0, y: 0, visible: false };
        const width = new Float32Array(texts.length); // measured when first drawn
        const placed = new Float32Array(3 * shown.length); // x, y, half width
        const free = (count, x, y, half) => {
            for (let k = 0; k < count; ++k) {
                if (Math.abs(placed[3 * k + 1] - y) < 14 && Math.abs(placed[3 * k] - x) < placed[3 * k + 2] + half) return false;
            }
            return true;
        };
        return {
            object: null,
            update() {},
            draw(pen, project) {
                pen.font = "12px system-ui, sans-serif";
                pen.textAlign = "center";
                pen.textBaseline = "middle";
                pen.lineJoin = "round";
                pen.lineWidth = 4;
                pen.strokeStyle = colors().halo;
                pen.fillStyle = colors().text;
                let count = 0;
                for (let i = 0; i < shown.length; ++i) {
                    const a = 3 * shown[i];
                    project(run.now.position[a], run.now.position[a + 1], run.now.position[a + 2], at);
                    if (!at.visible) continue;
                    const name = shown[i];
                    width[name] ||= pen.measureText(texts[name]).width;
                    const half = 0.5 * width[name] + 2;
                    if (!free(count, at.x, at.y, half)) continue; // it would cover another
                    placed[3 * count] = at.x;
                    placed[3 * count + 1] = at.y;
                    placed[3 * count + 2] = half;
                    ++count;
                    pen.strokeText(texts[shown[i]], at.x, at.y);
                    pen.fillText(texts[shown[i]], at.x, at.y);
                }
            },
        };
    },
};
