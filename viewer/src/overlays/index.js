// The overlays, in the order of their buttons and number keys. A new one is a module like these and
// one line here:
//   { name, key, label, hint, available(run), create(context) -> { object, update(), draw?(pen) } }
// context: { run, view, eye, theme, colors() }; update() is called before a picture while the
// overlay is on, and allocates nothing; draw(pen, project) writes on the flat layer above.
import { contacts } from "./contacts.js";
import { forces } from "./forces.js";
import { cones } from "./cones.js";
import { joints } from "./joints.js";
import { boxes } from "./boxes.js";
import { paths } from "./paths.js";
import { tripods } from "./tripods.js";
import { velocities } from "./velocities.js";
import { names } from "./names.js";

export const OVERLAYS = [contacts, forces, cones, joints, boxes, paths, tripods, velocities, names];
