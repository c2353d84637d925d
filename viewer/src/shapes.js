// One entry per shape type: the geometry it is drawn with, and the scale that fits it to a shape.
// Shapes that differ only in scale share a geometry and are drawn in one call.
import {
    BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, CircleGeometry,
    CylinderGeometry, EdgesGeometry, PlaneGeometry, Shape, ShapeGeometry, SphereGeometry, Vector2,
    Vector3,
} from "three";
import { ConvexGeometry } from "three/examples/jsm/geometries/ConvexGeometry.js";

const uniform = (s) => [s, s, s];

function outline(points) {
    const geometry = new BufferGeometry();
    const data = [];
    points.forEach((p, i) => {
        const q = points[(i + 1) % points.length];
        data.push(p[0], p[1], 0, q[0], q[1], 0);
    });
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(data), 3));
    return geometry;
}

function flat(points) {
    return {
        solid: new ShapeGeometry(new Shape(points.map((p) => new Vector2(p[0], p[1])))),
        edges: outline(points),
    };
}

const sharp = (solid, angle = 20) => ({ solid, edges: new EdgesGeometry(solid, angle) });

function power(x, e) {
    return Math.sign(x) * Math.pow(Math.abs(x), e);
}

function superellipse(exponent) {
    const e = 2 / exponent;
    return Array.from({ length: 96 }, (_, i) => {
        const a = (2 * Math.PI * i) / 96;
        return [power(Math.cos(a), e), power(Math.sin(a), e)];
    });
}

// (|x|^r + |y|^r)^(t/r) + |z|^t = 1
function superquadric([r, t]) {
    const e1 = 2 / t, e2 = 2 / r;
    const solid = new SphereGeometry(1, 48, 32);
    solid.rotateX(Math.PI / 2);
    const p = solid.getAttribute("position");
    for (let i = 0; i < p.count; ++i) {
        const u = Math.asin(Math.max(-1, Math.min(1, p.getZ(i))));
        const v = Math.atan2(p.getY(i), p.getX(i));
        const c = power(Math.cos(u), e1);
        p.setXYZ(i, c * power(Math.cos(v), e2), c * power(Math.sin(v), e2), power(Math.sin(u), e1));
    }
    solid.computeVertexNormals();
    return { solid, edges: null };
}

function triangles(vertices, faces) {
    const data = [];
    for (const face of faces) {
        for (let i = 2; i < face.length; ++i) {
            for (const k of [face[0], face[i - 1], face[i]]) data.push(...vertices[k]);
        }
    }
    const solid = new BufferGeometry();
    solid.setAttribute("position", new BufferAttribute(new Float32Array(data), 3));
    solid.computeVertexNormals();
    return sharp(solid);
}

function solidOf({ vertices, faces }) {
    if (faces?.length) return triangles(vertices, faces);
    return sharp(new ConvexGeometry(vertices.map((v) => new Vector3(...v))));
}

// detail: how many of the kind there are; fewer triangles each when there are many.
const round = (many) => (many > 200 ? [20, 12] : [40, 24]);

const KINDS = {
    sphere: (s) => ({
        key: "sphere", scale: uniform(s.radius), half: uniform(s.radius), marked: true,
        make: (many) => ({ solid: new SphereGeometry(1, ...round(many)), edges: null }),
    }),
    box: (s, planar) => planar
        ? {
            key: "quad", scale: [s.size[0], s.size[1], 1], half: [s.size[0] / 2, s.size[1] / 2, 0],
            make: () => ({
                solid: new PlaneGeometry(1, 1),
                edges: outline([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]),
            }),
        }
        : {
            key: "box", scale: s.size, half: s.size.map((x) => x / 2),
            make: () => sharp(new BoxGeometry(1, 1, 1)),
        },
    capsule: (s) => ({
        key: `capsule ${(s.length / s.radius).toPrecision(6)}`, scale: uniform(s.radius),
        half: [s.radius, s.radius, s.radius + s.length / 2], marked: true,
        make: (many) => ({
            solid: new CapsuleGeometry(1, s.length / s.radius, many > 200 ? 6 : 12, many > 200 ? 16 : 32)
                .rotateX(Math.PI / 2),
            edges: null,
        }),
    }),
    cylinder: (s) => ({
        key: "cylinder", scale: [s.radius, s.radius, s.length],
        half: [s.radius, s.radius, s.length / 2], marked: true,
        make: () => sharp(new CylinderGeometry(1, 1, 1, 40).rotateX(Math.PI / 2), 40),
    }),
    ellipsoid: (s) => ({ ...KINDS.sphere({ radius: 1 }), scale: s.radii, half: s.radii }),
    superquadric: (s) => ({
        key: `superquadric ${s.exponents}`, scale: s.radii, half: s.radii,
        make: () => superquadric(s.exponents),
    }),
    circle: (s) => ({
        key: "disc", scale: [s.radius, s.radius, 1], half: [s.radius, s.radius, 0], marked: true,
        make: () => ({
            solid: new CircleGeometry(1, 64),
            edges: outline(superellipse(2)),
        }),
    }),
    superellipse: (s) => ({
        key: `superellipse ${s.exponent}`, scale: [s.radii[0], s.radii[1], 1],
        half: [s.radii[0], s.radii[1], 0], make: () => flat(superellipse(s.exponent)),
    }),
    polygon: (s) => ({
        key: `polygon ${s.vertices}`, scale: uniform(1), half: reach(s.vertices),
        make: () => flat(s.vertices),
    }),
    polyhedron: (s) => ({
        key: `polyhedron ${s.vertices} ${s.faces}`, scale: uniform(1), half: reach(s.vertices),
        make: () => solidOf(s),
    }),
    particle: (s, planar, size) => ({
        ...(planar ? KINDS.circle : KINDS.sphere)({ radius: 0.012 * size }), half: [0, 0, 0],
    }),
};
KINDS.mesh = KINDS.polyhedron;

// Half sizes of a box about the origin that holds all points.
function reach(vertices) {
    const half = [0, 0, 0];
    for (const v of vertices) v.forEach((x, i) => (half[i] = Math.max(half[i], Math.abs(x))));
    return half;
}

export const isFlatGround = (shape) => shape.type === "plane" || shape.type === "halfplane";

// How to draw a shape, or null: unbounded, or of a type (or with values) that this page does not
// know.
export function describeShape(shape, planar, size) {
    if (isFlatGround(shape)) return null;
    try {
        const kind = KINDS[shape.type]?.(shape, planar, size);
        return kind && kind.half.every(Number.isFinite) ? kind : null;
    } catch {
        return null;
    }
}
