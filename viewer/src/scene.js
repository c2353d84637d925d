// The three.js scene of one run: instanced meshes of all shapes, their edges, planes, lights.
import {
    Color, DirectionalLight, DoubleSide, DynamicDrawUsage, HemisphereLight, InstancedBufferAttribute,
    InstancedBufferGeometry, InstancedMesh, LineSegments, Matrix4, MeshBasicMaterial,
    MeshLambertMaterial, Quaternion, Scene, ShaderMaterial, Vector3,
} from "three";
import { bodyColor, seen } from "./theme.js";
import { describeShape, isFlatGround } from "./shapes.js";
import { createGround } from "./ground.js";

const EDGE_VERTEX = `
attribute mat4 placement;
void main() {
    vec4 p = modelViewMatrix * placement * vec4(position, 1.0);
    // In perspective an edge comes nearer by 1e-4 of its distance, along its own line of sight. An offset
    // of the depth itself would be a length that grows with the square of the distance, and edges
    // behind a corner would show.
    bool perspective = projectionMatrix[3][3] == 0.0;
    if (perspective) p.xyz *= 1.0 - 1e-4;
    gl_Position = projectionMatrix * p;
    if (!perspective) gl_Position.z -= 1e-4 * gl_Position.w;
}`;
const EDGE_FRAGMENT = `
uniform vec3 color;
uniform float alpha;
void main() {
    gl_FragColor = vec4(color, alpha);
    #include <colorspace_fragment>
}`;

// Round bodies get light and dark octants (planar: quadrants), so that one sees them turn.
function markOctants(material, planar) {
    const product = planar ? "s.x * s.y" : "s.x * s.y * s.z";
    material.onBeforeCompile = (shader) => {
        shader.vertexShader = shader.vertexShader
            .replace("void main() {", "varying vec3 vMark;\nvoid main() {\n vMark = position;");
        shader.fragmentShader = shader.fragmentShader
            .replace("void main() {", "varying vec3 vMark;\nvoid main() {")
            .replace("#include <color_fragment>", `#include <color_fragment>
            vec3 s = clamp(vMark / max(fwidth(vMark), vec3(1e-6)), -1.0, 1.0);
            diffuseColor.rgb *= mix(0.72, 1.0, 0.5 + 0.5 * ${product});`);
    };
    material.customProgramCacheKey = () => `octants ${planar}`;
    return material;
}

// Extent of what moves over the whole run, without the few that fly far away.
export function motionBounds(run, view) {
    const movers = [];
    run.bodies.forEach((body, b) => {
        if (body.type !== "static" && view.radius[b] > 0) movers.push(b);
    });
    const all = movers.length ? movers : run.bodies.map((_, b) => b).filter((b) => view.radius[b] > 0);
    const low = new Vector3(Infinity, Infinity, Infinity);
    const high = low.clone().negate();
    const samples = Math.min(run.frames, 60);
    for (let axis = 0; axis < 3; ++axis) {
        const values = [];
        for (let i = 0; i < samples; ++i) {
            run.sample(samples > 1 ? (i * (run.frames - 1)) / (samples - 1) : 0);
            for (const b of all) {
                const x = run.now.position[3 * b + axis];
                if (Number.isFinite(x)) values.push(x - view.radius[b], x + view.radius[b]);
            }
        }
        if (values.length === 0) continue;
        values.sort((a, b) => a - b);
        const at = (s) => values[Math.round(s * (values.length - 1))];
        low.setComponent(axis, at(run.planar ? 0.01 : 0.07));
        high.setComponent(axis, at(run.planar ? 0.99 : 0.93));
    }
    run.sample(0);
    if (!(low.x <= high.x)) {
        low.set(-run.size, -run.size, run.planar ? 0 : -run.size);
        high.copy(low).negate();
    }
    return { low, high, center: low.clone().add(high).multiplyScalar(0.5), radius: Math.max(1e-9 * run.size, 0.5 * high.distanceTo(low)) };
}

export class RunView {
    constructor(run, { ghost = false, shadows = true } = {}) {
        this.run = run;
        this.scene = new Scene();
        this.ghost = ghost;
        this.batches = [];
        this.grounds = [];
        this.edgeMaterial = new ShaderMaterial({
            vertexShader: EDGE_VERTEX, fragmentShader: EDGE_FRAGMENT, transparent: true,
            uniforms: { color: { value: new Color() }, alpha: { value: 1 } },
        });
        this.materials = [];
        this.measure();
        this.bounds = motionBounds(run, this);
        this.shadows = shadows && !run.planar && run.bodies.length <= 400;
    }

    // After the bounds are settled: two runs share theirs.
    build() {
        this.buildShapes();
        this.buildGrounds();
        this.buildLights();
        this.update(true);
    }

    // Per body: radius about its centre, and a box about it in its own frame.
    measure() {
        const { run } = this;
        this.radius = new Float64Array(run.bodies.length);
        this.boxLow = new Float64Array(3 * run.bodies.length);
        this.boxHigh = new Float64Array(3 * run.bodies.length);
        this.parts = []; // {body, kind, local}
        const corner = new Vector3();
        run.bodies.forEach((body, b) => {
            let found = false;
            for (const shape of body.shapes ?? []) {
                const kind = describeShape(shape, run.planar, run.size);
                if (!kind) continue;
                const local = localMatrix(shape);
                for (let i = 0; i < 8; ++i) {
                    corner.set(...kind.half.map((h, j) => ((i >> j) & 1 ? h : -h))).applyMatrix4(local);
                    if (!found) {
                        for (let j = 0; j < 3; ++j) this.boxLow[3 * b + j] = this.boxHigh[3 * b + j] = corner.getComponent(j);
                        found = true;
                    }
                    for (let j = 0; j < 3; ++j) {
                        const x = corner.getComponent(j);
                        this.boxLow[3 * b + j] = Math.min(this.boxLow[3 * b + j], x);
                        this.boxHigh[3 * b + j] = Math.max(this.boxHigh[3 * b + j], x);
                    }
                    this.radius[b] = Math.max(this.radius[b], corner.length(), 1e-9 * run.size);
                }
                local.scale(new Vector3(...kind.scale));
                this.parts.push({ body: b, kind, local });
            }
        });
    }

    buildShapes() {
        const { run } = this;
        const groups = new Map();
        for (const part of this.parts) {
            if (!groups.has(part.kind.key)) groups.set(part.kind.key, []);
            groups.get(part.kind.key).push(part);
        }
        for (const parts of groups.values()) {
            const { kind } = parts[0];
            let made;
            try {
                made = kind.make(parts.length);
            } catch {
                continue; // vertices that span no body
            }
            const material = run.planar
                ? new MeshBasicMaterial({ side: DoubleSide })
                : new MeshLambertMaterial({ side: DoubleSide });
            material.polygonOffset = true;
            material.polygonOffsetFactor = material.polygonOffsetUnits = 1;
            if (kind.marked) markOctants(material, run.planar);
            this.materials.push(material);

            // Those that never move first need no update; the rest form one range.
            const mesh = new InstancedMesh(made.solid, material, parts.length);
            mesh.instanceMatrix.setUsage(DynamicDrawUsage);
            mesh.frustumCulled = false;
            mesh.castShadow = mesh.receiveShadow = this.shadows && !this.ghost;
            this.scene.add(mesh);
            let edges = null;
            if (made.edges) {
                const geometry = new InstancedBufferGeometry();
                geometry.setAttribute("position", made.edges.getAttribute("position"));
                geometry.setAttribute("placement", mesh.instanceMatrix);
                geometry.instanceCount = parts.length;
                edges = new LineSegments(geometry, this.edgeMaterial);
                edges.frustumCulled = false;
                this.scene.add(edges);
            }
            const locals = new Float32Array(16 * parts.length);
            parts.forEach((part, i) => part.local.toArray(locals, 16 * i));
            this.batches.push({
                mesh, edges, locals, body: Int32Array.from(parts, (p) => p.body),
                fixed: parts.every((p) => run.bodies[p.body].type === "static"),
            });
        }
    }

    buildGrounds() {
        const { run, bounds } = this;
        // Of a live run only the beginning is known.
        const radius = Math.max((run.live ? 8 : 2.6) * bounds.radius, 1.2 * run.size);
        const pose = new Matrix4();
        run.bodies.forEach((body, b) => {
            for (const shape of body.shapes ?? []) {
                if (!isFlatGround(shape) || !Array.isArray(shape.normal)) continue;
                this.poseOf(b, pose);
                const focus = bounds.center.clone().applyMatrix4(pose.invert());
                const ground = createGround(shape, run.planar, focus, radius, this.shadows && !this.ghost);
                this.grounds.push({ object: ground, body: b });
                this.scene.add(ground);
            }
        });
    }

    buildLights() {
        this.sky = new HemisphereLight(0xffffff, 0xb8bdc4, 1.9);
        this.sun = new DirectionalLight(0xffffff, 1.7);
        const { center, radius } = this.bounds;
        const up = upAxis(this.run);
        const side = Math.abs(up.x) < 0.9 ? new Vector3(1, 0, 0) : new Vector3(0, 1, 0);
        const front = new Vector3().crossVectors(up, side);
        this.sun.position.copy(center).addScaledVector(up, 3 * radius)
            .addScaledVector(side, -1.4 * radius).addScaledVector(front, -1.6 * radius);
        this.sun.target.position.copy(center);
        if (this.shadows) {
            this.sun.castShadow = true;
            const camera = this.sun.shadow.camera;
            const reach = 1.8 * radius;
            Object.assign(camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * radius, far: 9 * radius });
            camera.updateProjectionMatrix();
            this.sun.shadow.mapSize.set(2048, 2048);
            this.sun.shadow.bias = -0.0005;
            this.sun.shadow.normalBias = 0.004 * radius;
        }
        this.scene.add(this.sky, this.sun, this.sun.target);
    }

    paint(theme) {
        const colors = theme.picture;
        const color = new Color();
        this.scene.background = null;
        for (const batch of this.batches) {
            for (let i = 0; i < batch.body.length; ++i) {
                batch.mesh.setColorAt(i, color.set(this.colorOf(batch.body[i], colors)));
            }
            batch.mesh.instanceColor.needsUpdate = true;
        }
        for (const ground of this.grounds) ground.object.userData.paint(colors);
        this.edgeMaterial.uniforms.color.value.set(colors.edge);
        this.edgeMaterial.uniforms.alpha.value = colors.edgeAlpha;
    }

    colorOf(b, colors) {
        const body = this.run.bodies[b];
        if (/^#[0-9a-f]{6}$/i.test(body.color ?? "")) return seen(body.color, colors.background);
        if (body.type === "static") return colors.fixed;
        if (body.type === "kinematic") return colors.driven;
        return bodyColor(b);
    }

    // As a ghost: translucent, without a ground of its own.
    setGhost(ghost) {
        this.ghost = ghost;
        for (const material of this.materials) {
            material.transparent = ghost;
            material.opacity = ghost ? 0.35 : 1;
            material.depthWrite = !ghost;
            material.needsUpdate = true;
        }
        for (const ground of this.grounds) ground.object.visible = !ghost;
        this.sun.castShadow = this.shadows && !ghost;
    }

    poseOf(b, matrix) {
        const { position, quaternion } = this.run.now;
        matrix.compose(
            scratch.p.set(position[3 * b], position[3 * b + 1], position[3 * b + 2]),
            scratch.q.fromArray(quaternion, 4 * b), scratch.one);
        return matrix;
    }

    // Moves every instance to where run.now says; allocates nothing.
    update(everything = false) {
        const { position, quaternion } = this.run.now;
        for (let n = 0; n < this.batches.length; ++n) {
            const batch = this.batches[n];
            if (batch.fixed && !everything) continue;
            const out = batch.mesh.instanceMatrix.array;
            for (let i = 0; i < batch.body.length; ++i) {
                place(out, 16 * i, batch.locals, position, quaternion, batch.body[i]);
            }
            batch.mesh.instanceMatrix.needsUpdate = true;
        }
        for (let n = 0; n < this.grounds.length; ++n) {
            const { object, body } = this.grounds[n];
            object.position.set(position[3 * body], position[3 * body + 1], position[3 * body + 2]);
            object.quaternion.fromArray(quaternion, 4 * body);
        }
    }

    // The body that a ray meets first, or -1.
    pick(raycaster) {
        let best = Infinity;
        let body = -1;
        for (const batch of this.batches) {
            batch.mesh.boundingSphere = null; // it has moved
            for (const hit of raycaster.intersectObject(batch.mesh)) {
                if (hit.distance < best) {
                    best = hit.distance;
                    body = batch.body[hit.instanceId];
                }
            }
        }
        return body;
    }
}

const scratch = { p: new Vector3(), q: new Quaternion(), one: new Vector3(1, 1, 1) };

export function upAxis(run) {
    if (run.planar) return new Vector3(0, 1, 0);
    const up = new Vector3(...[...(run.header.gravity ?? []), 0, 0, 0].slice(0, 3)).negate();
    return up.length() > 0 ? up.normalize() : new Vector3(0, 0, 1);
}

function localMatrix(shape) {
    const [w, x, y, z] = shape.orientation ?? [1, 0, 0, 0];
    const p = [...(shape.position ?? []), 0, 0, 0];
    return new Matrix4().compose(
        new Vector3(p[0], p[1], p[2]), new Quaternion(x, y, z, w).normalize(), new Vector3(1, 1, 1));
}

// out = pose of the body times the local matrix at the same place of `locals`.
function place(out, at, locals, position, quaternion, b) {
    const x = quaternion[4 * b], y = quaternion[4 * b + 1], z = quaternion[4 * b + 2], w = quaternion[4 * b + 3];
    const r00 = 1 - 2 * (y * y + z * z), r01 = 2 * (x * y - w * z), r02 = 2 * (x * z + w * y);
    const r10 = 2 * (x * y + w * z), r11 = 1 - 2 * (x * x + z * z), r12 = 2 * (y * z - w * x);
    const r20 = 2 * (x * z - w * y), r21 = 2 * (y * z + w * x), r22 = 1 - 2 * (x * x + y * y);
    for (let c = 0; c < 4; ++c) {
        const i = at + 4 * c;
        const lx = locals[i], ly = locals[i + 1], lz = locals[i + 2];
        out[i] = r00 * lx + r01 * ly + r02 * lz;
        out[i + 1] = r10 * lx + r11 * ly + r12 * lz;
        out[i + 2] = r20 * lx + r21 * ly + r22 * lz;
        out[i + 3] = c === 3 ? 1 : 0;
    }
    out[at + 12] += position[3 * b];
    out[at + 13] += position[3 * b + 1];
    out[at + 14] += position[3 * b + 2];
}
