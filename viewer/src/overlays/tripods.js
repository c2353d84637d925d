// Support tripods of 2.5-D scenes: the triangle on which a body stands, and its three feet.
import { BufferAttribute, BufferGeometry, Color, DoubleSide, DynamicDrawUsage, Group, Mesh, MeshBasicMaterial } from "three";
import { Dots } from "../arrows.js";

export const tripods = {
    name: "tripods",
    key: "7",
    label: "Tripods",
    hint: "support tripods",
    missing: "this recording has no support tripods",
    available: (run) => run.supports.some((s) => s.tripod?.length === 3),
    create({ run, eye, colors }) {
        const supports = run.supports.filter((s) => s.tripod?.length === 3);
        const dots = new Dots(3 * supports.length);
        const geometry = new BufferGeometry();
        const corners = new BufferAttribute(new Float32Array(9 * supports.length), 3).setUsage(DynamicDrawUsage);
        geometry.setAttribute("position", corners);
        const material = new MeshBasicMaterial({ color: new Color(), side: DoubleSide, transparent: true, opacity: 0.3, depthTest: false });
        const mesh = new Mesh(geometry, material);
        mesh.frustumCulled = false;
        mesh.renderOrder = 9;
        const object = new Group();
        object.add(mesh, dots.object);
        return {
            object,
            update() {
                material.color.set(colors().tripod);
                dots.begin();
                for (let i = 0; i < supports.length; ++i) {
                    const b = supports[i].body;
                    const s = run.now.quaternion[4 * b + 2], c = run.now.quaternion[4 * b + 3];
                    const cos = c * c - s * s, sin = 2 * s * c;
                    for (let k = 0; k < 3; ++k) {
                        const [px, py] = supports[i].tripod[k];
                        const x = run.now.position[3 * b] + cos * px - sin * py;
                        const y = run.now.position[3 * b + 1] + sin * px + cos * py;
                        corners.setXYZ(3 * i + k, x, y, 0);
                        dots.add(x, y, 0, 5 * eye.perPixelAt(x, y, 0), colors().tripod);
                    }
                }
                corners.needsUpdate = true;
                dots.end();
            },
        };
    },
};
