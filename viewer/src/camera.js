// Where one looks from: a default that frames what moves, presets, orbit, follow.
import { OrthographicCamera, PerspectiveCamera, Spherical, Vector3 } from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { upAxis } from "./scene.js";

const FIELD = 32; // degrees, vertical
const HALF = Math.tan((FIELD / 2) * (Math.PI / 180));

export const VIEWS = ["iso", "front", "right", "top", "back", "left"];
// Direction from the target to the eye: along side, front and up of the scene.
const DIRECTIONS = {
    iso: [0.62, -1, 0.52], front: [0, -1, 0.04], right: [1, 0, 0.04], top: [0, -0.001, 1],
    back: [0, 1, 0.04], left: [-1, 0, 0.04],
};

export class Eye {
    constructor(view, canvas, onChange) {
        this.planar = view.run.planar;
        this.bounds = view.bounds;
        this.up = upAxis(view.run);
        this.perspective = new PerspectiveCamera(FIELD, 1, 0.01, 100);
        this.orthographic = new OrthographicCamera(-1, 1, 1, -1, 0.01, 100);
        this.camera = this.planar ? this.orthographic : this.perspective;
        this.perspective.up.copy(this.up);
        this.orthographic.up.copy(this.up);
        this.aspect = 1;
        this.height = 1;
        this.controls = new OrbitControls(this.camera, canvas);
        this.controls.enableDamping = false;
        this.controls.zoomToCursor = this.planar;
        this.controls.screenSpacePanning = true;
        if (this.planar) {
            this.controls.enableRotate = false;
            this.controls.mouseButtons.LEFT = 2; // pan
            this.controls.touches.ONE = 1;
        }
        this.controls.addEventListener("change", onChange);
        this.onChange = onChange;
        this.view = "iso";
        this.touched = false;
        this.controls.addEventListener("start", () => (this.touched = true));
        this.spherical = new Spherical();
        this.offset = new Vector3();
    }

    // One of VIEWS, or "azimuth,elevation" in degrees.
    look(name) {
        const { center, radius } = this.bounds;
        const side = Math.abs(this.up.x) < 0.9 ? new Vector3(1, 0, 0) : new Vector3(0, 1, 0);
        side.addScaledVector(this.up, -side.dot(this.up)).normalize();
        const front = new Vector3().crossVectors(this.up, side);
        let direction = DIRECTIONS[name];
        const angles = /^(-?[\d.]+),(-?[\d.]+)$/.exec(name ?? "");
        if (angles) {
            const a = (Number(angles[1]) * Math.PI) / 180;
            const e = (Math.max(-89.9, Math.min(89.9, Number(angles[2]))) * Math.PI) / 180;
            direction = [Math.sin(a) * Math.cos(e), -Math.cos(a) * Math.cos(e), Math.sin(e)];
        }
        this.view = direction ? name : "iso";
        direction ??= DIRECTIONS.iso;
        const eye = this.planar
            ? new Vector3(0, 0, 1)
            : new Vector3().addScaledVector(side, direction[0]).addScaledVector(front, direction[1])
                .addScaledVector(this.up, direction[2]).normalize();
        this.touched = false;
        this.controls.target.copy(center);
        const distance = this.planar ? 10 * radius : this.fitDistance(eye);
        for (const camera of [this.perspective, this.orthographic]) {
            camera.position.copy(center).addScaledVector(eye, distance);
            camera.near = Math.min(0.02 * radius, 0.02 * distance);
            camera.far = distance + 60 * radius;
            camera.zoom = 1;
            camera.lookAt(center);
        }
        this.resize(this.aspect, this.height);
        this.controls.update();
        this.onChange();
    }

    // Distance from which the eight corners of the bounds just fit.
    fitDistance(eye) {
        const right = new Vector3().crossVectors(this.up, eye).normalize();
        const top = new Vector3().crossVectors(eye, right);
        const corner = new Vector3();
        const { low, high, center, radius } = this.bounds;
        let distance = 0.4 * radius;
        for (let i = 0; i < 8; ++i) {
            corner.set(i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z).sub(center);
            const depth = corner.dot(eye);
            distance = Math.max(distance,
                depth + Math.abs(corner.dot(top)) / HALF,
                depth + Math.abs(corner.dot(right)) / (HALF * this.aspect));
        }
        return 1.12 * distance;
    }

    resize(aspect, height) {
        const refit = aspect !== this.aspect && !this.touched;
        this.aspect = aspect;
        this.height = height;
        this.perspective.aspect = aspect;
        this.perspective.updateProjectionMatrix();
        let half;
        if (this.planar) {
            const { low, high } = this.bounds;
            half = 0.58 * Math.max(high.y - low.y, (high.x - low.x) / aspect, 1e-9);
        } else {
            half = HALF * this.perspective.position.distanceTo(this.controls.target);
        }
        Object.assign(this.orthographic, { left: -half * aspect, right: half * aspect, top: half, bottom: -half });
        this.orthographic.updateProjectionMatrix();
        if (refit && !this.planar && this.view) this.look(this.view);
    }

    toggleProjection() {
        if (this.planar) return;
        const from = this.camera;
        this.camera = from === this.perspective ? this.orthographic : this.perspective;
        this.camera.position.copy(from.position);
        this.camera.quaternion.copy(from.quaternion);
        this.orthographic.zoom = 1;
        this.controls.object = this.camera;
        this.resize(this.aspect, this.height);
        this.controls.update();
        this.onChange();
    }

    orbit(azimuth, polar) {
        if (this.planar) return this.pan(-azimuth, -polar);
        this.touched = true;
        this.offset.copy(this.camera.position).sub(this.controls.target);
        const right = new Vector3().crossVectors(this.up, this.offset).normalize();
        this.offset.applyAxisAngle(this.up, azimuth);
        const angle = this.offset.angleTo(this.up);
        const turn = Math.max(0.02 - angle, Math.min(Math.PI - 0.02 - angle, polar));
        right.applyAxisAngle(this.up, azimuth);
        this.offset.applyAxisAngle(right, turn);
        this.camera.position.copy(this.controls.target).add(this.offset);
        this.controls.update();
        this.onChange();
    }

    pan(x, y) {
        this.touched = true;
        const scale = this.perPixel(this.controls.target) * this.height;
        this.offset.setFromMatrixColumn(this.camera.matrix, 0).multiplyScalar(x * scale);
        this.camera.position.add(this.offset);
        this.controls.target.add(this.offset);
        this.offset.setFromMatrixColumn(this.camera.matrix, 1).multiplyScalar(y * scale);
        this.camera.position.add(this.offset);
        this.controls.target.add(this.offset);
        this.controls.update();
        this.onChange();
    }

    zoom(factor) {
        this.touched = true;
        if (this.camera === this.orthographic) {
            this.camera.zoom *= factor;
            this.camera.updateProjectionMatrix();
        } else {
            this.camera.position.sub(this.controls.target).divideScalar(factor).add(this.controls.target);
        }
        this.controls.update();
        this.onChange();
    }

    // Moves eye and target alike.
    carry(dx, dy, dz) {
        this.camera.position.x += dx;
        this.camera.position.y += dy;
        this.camera.position.z += dz;
        this.controls.target.x += dx;
        this.controls.target.y += dy;
        this.controls.target.z += dz;
    }

    // Length in the scene that one pixel covers at a point.
    perPixel(point) {
        return this.perPixelAt(point.x, point.y, point.z);
    }

    perPixelAt(x, y, z) {
        if (this.camera === this.orthographic) {
            return (this.camera.top - this.camera.bottom) / this.camera.zoom / this.height;
        }
        const p = this.camera.position;
        const m = this.camera.matrixWorld.elements; // the third column points backwards
        const depth = (p.x - x) * m[8] + (p.y - y) * m[9] + (p.z - z) * m[10];
        return (2 * HALF * Math.max(depth, this.camera.near)) / this.height;
    }
}
