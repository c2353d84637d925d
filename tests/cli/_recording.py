"""The hashes of a recording, from docs/recording.md alone; and recordings changed with right hashes."""
import h5py
import numpy

MASK = (1 << 64) - 1
ORDER = [  # of a frame's hash, as docs/recording.md lists it
    "time", "step", "state/q", "state/v", "state/v_solved", "energy/kinetic",
    "energy/potential", "energy/total",
    "certificate/dynamics", "certificate/normal", "certificate/friction", "certificate/joints",
    "certificate/worst_constraint", "solver/name", "solver/outcome", "solver/iterations",
    "solver/residual", "solver/candidates", "solver/contacts", "solver/rounds",
    "solver/corrections", "solver/penetration", "solver/joint_error",
    "solver/accepted_unsolved", "solver/fallbacks", "contacts/offset", "contacts/body", "contacts/key",
    "contacts/point", "contacts/normal", "contacts/tangent", "contacts/gap",
    "contacts/mu", "contacts/cone", "contacts/directions", "contacts/e", "contacts/impulse",
    "contacts/drift", "contacts/group", "contacts/layer", "joints/impulse", "joints/law",
    "joints/coordinate", "joints/error", "joints/applied", "joints/target", "joints/turns",
    "forces/memory", "solver/impact", "adaptive/clock", "adaptive/q", "adaptive/v",
    "adaptive/v_end", "adaptive/memory", "energy/ledger", "solver/momentum_error",
    "solver/crossings", "solver/step_fallback"]


def words_of(rows):
    """The 64-bit words of an array, as the hash sees them."""
    if rows.dtype.kind == "S":
        data = rows.tobytes()
        return [*numpy.frombuffer(data, "<u8").tolist(), len(data)]
    return numpy.frombuffer(rows.tobytes(), f"<u{rows.dtype.itemsize}").tolist()


def frame_hashes(file):
    """All hashes of /hash/frame, from the description alone."""
    order = [name for name in ORDER if name in file]
    data = {name: file[name][()] for name in order}
    h = int(file.attrs["header_hash"])
    for k in range(len(data["time"])):
        for name in order:
            column = data[name]
            if name.endswith("/offset"):
                rows = column[k + 1:k + 2]
            elif name.startswith("contacts/"):
                offset = data["contacts/offset"]
                rows = column[offset[k]:offset[k + 1]]
            else:
                rows = column[k:k + 1]
            if len(rows):
                h = words_hash(h, words_of(rows))
        yield h


def words_hash(h, words):
    for word in words:
        h = ((((h << 29) | (h >> 35)) & MASK) ^ word) * 0x9e3779b97f4a7c15 & MASK
    return h


def forge(path, name, place, change):
    """Adds to a number of a recording and makes all hashes fit again."""
    with h5py.File(path, "r+", libver="latest") as file:
        file[name][place] += change
        file["hash/frame"][...] = numpy.array(list(frame_hashes(file)), dtype="<u8")
        last = b"%016x" % int(file["hash/frame"][-1])
        text = file["summary"][()].tobytes()
        start = text.index(b'"last_hash": "') + len(b'"last_hash": "')
        body = text[:start] + last + text[start + 16:text.index(b', "hash"')]
        padded = body + bytes(-len(body) % 8)
        h = words_hash(0x706572702d726563,
                       [*numpy.frombuffer(padded, "<u8").tolist(), len(body)])
        file["summary"][...] = numpy.frombuffer(body + b', "hash": "%016x"}' % h, "u1")
