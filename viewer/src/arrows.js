// Many arrows in two calls: shafts and heads, both instanced.
import {
    Color, ConeGeometry, CylinderGeometry, DynamicDrawUsage, Group, InstancedMesh,
    MeshBasicMaterial, SphereGeometry,
} from "three";

const color = new Color();

// Geometry along +z, from 0 to 1.
const SHAFT = new CylinderGeometry(1, 1, 1, 10).rotateX(Math.PI / 2).translate(0, 0, 0.5);
const HEAD = new ConeGeometry(1, 1, 16).rotateX(Math.PI / 2).translate(0, 0, 0.5);
const DOT = new SphereGeometry(1, 14, 10);

export function instanced(geometry, capacity, options = {}) {
    // Overlays are signs, not things: what a body would hide is still shown.
    const material = new MeshBasicMaterial({ depthTest: false, transparent: true, ...options });
    const mesh = new InstancedMesh(geometry, material, Math.max(1, capacity));
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.setColorAt(0, color.set(0xffffff));
    mesh.instanceColor.setUsage(DynamicDrawUsage);
    mesh.frustumCulled = false;
    mesh.count = 0;
    mesh.renderOrder = 10;
    return mesh;
}

export function setColor(mesh, i, hex) {
    color.set(hex);
    color.toArray(mesh.instanceColor.array, 3 * i);
}

// Writes an affine matrix whose z axis is d (unit) times length, with x and y of the given width.
// With a tangent (tx, ty, tz) the x axis points along it.
export function setAlong(mesh, i, px, py, pz, dx, dy, dz, length, width, tx = 0, ty = 0, tz = 0) {
    if (tx === 0 && ty === 0 && tz === 0) {
        if (Math.abs(dx) < 0.8) tx = 1;
        else ty = 1;
    }
    const dot = tx * dx + ty * dy + tz * dz;
    tx -= dot * dx;
    ty -= dot * dy;
    tz -= dot * dz;
    const norm = Math.sqrt(tx * tx + ty * ty + tz * tz) || 1;
    tx /= norm;
    ty /= norm;
    tz /= norm;
    const m = mesh.instanceMatrix.array;
    const at = 16 * i;
    m[at] = width * tx;
    m[at + 1] = width * ty;
    m[at + 2] = width * tz;
    m[at + 3] = 0;
    m[at + 4] = width * (dy * tz - dz * ty);
    m[at + 5] = width * (dz * tx - dx * tz);
    m[at + 6] = width * (dx * ty - dy * tx);
    m[at + 7] = 0;
    m[at + 8] = length * dx;
    m[at + 9] = length * dy;
    m[at + 10] = length * dz;
    m[at + 11] = 0;
    m[at + 12] = px;
    m[at + 13] = py;
    m[at + 14] = pz;
    m[at + 15] = 1;
}

export function finish(mesh, count) {
    mesh.count = count;
    mesh.instanceMatrix.needsUpdate = true;
    mesh.instanceColor.needsUpdate = true;
}

export class Arrows {
    constructor(capacity) {
        this.object = new Group();
        this.shafts = instanced(SHAFT, capacity);
        this.heads = instanced(HEAD, capacity);
        this.object.add(this.shafts, this.heads);
        this.count = 0;
    }

    begin() {
        this.count = 0;
    }

    // From p along the unit vector d; width: half the thickness of the shaft.
    add(px, py, pz, dx, dy, dz, length, width, hex) {
        const i = this.count;
        if (i >= this.shafts.instanceMatrix.count) return;
        this.count = i + 1;
        const head = Math.min(0.45 * length, 6.5 * width);
        const shaft = length - head;
        setAlong(this.shafts, i, px, py, pz, dx, dy, dz, shaft, width);
        setAlong(this.heads, i, px + shaft * dx, py + shaft * dy, pz + shaft * dz, dx, dy, dz, head, 0.4 * head);
        setColor(this.shafts, i, hex);
        setColor(this.heads, i, hex);
    }

    end() {
        finish(this.shafts, this.count);
        finish(this.heads, this.count);
    }
}

export class Dots {
    constructor(capacity, options) {
        this.object = instanced(DOT, capacity, options);
        this.count = 0;
    }

    begin() {
        this.count = 0;
    }

    add(px, py, pz, radius, hex) {
        const i = this.count;
        if (i >= this.object.instanceMatrix.count) return;
        this.count = i + 1;
        setAlong(this.object, i, px, py, pz, 0, 0, 1, radius, radius);
        setColor(this.object, i, hex);
    }

    end() {
        finish(this.object, this.count);
    }
}
