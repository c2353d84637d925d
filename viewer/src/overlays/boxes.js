// Axis-parallel bounding boxes of the bodies; red while a body touches another with an impulse.
import { BoxGeometry, BufferAttribute, Color, DynamicDrawUsage, EdgesGeometry, InstancedBufferAttribute, InstancedBufferGeometry, LineSegments, ShaderMaterial } from "three";

const VERTEX = `
attribute vec3 low, high, tint;
varying vec3 vTint;
void main() {
    vTint = tint;
    gl_Position = projectionMatrix * modelViewMatrix * vec4(mix(low, high, position + 0.5), 1.0);
}`;
const FRAGMENT = `
varying vec3 vTint;
void main() {
    gl_FragColor = vec4(vTint, 1.0);
    #include <colorspace_fragment>
}`;

export const boxes = {
    name: "boxes",
    key: "5",
    label: "Boxes",
    hint: "bounding boxes, red in contact",
    legend: "boxes",
    available: (run) => run.bodies.length > 0,
    create({ run, view, colors }) {
        const which = [];
        for (let b = 0; b < run.bodies.length; ++b) if (view.radius[b] > 0) which.push(b);
        const geometry = new InstancedBufferGeometry();
        const edges = new EdgesGeometry(new BoxGeometry(1, 1, 1));
        geometry.setAttribute("position", new BufferAttribute(edges.getAttribute("position").array, 3));
        const column = () => new InstancedBufferAttribute(new Float32Array(3 * Math.max(1, which.length)), 3).setUsage(DynamicDrawUsage);
        const low = column(), high = column(), tint = column();
        geometry.setAttribute("low", low);
        geometry.setAttribute("high", high);
        geometry.setAttribute("tint", tint);
        geometry.instanceCount = which.length;
        const object = new LineSegments(geometry, new ShaderMaterial({ vertexShader: VERTEX, fragmentShader: FRAGMENT }));
        object.frustumCulled = false;
        const touching = new Uint8Array(run.bodies.length);
        const plain = new Color(), red = new Color();
        return {
            object,
            update() {
                touching.fill(0);
                for (let i = run.c0; i < run.c1; ++i) {
                    if (run.contacts.state[i] === 0) continue;
                    for (let side = 0; side < 2; ++side) {
                        const b = run.contacts.body[2 * i + side];
                        if (b >= 0) touching[b] = 1;
                    }
                }
                plain.set(colors().box);
                red.set(colors().touching);
                for (let i = 0; i < which.length; ++i) {
                    const b = which[i];
                    worldBox(run.now, view, b, low.array, high.array, 3 * i);
                    (touching[b] ? red : plain).toArray(tint.array, 3 * i);
                }
                low.needsUpdate = high.needsUpdate = tint.needsUpdate = true;
            },
        };
    },
};

// The box about the turned box of the body: centre turned, half sizes by absolute values.
function worldBox(now, view, b, low, high, at) {
    const q = now.quaternion;
    const x = q[4 * b], y = q[4 * b + 1], z = q[4 * b + 2], w = q[4 * b + 3];
    const l = view.boxLow, h = view.boxHigh, a = 3 * b;
    const cx = 0.5 * (l[a] + h[a]), cy = 0.5 * (l[a + 1] + h[a + 1]), cz = 0.5 * (l[a + 2] + h[a + 2]);
    const hx = h[a] - cx, hy = h[a + 1] - cy, hz = h[a + 2] - cz;
    for (let i = 0; i < 3; ++i) {
        const r0 = i === 0 ? 1 - 2 * (y * y + z * z) : i === 1 ? 2 * (x * y + w * z) : 2 * (x * z - w * y);
        const r1 = i === 0 ? 2 * (x * y - w * z) : i === 1 ? 1 - 2 * (x * x + z * z) : 2 * (y * z + w * x);
        const r2 = i === 0 ? 2 * (x * z + w * y) : i === 1 ? 2 * (y * z - w * x) : 1 - 2 * (x * x + y * y);
        const center = now.position[a + i] + r0 * cx + r1 * cy + r2 * cz;
        const half = Math.abs(r0) * hx + Math.abs(r1) * hy + Math.abs(r2) * hz;
        low[at + i] = center - half;
        high[at + i] = center + half;
    }
}
