// Planes and half-planes: unbounded in the model, drawn as a finite piece that fades out.
import {
    BufferAttribute, BufferGeometry, Color, DoubleSide, Group, LineBasicMaterial, LineSegments,
    Matrix4, Mesh, PlaneGeometry, Quaternion, ShaderMaterial, ShadowMaterial, Vector3,
} from "three";

const GRID_VERTEX = `
varying vec2 vPlane;
uniform vec2 origin;
void main() {
    vPlane = position.xy + origin;
    gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const GRID_FRAGMENT = `
varying vec2 vPlane;
uniform vec2 origin;
uniform float cell, radius;
uniform vec3 line, ground;
float lines(vec2 p) {
    vec2 w = fwidth(p);
    vec2 d = abs(fract(p - 0.5) - 0.5) / w;
    vec2 a = (1.0 - smoothstep(0.0, 1.0, d)) * (1.0 - smoothstep(0.3, 0.7, w));
    return max(a.x, a.y);
}
void main() {
    float fade = 1.0 - smoothstep(0.45, 1.0, length(vPlane - origin) / radius);
    float grid = max(0.3 * lines(vPlane / cell), 0.65 * lines(vPlane / (5.0 * cell)));
    float back = gl_FrontFacing ? 1.0 : 0.35;
    vec3 color = mix(ground, line, grid);
    gl_FragColor = vec4(color, fade * back * max(grid, 0.75));
    #include <colorspace_fragment>
}`;

const BAND_VERTEX = `
varying vec2 vBand;
void main() {
    vBand = position.xy;
    gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const BAND_FRAGMENT = `
varying vec2 vBand;
uniform float cell, radius;
uniform vec3 line, ground;
void main() {
    float s = (vBand.x + vBand.y) / (0.4 * cell);
    float d = abs(fract(s - 0.5) - 0.5) / fwidth(s);
    float hatch = 1.0 - smoothstep(0.0, 1.0, d);
    float deep = 1.0 - smoothstep(0.0, 1.0, -vBand.y / (2.4 * cell));
    float fade = 1.0 - smoothstep(0.6, 1.0, abs(vBand.x) / radius);
    gl_FragColor = vec4(mix(ground, line, hatch), fade * deep * max(0.6 * hatch, 0.55));
    #include <colorspace_fragment>
}`;

// 1, 2 or 5 times a power of ten, near x.
export function niceNumber(x) {
    const unit = Math.pow(10, Math.floor(Math.log10(x)));
    const m = x / unit;
    return unit * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

function shader(vertexShader, fragmentShader, uniforms) {
    return new ShaderMaterial({
        vertexShader, fragmentShader, transparent: true, depthWrite: false, side: DoubleSide,
        uniforms: {
            line: { value: new Color() }, ground: { value: new Color() },
            ...Object.fromEntries(Object.entries(uniforms).map(([k, value]) => [k, { value }])),
        },
    });
}

// The frame of a plane: z along its normal, x as near to the world's x as can be.
function planeFrame(normal) {
    const z = new Vector3(...normal).normalize();
    const x = Math.abs(z.x) < 0.9 ? new Vector3(1, 0, 0) : new Vector3(0, 1, 0);
    x.addScaledVector(z, -x.dot(z)).normalize();
    return new Matrix4().makeBasis(x, new Vector3().crossVectors(z, x), z);
}

// focus: what the piece should lie under, in the frame of the body; radius: how far it reaches.
export function createGround(shape, planar, focus, radius, receiveShadow) {
    const group = new Group();
    const cell = niceNumber(radius / 22);
    const normal = new Vector3(...[...shape.normal, 0].slice(0, 3)).normalize();
    const foot = new Vector3(...[...(shape.position ?? []), 0, 0, 0].slice(0, 3));
    const [w, x, y, z] = shape.orientation ?? [1, 0, 0, 0];
    const turn = new Quaternion(x, y, z, w);
    normal.applyQuaternion(turn);
    foot.addScaledVector(normal, shape.offset ?? 0);
    const center = focus.clone().addScaledVector(normal, foot.clone().sub(focus).dot(normal));
    let material;
    if (planar) {
        const tangent = new Vector3(normal.y, -normal.x, 0);
        material = shader(BAND_VERTEX, BAND_FRAGMENT, { cell, radius });
        const band = new PlaneGeometry(2 * radius, 2.4 * cell).translate(0, -1.2 * cell, 0);
        const mesh = new Mesh(band, material);
        const line = new BufferGeometry();
        line.setAttribute("position",
            new BufferAttribute(new Float32Array([-radius, 0, 0, radius, 0, 0]), 3));
        const edge = new LineSegments(line, new LineBasicMaterial({ transparent: true }));
        mesh.position.z = edge.position.z = -0.001 * radius;
        group.add(mesh, edge);
        group.userData.edge = edge;
        group.matrix.makeBasis(tangent, normal, new Vector3(0, 0, 1));
    } else {
        const frame = planeFrame(normal.toArray());
        const local = center.clone().applyMatrix4(frame.clone().invert());
        material = shader(GRID_VERTEX, GRID_FRAGMENT, {
            cell, radius, origin: { x: local.x, y: local.y, isVector2: true },
        });
        material.uniforms.origin.value = [local.x, local.y];
        const plane = new PlaneGeometry(2 * radius, 2 * radius);
        const mesh = new Mesh(plane, material);
        mesh.renderOrder = -2;
        group.add(mesh);
        if (receiveShadow) {
            const dark = new ShadowMaterial({ transparent: true, depthWrite: false });
            const catcher = new Mesh(plane, dark);
            catcher.receiveShadow = true;
            catcher.renderOrder = -1;
            group.add(catcher);
            group.userData.shadow = dark;
        }
        group.matrix.copy(frame);
    }
    group.matrix.setPosition(center);
    group.matrix.decompose(group.position, group.quaternion, group.scale);
    group.userData.paint = (colors) => {
        material.uniforms.line.value.set(colors.grid);
        material.uniforms.ground.value.set(colors.ground);
        group.userData.edge?.material.color.set(colors.fixed);
        if (group.userData.shadow) group.userData.shadow.opacity = colors.shadow;
    };
    // A group inside a group: the outer one carries the pose of the body.
    const carrier = new Group();
    carrier.add(group);
    carrier.userData.paint = group.userData.paint;
    return carrier;
}
