/* Derivatives of contacts with frozen features, against differences of the collider itself: every
 * pair of shapes that can collide, with the rules of `standard` and `peg`, at random poses, in
 * metres, millimetres and kilometres.
 *
 * The contact at a shifted pose is the one with the same key, or, where the number changes by
 * rounding (the end of a capsule's axis over the border of a face belongs to the face or to its
 * edge), the nearest one. Where forward and backward differences disagree, the collider has changed
 * the features in between, and the column is not compared. Of four step sizes the best counts.
 * Shares of contacts that are refused and of columns that are not compared are bounded.
 *
 * PERP_TABLE=N compares N contacts of each pair and prints the errors. */
#include "../collide/geometry.h"
#include "contact/contact.h"
#include "contact/derivative.h"

enum { NUMBERS = 13, STEPS = 4 }; /* gap, normal, tangent, points */

typedef struct stage {
    perp_context* context;
    perp_model* model;
    perpi_collider* collider;
    perpi_contact_list contacts;
    perpi_pose pose[2];
    double margin[2], unit, size;
} stage;

typedef struct tally {
    int contacts, refused, columns, skipped;
    double worst, worst_frozen;
    char message[400];
} tally;

/* Times the sizes of shapes: another model of the same structure. */
static double grow = 1.0;

/* ---- shapes -------------------------------------------------------------------------------------- */

static perp_shape_def shape_def(perp_shape_type type, double unit, double* vertices)
{
    perp_shape_def d = perp_shape_def_default(type);
    d.radius = unit * random_in(0.2, 0.6);
    d.length = unit * random_in(0.4, 1.6);
    for (int i = 0; i < 3; ++i) {
        d.size[i] = unit * random_in(0.5, 1.6);
        d.radii[i] = unit * random_in(0.3, 0.9);
        d.position[i] = unit * random_in(-0.2, 0.2);
    }
    for (int i = 0; i < 3; ++i) {
        d.size[i] *= grow;
        d.radii[i] *= grow;
    }
    d.radius *= grow;
    d.length *= grow;
    d.exponents[0] = random_in(1.6, 2.6);
    d.exponents[1] = random_in(1.6, 2.6);
    const bool planar = perp_shape_dimension(type) == 2;
    const vec3 n = v3_unit(v3_add(random_vec(0.5), v3(0, 1, 0)));
    d.normal[0] = n.x;
    d.normal[1] = n.y;
    d.normal[2] = planar ? 0 : n.z;
    d.offset = unit * random_in(-0.1, 0.1);
    const quat q = random_turn(planar ? 2 : 3);
    const double w[4] = {q.w, q.x, q.y, q.z};
    memcpy(d.orientation, w, sizeof w);
    if (type == PERP_SHAPE_POLYGON || type == PERP_SHAPE_POLYHEDRON) {
        d.vertices = vertices;
        d.vertex_count = planar ? 6 : 9;
        for (int i = 0; i < d.vertex_count; ++i) {
            const double angle = 2.0 * 3.14159265358979 * i / d.vertex_count;
            const vec3 r = v3_unit(random_vec(1.0));
            vertices[(planar ? 2 : 3) * i] = unit * (planar ? 0.7 * cos(angle) : 0.8 * r.x);
            vertices[(planar ? 2 : 3) * i + 1] = unit * (planar ? 0.5 * sin(angle) : 0.7 * r.y);
            if (!planar) {
                vertices[3 * i + 2] = unit * 0.6 * r.z;
            }
        }
        for (int i = 0; i < (planar ? 2 : 3) * d.vertex_count; ++i) {
            vertices[i] *= grow;
        }
    }
    return d;
}

static void add_shape_body(stage* s, const char* name, perp_shape_def* shape, bool dynamic)
{
    perp_body_def def = perp_body_def_default();
    def.name = name;
    def.type = dynamic ? PERP_BODY_DYNAMIC : PERP_BODY_STATIC;
    def.shapes = shape;
    def.shape_count = 1;
    if (dynamic) {
        def.mass = 1;
        def.has_inertia = true;
        def.inertia[0] = def.inertia[4] = def.inertia[8] = 1;
    }
    int32_t index;
    REQUIRE_OK(perp_model_add_body(s->model, &def, &index));
}

/* Two bodies with one shape each, near each other. */
static void stage_begin(stage* s, perp_shape_type a, perp_shape_type b, double unit)
{
    memset(s, 0, sizeof *s);
    const int dimension = perp_shape_dimension(a) == 2 || perp_shape_dimension(b) == 2 ? 2 : 3;
    double vertices[2][27];
    perp_model_def def = perp_model_def_default();
    def.dimension = dimension;
    REQUIRE_OK(perp_context_create(NULL, &s->context));
    REQUIRE_OK(perp_model_create(s->context, &def, &s->model));
    perp_shape_def one = shape_def(a, unit, vertices[0]), two = shape_def(b, unit, vertices[1]);
    if (dimension == 2) {
        one.position[2] = two.position[2] = 0;
        one.angle = one.orientation[3];
        two.angle = two.orientation[3];
        const double none[4] = {1, 0, 0, 0};
        memcpy(one.orientation, none, sizeof none);
        memcpy(two.orientation, none, sizeof none);
    }
    const bool plane = a == PERP_SHAPE_PLANE || a == PERP_SHAPE_HALFPLANE;
    if (plane) {
        memset(one.position, 0, sizeof one.position);
    }
    add_shape_body(s, "one", &one, !plane);
    add_shape_body(s, "two", &two, true);
    REQUIRE_OK(perpi_collider_create(s->context, s->model, &s->collider));
    s->contacts.context = s->context;
    s->unit = unit;
    s->margin[0] = s->margin[1] = 0.05 * unit;
}

static void stage_end(stage* s)
{
    perpi_free(s->context, s->contacts.item);
    perpi_collider_destroy(s->collider);
    perp_model_destroy(s->model);
    perp_context_destroy(s->context);
}

static void find_contacts(stage* s, const perpi_pose* pose)
{
    const perpi_candidate* candidate;
    size_t count;
    const perpi_contact_rules rules = {.cone = PERP_CONE_NONE};
    s->contacts.count = 0;
    s->contacts.groups = 0;
    REQUIRE_OK(perpi_collide(s->collider, pose, s->margin, &candidate, &count));
    REQUIRE_OK(perpi_contact_build(s->model, &rules, 0.0, pose, candidate, count, &s->contacts));
}

/* ---- numbers of a contact --------------------------------------------------------------------------- */

static void numbers_of(const perp_contact* c, double x[NUMBERS])
{
    x[0] = c->gap;
    for (int i = 0; i < 3; ++i) {
        x[1 + i] = c->normal[i];
        x[4 + i] = c->tangent[i];
        x[7 + i] = c->point[i];
        x[10 + i] = c->point[i] + c->gap * c->normal[i];
    }
}

static void numbers_of_geometry(const perpi_contact_geometry* g, double x[NUMBERS])
{
    x[0] = g->gap;
    v3_to(g->normal, x + 1);
    v3_to(g->tangent, x + 4);
    v3_to(g->point_a, x + 7);
    v3_to(g->point_b, x + 10);
}

static void numbers_of_derivative(const perpi_contact_derivative* d, int column, double x[NUMBERS])
{
    x[0] = d->gap[column];
    for (int i = 0; i < 3; ++i) {
        x[1 + i] = d->normal[i][column];
        x[4 + i] = d->tangent[i][column];
        x[7 + i] = d->point_a[i][column];
        x[10 + i] = d->point_b[i][column];
    }
}

static void shift(const perpi_pose* from, int column, double by, perpi_pose to[2])
{
    to[0] = from[0];
    to[1] = from[1];
    perpi_pose* p = &to[column / 6];
    const int k = column % 6;
    const vec3 e = v3(k % 3 == 0 ? by : 0, k % 3 == 1 ? by : 0, k % 3 == 2 ? by : 0);
    if (k < 3) {
        p->x = v3_add(p->x, e);
    } else {
        p->q = q4_unit(q4_mul(q4_exp(e), p->q));
        p->R = q4_matrix(p->q);
    }
}

/* Times the unit or by it: a number without unit. */
static double without_unit(int number, int column, double unit, double x)
{
    const bool length = number == 0 || number >= 7, turn = column % 6 >= 3;
    return (length ? x / unit : x) * (turn ? 1.0 : unit);
}

/* Of the collider at a shifted pose; false: the contact is not there. */
static bool numbers_at(stage* s, const perp_contact* c, const perpi_pose* pose, double step,
                       double x[NUMBERS])
{
    double at[NUMBERS], least = 10.0 * step;
    bool found = false;
    numbers_of(c, at);
    find_contacts(s, pose);
    for (size_t i = 0; i < s->contacts.count; ++i) {
        double y[NUMBERS], apart = 0.0;
        numbers_of(&s->contacts.item[i], y);
        for (int k = 0; k < NUMBERS; ++k) {
            apart = fmax(apart, fabs(without_unit(k, 3, s->unit, y[k] - at[k])));
        }
        const bool same = s->contacts.item[i].key == c->key;
        if (same || apart < least) {
            least = same ? -1.0 : apart;
            memcpy(x, y, sizeof y);
            found = true;
        }
    }
    return found;
}

/* One column against differences; returns the largest error relative to the largest entry of the quantity. */
static bool compare_column(stage* s, const perp_contact* c, const perpi_pose* pose,
                           const perpi_contact_derivative* d, const perpi_frozen_contact* frozen,
                           int column, double step, const double* most, double* error,
                           double* frozen_error)
{
    static const double weight[4] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
    static const double side[4] = {-0.5, 2.0, 2.0, -0.5}; /* forward minus backward */
    double here[NUMBERS];
    const double by = column % 6 < 3 ? step * s->unit : step;
    double sides[NUMBERS] = {0}, fourth[NUMBERS] = {0}, exact[NUMBERS],
           frozen_fourth[NUMBERS] = {0};
    bool there = true;
    for (int k = 0; k < 4; ++k) {
        const int at = k < 2 ? k - 2 : k - 1;
        perpi_pose to[2];
        double x[NUMBERS];
        perpi_contact_geometry g;
        shift(pose, column, at * by, to);
        there = there && numbers_at(s, c, to, step, x);
        for (int i = 0; i < NUMBERS && there; ++i) {
            fourth[i] += weight[k] * x[i] / by;
            sides[i] += side[k] * x[i] / by;
        }
        if (perpi_frozen_at(s->model, to, frozen, &g) != PERP_OK) {
            g.gap = INFINITY; /* too far for these features: a smaller step is compared */
        }
        numbers_of_geometry(&g, x);
        for (int i = 0; i < NUMBERS; ++i) {
            frozen_fourth[i] += weight[k] * x[i] / by;
        }
    }
    numbers_of_derivative(d, column, exact);
    numbers_of(c, here);
    *error = *frozen_error = 0.0;
    for (int i = 0; i < NUMBERS; ++i) {
        const double scale = most[i == 0 ? 0 : (i + 2) / 3];
        const double off =
            fabs(without_unit(i, column, s->unit, sides[i] - 3.0 * here[i] / by)) / scale;
        there = there && off < 1e-3;
        const double e = fabs(without_unit(i, column, s->unit, exact[i] - fourth[i])) / scale;
        *error = perpi_larger(*error, e);
        const double f =
            fabs(without_unit(i, column, s->unit, exact[i] - frozen_fourth[i])) / scale;
        *frozen_error = perpi_larger(*frozen_error, f);
    }
    return there;
}

static void compare_contact(stage* s, const perp_contact* c, const perpi_pose* pose, tally* t)
{
    static const double step[STEPS] = {1e-2, 1e-3, 1e-4, 1e-5};
    perpi_contact_derivative d;
    perpi_frozen_contact frozen;
    t->contacts += 1;
    if (perpi_contact_freeze(s->model, pose, c, &frozen) != PERP_OK ||
        perpi_frozen_derivative(s->model, pose, &frozen, &d) != PERP_OK) {
        t->refused += 1;
        snprintf(t->message, sizeof t->message, "%s", perp_context_error(s->context));
        return;
    }
    double most[5] = {1, 1, 1, 1, 1};
    for (int k = 0; k < 12; ++k) {
        double x[NUMBERS];
        numbers_of_derivative(&d, k, x);
        for (int i = 0; i < NUMBERS; ++i) {
            double* m = &most[i == 0 ? 0 : (i + 2) / 3];
            *m = perpi_larger(*m, fabs(without_unit(i, k, s->unit, x[i])));
        }
    }
    for (int k = 0; k < 12; ++k) {
        if (perp_model_dimension(s->model) == 2 && k % 6 != 0 && k % 6 != 1 && k % 6 != 5) {
            continue;
        }
        double best = INFINITY, best_frozen = INFINITY;
        for (int i = 0; i < STEPS; ++i) {
            double error, of_frozen;
            if (compare_column(s, c, pose, &d, &frozen, k, step[i], most, &error, &of_frozen)) {
                best = error < best ? error : best;
            }
            best_frozen = of_frozen < best_frozen ? of_frozen : best_frozen;
        }
        t->columns += 1;
        t->skipped += best == INFINITY ? 1 : 0;
        t->worst = best == INFINITY ? t->worst : perpi_larger(t->worst, best);
        t->worst_frozen = perpi_larger(t->worst_frozen, best_frozen);
    }
}

/* Random poses at which the two are within the margin or overlap a little. */
static tally compare_pair(perp_shape_type a, perp_shape_type b, const char* contact, double unit,
                          int wanted)
{
    enum { SHOTS = 30, MOST = 12 };
    tally t = {0};
    for (int trial = 0; trial < 60 * wanted && t.contacts < wanted; ++trial) {
        stage s;
        stage_begin(&s, a, b, unit);
        const int dimension = perp_model_dimension(s.model);
        perpi_collider_set_rule(s.collider, perpi_contact_model_named(contact)->rule, NULL, 0);
        for (int shot = 0; shot < SHOTS; ++shot) {
            perpi_pose pose[2];
            for (int i = 0; i < 2; ++i) {
                const quat q = random_turn(dimension);
                vec3 x = random_vec(0.9 * unit);
                x.z = dimension == 2 ? 0 : x.z;
                pose[i] = pose_at(x, q);
            }
            find_contacts(&s, pose);
            double least = INFINITY;
            for (size_t i = 0; i < s.contacts.count; ++i) {
                least = fmin(least, s.contacts.item[i].gap);
            }
            if (s.contacts.count == 0 || least < -0.02 * unit) {
                continue;
            }
            perp_contact kept[MOST];
            const size_t count = s.contacts.count < MOST ? s.contacts.count : MOST;
            memcpy(kept, s.contacts.item, count * sizeof *kept);
            for (size_t i = 0; i < count; ++i) {
                compare_contact(&s, &kept[i], pose, &t);
            }
            break;
        }
        stage_end(&s);
    }
    if (getenv("PERP_TABLE") != NULL) {
        printf("| %s | %s | %s | %g | %d | %d | %d | %d | %.1e | %.1e | %s\n", perp_shape_name(a),
               perp_shape_name(b), contact, unit, t.contacts, t.refused, t.columns, t.skipped,
               t.worst, t.worst_frozen, t.message);
    }
    return t;
}

/* Pairs whose routine iterates to about 1e-9 of the size: differences of the collider have few digits. */
static bool is_iterated(perp_shape_type a, perp_shape_type b)
{
    const bool edges =
        a == PERP_SHAPE_BOX || a == PERP_SHAPE_POLYHEDRON || a == PERP_SHAPE_CYLINDER;
    return (edges && b == PERP_SHAPE_CYLINDER) ||
           (edges && (b == PERP_SHAPE_ELLIPSOID || b == PERP_SHAPE_SUPERQUADRIC));
}

/* Pairs whose groups have directions that are no feature's (choice.h). */
static bool has_choices(perp_shape_type a, perp_shape_type b)
{
    return a == PERP_SHAPE_CYLINDER || b == PERP_SHAPE_CYLINDER ||
           (b == PERP_SHAPE_CAPSULE && (a == PERP_SHAPE_BOX || a == PERP_SHAPE_POLYHEDRON));
}

static void check_pair(perp_shape_type a, perp_shape_type b, int number)
{
    static const char* const contact[2] = {"standard", "peg"};
    static const double unit[3] = {1.0, 1e-3, 1e3};
    const int wanted = getenv("PERP_TABLE") != NULL ? atoi(getenv("PERP_TABLE")) : 5;
    for (int k = 0; k < 2; ++k) {
        random_state = (uint64_t)(77 + number);
        const tally t = compare_pair(a, b, contact[k], unit[(number + k) % 3], wanted);
        CHECK_AT_LEAST(t.contacts, wanted);
        CHECK_AT_MOST(t.worst, is_iterated(a, b) ? 1e-3 : 1e-7);
        CHECK_AT_MOST(t.worst_frozen, 1e-7);
        CHECK_AT_MOST(t.skipped, 0.3 * t.columns);
        const double refused = !has_choices(a, b)                   ? 0.0
                               : k == 0 && b != PERP_SHAPE_CYLINDER ? 0.2
                                                                    : 1.0;
        CHECK_AT_MOST(t.refused, refused * t.contacts);
    }
}

TEST(derivatives_are_those_of_the_collider_for_every_pair_of_shapes)
{
    int number = 0;
    for (int a = 0; a < PERP_SHAPE_TYPE_COUNT; ++a) {
        for (int b = 0; b < PERP_SHAPE_TYPE_COUNT; ++b) {
            bool flipped;
            if (perpi_pair_find(false, (perp_shape_type)a, (perp_shape_type)b, &flipped) != NULL &&
                !flipped) {
                check_pair((perp_shape_type)a, (perp_shape_type)b, number++);
            }
        }
    }
}

TEST(the_order_of_the_bodies_does_not_matter)
{
    check_pair(PERP_SHAPE_SPHERE, PERP_SHAPE_BOX, 0);
    check_pair(PERP_SHAPE_POLYHEDRON, PERP_SHAPE_BOX, 1);
    check_pair(PERP_SHAPE_CIRCLE, PERP_SHAPE_POLYGON, 2);
    check_pair(PERP_SHAPE_POLYGON, PERP_SHAPE_BOX2, 3);
    check_pair(PERP_SHAPE_ELLIPSOID, PERP_SHAPE_PARTICLE, 4);
}

/* ---- other sizes ------------------------------------------------------------------------------------ */

/* The contact of a model whose shapes are a little larger, by its key, and the frozen one in that model. */
static int compare_sizes(perp_shape_type a, perp_shape_type b, uint64_t seed)
{
    stage s, larger;
    int compared = 0;
    random_state = seed;
    stage_begin(&s, a, b, 1.0);
    grow = 1.0 + 1e-5;
    random_state = seed;
    stage_begin(&larger, a, b, 1.0);
    grow = 1.0;
    const perpi_pose pose[2] = {pose_at(v3(0, 0, 0), random_turn(3)),
                                pose_at(random_vec(0.8), random_turn(3))};
    find_contacts(&s, pose);
    find_contacts(&larger, pose);
    for (size_t i = 0; i < s.contacts.count; ++i) {
        for (size_t k = 0; k < larger.contacts.count; ++k) {
            const perp_contact *c = &s.contacts.item[i], *d = &larger.contacts.item[k];
            perpi_frozen_contact frozen;
            perpi_contact_geometry g;
            if (c->key != d->key || c->gap < -0.02 ||
                perpi_contact_freeze(s.model, pose, c, &frozen) != PERP_OK) {
                continue;
            }
            CHECK_OK(perpi_frozen_at(larger.model, pose, &frozen, &g));
            CHECK_NEAR(g.gap, d->gap, 1e-9);
            CHECK_AT_MOST(v3_norm(v3_sub(g.normal, v3_from(d->normal))), 1e-7);
            CHECK_AT_MOST(v3_norm(v3_sub(g.point_a, v3_from(d->point))), 1e-7);
            CHECK_AT_LEAST(fabs(c->gap - d->gap), 1e-8); /* the sizes do matter */
            compared += 1;
        }
    }
    stage_end(&s);
    stage_end(&larger);
    return compared;
}

TEST(a_frozen_contact_is_that_of_the_collider_in_a_model_of_other_sizes)
{
    static const perp_shape_type pair[][2] = {
        {PERP_SHAPE_BOX, PERP_SHAPE_SPHERE},          {PERP_SHAPE_BOX, PERP_SHAPE_BOX},
        {PERP_SHAPE_POLYHEDRON, PERP_SHAPE_BOX},      {PERP_SHAPE_CAPSULE, PERP_SHAPE_BOX},
        {PERP_SHAPE_ELLIPSOID, PERP_SHAPE_ELLIPSOID}, {PERP_SHAPE_CYLINDER, PERP_SHAPE_SPHERE},
    };
    for (size_t i = 0; i < sizeof pair / sizeof pair[0]; ++i) {
        int compared = 0;
        for (uint64_t seed = 1; seed < 400 && compared < 3; ++seed) {
            compared += compare_sizes(pair[i][0], pair[i][1], 1000 * i + seed);
        }
        CHECK_AT_LEAST(compared, 3);
    }
}

/* ---- bodies at rest ----------------------------------------------------------------------------------- */

/* One shape, without an offset, on a larger box or plane, standing or lying, over its border or not. */
static int resting_contacts(perp_shape_type on, perp_shape_type type, bool lying, vec3 at,
                            const char* contact, int* refused, perpi_contact_derivative* last)
{
    stage s = {.unit = 1.0, .margin = {0.01, 0.01}};
    perp_model_def def = perp_model_def_default();
    CHECK_OK(perp_context_create(NULL, &s.context));
    CHECK_OK(perp_model_create(s.context, &def, &s.model));
    perp_shape_def one = perp_shape_def_default(on), two = perp_shape_def_default(type);
    one.normal[2] = 1;
    one.size[0] = one.size[1] = 2;
    one.size[2] = 1;
    one.offset = 0.5;
    two.radius = 0.3;
    two.length = 0.8;
    two.size[0] = two.size[1] = two.size[2] = 0.6;
    two.radii[0] = two.radii[1] = two.radii[2] = 0.3;
    add_shape_body(&s, "one", &one, false);
    add_shape_body(&s, "two", &two, true);
    CHECK_OK(perpi_collider_create(s.context, s.model, &s.collider));
    s.contacts.context = s.context;
    perpi_collider_set_rule(s.collider, perpi_contact_model_named(contact)->rule, NULL, 0);
    const quat q = lying ? q4_exp(v3(0, 1.5707963267948966, 0)) : q4_identity();
    const double high = lying || type == PERP_SHAPE_BOX || type == PERP_SHAPE_SPHERE ? 0.3
                        : type == PERP_SHAPE_CAPSULE                                 ? 0.7
                                                                                     : 0.4;
    at.z = 0.5 + (type == PERP_SHAPE_ELLIPSOID ? 0.3 : high);
    const perpi_pose pose[2] = {pose_at(v3(0, 0, 0), q4_identity()), pose_at(at, q)};
    find_contacts(&s, pose);
    const int count = (int)s.contacts.count;
    for (int i = 0; i < count; ++i) {
        *refused += perpi_contact_derivative_at(s.model, pose, &s.contacts.item[i], last) != PERP_OK
                        ? 1
                        : 0;
    }
    stage_end(&s);
    return count;
}

TEST(every_contact_of_a_body_that_rests_on_a_plane_or_a_box_has_a_derivative)
{
    static const perp_shape_type type[] = {PERP_SHAPE_BOX, PERP_SHAPE_SPHERE, PERP_SHAPE_CAPSULE,
                                           PERP_SHAPE_CYLINDER, PERP_SHAPE_ELLIPSOID};
    for (int i = 0; i < 5; ++i) {
        for (int k = 0; k < 16; ++k) {
            perpi_contact_derivative d;
            int refused = 0;
            const vec3 at = v3(k & 1 ? 0.9 : 0.1, k & 2 ? 0.95 : -0.2, 0);
            const int count =
                resting_contacts(k & 4 ? PERP_SHAPE_PLANE : PERP_SHAPE_BOX, type[i],
                                 i >= 2 && (k & 8), at, k & 8 ? "standard" : "peg", &refused, &d);
            CHECK_AT_LEAST(count, 1);
            CHECK_EQ_INT(refused, 0);
        }
    }
}

/* Four corners of the upper box over the face of the lower one: the normal belongs to the lower box. */
TEST(the_normal_of_flat_boxes_turns_with_the_box_that_has_the_face)
{
    perpi_contact_derivative d;
    int refused = 0;
    CHECK_EQ_INT(resting_contacts(PERP_SHAPE_BOX, PERP_SHAPE_BOX, false, v3(0, 0, 0), "standard",
                                  &refused, &d),
                 4);
    CHECK_EQ_INT(refused, 0);
    CHECK_NEAR(d.normal[1][3], -1.0, 1e-12); /* about x, of A */
    CHECK_NEAR(d.normal[0][4], 1.0, 1e-12);
    for (int k = 6; k < 12; ++k) {
        CHECK_NEAR(d.normal[0][k], 0.0, 1e-12);
        CHECK_NEAR(d.normal[1][k], 0.0, 1e-12);
    }
    CHECK_NEAR(d.gap[2], -1.0, 1e-12);
    CHECK_NEAR(d.gap[8], 1.0, 1e-12);
}

TEST(a_contact_that_is_no_pair_of_features_is_refused_by_name)
{
    stage s;
    random_state = 5;
    stage_begin(&s, PERP_SHAPE_SPHERE, PERP_SHAPE_SPHERE, 1.0);
    const perpi_pose pose[2] = {pose_at(v3(0, 0, 0), q4_identity()),
                                pose_at(v3(0.9, 0, 0), q4_identity())};
    const perp_contact contact = {.body_a = 0,
                                  .body_b = 1,
                                  .key = perpi_key_of(0, 1, 0),
                                  .point = {0.1, 0.2, 0.3},
                                  .normal = {0, 0, 1},
                                  .gap = 0.1};
    perpi_contact_derivative d;
    CHECK_EQ_INT(perpi_contact_derivative_at(s.model, pose, &contact, &d), PERP_ERROR_UNSUPPORTED);
    CHECK_CONTAINS(perp_context_error(s.context), "'one' (sphere) with 'two' (sphere)");
    stage_end(&s);
}
