#!/usr/bin/env bash
# Bad input through the command line: `perp check` and `perp run --out X.h5` end with status 2, say
# file and place on stderr, and leave no file behind. Environment: PERP, PERP_SOURCE.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=${PERP_SOURCE:-$here/../..}
perp=${PERP:-$source/build/release/perp}
inputs=$here/bad_input
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

check() { # condition's status, what
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $2"
    fi
}

# file, then texts that the message must hold
refused() {
    local file=$1 verb status held text
    shift
    for verb in check run; do
        if [ $verb = check ]; then
            timeout 60 "$perp" check "$file" >"$work/out" 2>"$work/err"
        else
            timeout 60 "$perp" run "$file" --out "$work/x.h5" >"$work/out" 2>"$work/err"
        fi
        status=$?
        [ $status -eq 2 ]
        check $? "$verb $(basename "$file"): exit status $status, not 2"
        held=0
        for text in "$file: " "$@"; do
            grep -qF -- "$text" "$work/err" || held=1
        done
        check $held "$verb $(basename "$file"): stderr lacks '$text': $(head -c 300 "$work/err")"
    done
    [ -z "$(find "$work" -name 'x.h5*' -o -name '*.h5')" ]
    check $? "run $(basename "$file"): left a file behind"
    rm -f "$work"/*.h5*
}

listed=0
while IFS='|' read -r name one two; do
    [ -n "$name" ] || continue
    listed=$((listed + 1))
    refused "$inputs/$name.json" "$one" ${two:+"$two"}
done <<'LIST'
broken-json|line 3, column
empty|is empty
byte-order-mark|line 1, column 1|byte order mark
not-an-object|must be an object, got an array
no-bodies|/bodies: must hold at least one body
bodies-missing|missing key 'bodies'
garbage|line 1, column
stepper-setting|/stepper: stepper 'stewart-trinkle' has no settings, got 'relax'
unknown-key|unknown key 'gravty': did you mean 'gravity'?
unknown-body-key|/bodies/1: unknown key 'masss': did you mean 'mass'?
duplicate-key|line 5, column|duplicate
duplicate-name|/bodies/2/name: |'ball'
unknown-body-in-pair|/friction/pairs/0/b: |'ghost'
unknown-body-in-force|/forces/0/body: |'ghost'
negative-mass|/bodies/1/mass: must be > 0, got -1
nan-mass|line 6, column|NaN
huge-mass|line 6, column
expression-mass|/bodies/1/mass: must be a number, got a string
no-mass|/bodies/1/mass: 
triangle-inequality|/bodies/1/inertia: 
zero-normal|/bodies/1/shapes/0/normal: 
zero-quaternion|/bodies/1/orientation: 
negative-radius|/bodies/1/shapes/0/radius: must be > 0, got -1
unknown-shape|/bodies/1/shapes/0/type: |'sphere'
planar-shape|/bodies/1/shapes/0/type: |'circle'
wrong-type|/bodies/1/mass: must be a number, got a string
wrong-length|/bodies/1/position: must be an array of 3 numbers, got 2
broken-expression|/bodies/1/motion/position/1: expression 'sin(t': |at column 6
nan-expression|/bodies/1/motion/position/1: |log(-1)
zero-step|/step: must be > 0, got 0
negative-step|/step: must be > 0, got -0.01
adaptive-step|/step/error: must be > 0, got 0
adaptive-bounds|/step: needs 0 < min <= initial <= max
adaptive-stepper|/step: an adaptive step goes with the stepper 'stewart-trinkle'
adaptive-corrective|/step: an adaptive step does not go with the contact model 'corrective'
restitution-large|/restitution: must be from 0 to 1, got 1.2
restitution-law|/restitution/law: must be newton or poisson, got 'hertz'
restitution-stepper|/stepper: 'quasistatic' knows no impacts
stepper-instantaneous|/stepper: 'instantaneous' gives forces|perp forces
zero-duration|/duration: must be > 0, got 0
two-directions|/friction/directions: must be >= 3, got 2
negative-friction|/friction/default: must be >= 0, got -0.1
unknown-cone|/friction/cone: |'square'
superquadric-exponent|/bodies/1/shapes/0/exponents/1: must be from 1.05 to 100
ellipsoid-without-length|/friction/e_r: must be a length > 0, got 0
axes-without-ellipsoid|/friction/e_t: belongs to the friction cone 'ellipsoid'
contact-disjunctive-spatial|/contact: |'disjunctive' is for planar scenes
support-outside|/bodies/0/support/tripod: must contain the centre of mass
support-line|/bodies/0/support/tripod: the three points must not lie on a line
support-negative|/bodies/0/support/mu: must be >= 0, got -0.1
support-no-tripod|/bodies/0/support: missing key 'tripod'
support-two-loads|/bodies/0/support/load: takes the place of gravity
support-static|/bodies/0/support: only a dynamic body needs one
support-spatial|/bodies/0/support: is for planar scenes
support-ellipsoid|/friction/cone: supports take 'quadratic', 'polygon' or 'none', not 'ellipsoid'
support-solver|/solver: 'lemke' does not take the friction cone 'quadratic'
quasistatic-correction|/joint_correction: is for steppers with inertia
polygon-twice|/bodies/0/shapes/0/vertices/2: is the same point as vertices/1
polygon-straight|/bodies/0/shapes/0/vertices/1: lies on the line through its neighbours
polygon-flat|/bodies/0/shapes/0/vertices: all lie on a line
polygon-crossed|/bodies/0/shapes/0/vertices: the edge that begins at vertices/0 meets the one that begins at vertices/2
polygon-star|/bodies/0/shapes/0/vertices: the polygon winds around itself 2 times
polygon-two|/bodies/0/shapes/0/vertices: must be 3 to 1024 points, got 2
polygon-point|/bodies/0/shapes/0/vertices/1: must be a point of 2 numbers
polygon-tiny-edge|/bodies/0/shapes/0/vertices/3: is the same point as vertices/2
polyhedron-line|/bodies/0/shapes/0/vertices: all lie on one line
polyhedron-flat|/bodies/0/shapes/0/vertices: all lie in one plane
polyhedron-same|/bodies/0/shapes/0/vertices: all are the same point
polyhedron-three|/bodies/0/shapes/0/vertices: must be at least 4 points, got 3
polyhedron-point|/bodies/0/shapes/0/vertices/3: must be three numbers
polyhedron-open|/bodies/0/shapes/0/faces: |belongs to one face only: the surface is not closed
polyhedron-disagree|/bodies/0/shapes/0/faces: |which side is out
polyhedron-bent|/bodies/0/shapes/0/faces/0: is not flat|cut the face into triangles
polyhedron-notch|/bodies/0/shapes/0/faces: |is not convex: vertex 
polyhedron-solid|/bodies/0/shapes/0/solid: unknown solid 'icosaeder'
polyhedron-sides|/bodies/0/shapes/0/sides: 
polyhedron-extra|/bodies/0/shapes/0/length: a cube has none
polyhedron-nothing|/bodies/0/shapes/0: missing key 'vertices'
unknown-stepper|stewart-trinkel|stewart-trinkle
unknown-contact|standrad|standard
unknown-solver|lemkee|lemke
unknown-setting|no_such_setting
joint-apart|/joints/0/at_b: |at [0, 0, 1] in the world, at_b [0, 0, 0] of 'ball' at [0, 0, 2], 1 apart
joint-to-itself|/joints/0/b: |two different bodies
joint-zero-axis|/joints/0/axis: |length > 0
joint-limits|/joints/0/limits: lower must be <= upper|did you mean [-1, 1]?
joint-unknown-body|/joints/0/b: there is no body named 'bal'
joint-twice|/joints/1/name: 'j' is already
planar-gravity|/gravity: must be an array of 2 numbers
overlap|lower|upper
LIST
[ "$listed" -eq "$(find "$inputs" -name '*.json' | wc -l)" ]
check $? "every file of bad_input/ is in the list"

# Files that are too much to keep.
refused "$work/no-such-file.json" "No such file"
head -c 100000000 /dev/urandom >"$work/large.json"
start=$(date +%s)
refused "$work/large.json" "file too large"
[ $(($(date +%s) - start)) -le 5 ]
check $? "100 MB were not refused quickly"
rm -f "$work/large.json"
{ head -c 100000 /dev/zero | tr '\0' '['; head -c 100000 /dev/zero | tr '\0' ']'; } >"$work/deep.json"
refused "$work/deep.json" "line 1, column 101" "nested deeper than 100"
mkdir "$work/folder.json"
refused "$work/folder.json" "directory"

# Overlap at the start: the depth is named, and the scene may allow it.
"$perp" check "$inputs/overlap.json" >"$work/out" 2>"$work/err"
grep -qE '0\.5|0\.49999|0\.50000' "$work/err"
check $? "overlap.json: the depth 0.5 is not named: $(head -c 300 "$work/err")"
"$perp" run "$inputs/overlap.json" --set /allow_overlap=true --out "$work/ok.h5" >"$work/out" 2>"$work/err"
check $? "overlap.json with allow_overlap: $(head -c 300 "$work/err")"
[ -s "$work/ok.h5" ]
check $? "overlap.json with allow_overlap: no recording"

# A bad override names its pointer.
for set in /bodeis/0/mass=1 /bodies/9/mass=1 /bodies/1/mass=-1 /bodies/1/mass=heavy /bodies/1/mas=1; do
    "$perp" run "$source/scenes/hello.json" --set "$set" --out "$work/x.h5" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 2 ] && grep -qF "hello.json: /bod" "$work/err" && [ ! -e "$work/x.h5" ]
    check $? "--set $set: status $status, $(head -c 300 "$work/err")"
done

# An old recording survives a run that is refused.
echo old >"$work/old.h5"
"$perp" run "$inputs/negative-mass.json" --out "$work/old.h5" >"$work/out" 2>"$work/err"
[ "$(cat "$work/old.h5")" = old ]
check $? "a refused run destroyed an old file"

echo "bad_input_test: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
