// Trajectories of the centres: what lies behind is drawn strongly, what is still to come faintly.
import { BufferAttribute, BufferGeometry, Color, LineSegments, ShaderMaterial } from "three";

const VERTEX = `
attribute float frame;
attribute vec3 tint;
varying float vFrame;
varying vec3 vTint;
void main() {
    vFrame = frame;
    vTint = tint;
    gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;
const FRAGMENT = `
varying float vFrame;
varying vec3 vTint;
uniform float now;
void main() {
    gl_FragColor = vec4(vTint, vFrame <= now ? 0.95 : 0.28);
    #include <colorspace_fragment>
}`;

export const paths = {
    name: "paths",
    key: "6",
    label: "Paths",
    hint: "trajectories of the centres",
    available: (run) => !run.live,
    create({ run, view, colors }) {
        const tracks = run.moving.map((b) => ({ b, ...run.path(b) }));
        const count = tracks.reduce((sum, t) => sum + Math.max(0, t.frame.length - 1), 0);
        const position = new Float32Array(6 * count);
        const frame = new Float32Array(2 * count);
        const tint = new Float32Array(6 * count);
        let k = 0;
        for (const track of tracks) {
            for (let i = 1; i < track.frame.length; ++i) {
                for (let end = 0; end < 2; ++end, ++k) {
                    const from = i - 1 + end;
                    for (let j = 0; j < 3; ++j) position[3 * k + j] = track.position[3 * from + j];
                    frame[k] = track.frame[from];
                }
            }
        }
        const paint = () => {
            const color = new Color();
            let at = 0;
            for (const track of tracks) {
                color.set(view.colorOf(track.b, colors()));
                for (let i = 2; i < 2 * track.frame.length; ++i, ++at) color.toArray(tint, 3 * at);
            }
            geometry.getAttribute("tint").needsUpdate = true;
        };
        const geometry = new BufferGeometry();
        geometry.setAttribute("position", new BufferAttribute(position, 3));
        geometry.setAttribute("frame", new BufferAttribute(frame, 1));
        geometry.setAttribute("tint", new BufferAttribute(tint, 3));
        const material = new ShaderMaterial({
            vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: true, depthWrite: false,
            uniforms: { now: { value: 0 } },
        });
        const object = new LineSegments(geometry, material);
        object.frustumCulled = false;
        object.renderOrder = 5;
        paint();
        return {
            object,
            paint,
            update() {
                material.uniforms.now.value = run.now.f;
            },
        };
    },
};
