// Friction cones: round ones as cones, polygonal ones as pyramids with as many sides. The force on B
// lies inside; on the surface where the contact slips.
import { ConeGeometry, DoubleSide, Group } from "three";
import { finish, instanced, setAlong, setColor } from "../arrows.js";
import { stateColor } from "./states.js";

// Apex at the origin, opening along +z, height and radius 1, first corner along +x.
function coneGeometry(sides) {
    return new ConeGeometry(1, 1, sides, 1, true).translate(0, -0.5, 0).rotateX(-Math.PI / 2)
        .rotateZ(-Math.PI / 2);
}

export const cones = {
    name: "cones",
    key: "3",
    label: "Cones",
    hint: "friction cones at the contacts",
    legend: "states",
    available: (run) => run.contacts !== null,
    create({ run, view, colors }) {
        const object = new Group();
        const capacity = Math.max(64, run.contacts.most);
        const meshes = new Map(); // by number of sides
        const meshFor = (sides) => {
            let mesh = meshes.get(sides);
            if (!mesh) {
                mesh = instanced(coneGeometry(sides), capacity, { opacity: 0.28, side: DoubleSide, depthWrite: false });
                mesh.userData.used = 0;
                meshes.set(sides, mesh);
                object.add(mesh);
            }
            return mesh;
        };
        const height = 0.1 * Math.min(view.bounds.radius, 2 * run.size);
        const reset = (mesh) => (mesh.userData.used = 0);
        const close = (mesh) => finish(mesh, mesh.userData.used);
        return {
            object,
            update() {
                const { point, normal: n, tangent: t, mu, state, cone, directions } = run.contacts;
                meshes.forEach(reset);
                for (let i = run.c0; i < run.c1; ++i) {
                    if (cone[i] === 0 || !(mu[i] > 0)) continue;
                    const mesh = meshFor(cone[i] === 1 && directions[i] > 2 ? directions[i] : 40);
                    const k = mesh.userData.used;
                    if (k >= mesh.instanceMatrix.count) continue;
                    mesh.userData.used = k + 1;
                    const a = 3 * i;
                    // A cone of large friction stays within the same bounds.
                    const tall = height / Math.sqrt(1 + mu[i] * mu[i]);
                    setAlong(mesh, k, point[a], point[a + 1], point[a + 2], n[a], n[a + 1], n[a + 2],
                        tall, tall * mu[i], t[a], t[a + 1], t[a + 2]);
                    setColor(mesh, k, stateColor(colors(), state[i]));
                }
                meshes.forEach(close);
            },
        };
    },
};
