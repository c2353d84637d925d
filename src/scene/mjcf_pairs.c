/* src/scene/mjcf_pairs.c - which bodies of an MJCF model collide, and their friction. See mjcf.h.
 *
 * The format decides for each pair of geoms, a scene for each pair of bodies: two bodies ignore each
 * other if no pair of their geoms may collide. The friction of a pair of geoms is the larger of the two,
 * or that of the geom with the higher priority.
 */
#include <stdio.h>
#include <string.h>

#include "scene/mjcf.h"
#include "scene/reader.h"

/* A <pair> or <exclude>: of geoms, or of bodies. */
typedef struct named_pair {
    int32_t a, b;
    double friction; /* NaN: that of the geoms */
} named_pair;

typedef struct pairs {
    perpi_mjcf* m;
    named_pair *pair, *exclude;
    perpi_mjcf_list pair_list, exclude_list;
} pairs;

static bool is_pair(const named_pair* p, int32_t a, int32_t b)
{
    return (p->a == a && p->b == b) || (p->a == b && p->b == a);
}

static perp_status find_geom(const perpi_mjcf* m, const perpi_mjcf_element* e, const char* key,
                             int32_t* index)
{
    const char* name;
    PERPI_TRY(perpi_mjcf_need(m, e, key, &name));
    for (size_t i = 0; i < m->geoms.count; ++i) {
        if (m->geom[i].name != NULL && strcmp(m->geom[i].name, name) == 0) {
            *index = (int32_t)i;
            return PERP_OK;
        }
    }
    return perpi_mjcf_fail(m, e->node, "<pair> %s: there is no geom '%s'", key, name);
}

static perp_status read_pair(pairs* p, const perpi_mjcf_element* e)
{
    static const char* const read[] = {"name",   "class",    "geom1", "geom2",
                                       "condim", "friction", NULL};
    static const char* const soft[] = {"solref", "solimp", "margin", "gap", "solreffriction", NULL};
    perpi_mjcf* m = p->m;
    double friction[5] = {NAN};
    int32_t condim = 3;
    PERPI_TRY(perpi_mjcf_check(m, e->node, read, soft, NULL));
    PERPI_TRY(perpi_mjcf_append(m, &p->pair, &p->pair_list, sizeof *p->pair));
    named_pair* made = &p->pair[p->pair_list.count - 1];
    PERPI_TRY(find_geom(m, e, "geom1", &made->a));
    PERPI_TRY(find_geom(m, e, "geom2", &made->b));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "friction", 1, 5, friction, NULL));
    PERPI_TRY(perpi_mjcf_integer(m, e, "condim", &condim));
    made->friction = condim == 1 ? 0.0 : friction[0];
    return PERP_OK;
}

static perp_status read_exclude(pairs* p, const perpi_mjcf_element* e)
{
    perpi_mjcf* m = p->m;
    const char* const key[] = {"body1", "body2"};
    int32_t body[2];
    for (int i = 0; i < 2; ++i) {
        const char* name;
        PERPI_TRY(perpi_mjcf_need(m, e, key[i], &name));
        body[i] = perpi_mjcf_find_body(m, name);
        if (body[i] < 0) {
            return perpi_mjcf_fail(m, e->node, "<exclude> %s: there is no body '%s'", key[i], name);
        }
    }
    PERPI_TRY(perpi_mjcf_append(m, &p->exclude, &p->exclude_list, sizeof *p->exclude));
    p->exclude[p->exclude_list.count - 1] = (named_pair){.a = body[0], .b = body[1]};
    return PERP_OK;
}

static perp_status read_contact(pairs* p)
{
    perpi_mjcf* m = p->m;
    for (const perpi_xml_node* s = perpi_mjcf_section(m, "contact", NULL); s != NULL;
         s = perpi_mjcf_section(m, "contact", s)) {
        for (const perpi_xml_node* c = s->child; c != NULL; c = c->next) {
            perpi_mjcf_element e;
            PERPI_TRY(perpi_mjcf_element_of(m, c, "pair", 0, &e));
            if (strcmp(c->name, "pair") == 0) {
                PERPI_TRY(read_pair(p, &e));
            } else if (strcmp(c->name, "exclude") == 0) {
                PERPI_TRY(read_exclude(p, &e));
            } else {
                return perpi_mjcf_fail(m, c, "<contact>: <%s> is not supported", c->name);
            }
        }
    }
    return PERP_OK;
}

/* ---- pairs of geoms ----------------------------------------------------------------------------- */

static int32_t parent_host(const perpi_mjcf* m, int32_t host)
{
    return host == 0 ? -1 : m->body[m->body[host].parent].host;
}

static int32_t tree_of(const perpi_mjcf* m, int32_t body)
{
    while (body > 0 && m->body[body].parent != 0) {
        body = m->body[body].parent;
    }
    return body;
}

static const named_pair* named(const pairs* p, int32_t g, int32_t h)
{
    for (size_t i = 0; i < p->pair_list.count; ++i) {
        if (is_pair(&p->pair[i], g, h)) {
            return &p->pair[i];
        }
    }
    return NULL;
}

static bool bodies_may(const pairs* p, int32_t a, int32_t b)
{
    const perpi_mjcf* m = p->m;
    for (size_t i = 0; i < p->exclude_list.count; ++i) {
        if (is_pair(&p->exclude[i], a, b)) {
            return false;
        }
    }
    const int32_t x = m->body[a].host, y = m->body[b].host;
    const bool related = x != 0 && y != 0 && (parent_host(m, x) == y || parent_host(m, y) == x);
    return !related && !(m->options->no_self_collision && tree_of(m, a) == tree_of(m, b));
}

static bool may_meet(const pairs* p, int32_t g, int32_t h)
{
    const perpi_mjcf* m = p->m;
    const perpi_mjcf_geom *a = &m->geom[g], *b = &m->geom[h];
    if (m->body[a->body].host == m->body[b->body].host || m->no_contact) {
        return false;
    }
    if (named(p, g, h) != NULL) {
        return true;
    }
    const bool masks = ((a->contype & b->conaffinity) | (b->contype & a->conaffinity)) != 0;
    return masks && bodies_may(p, a->body, b->body);
}

static double friction_of(const pairs* p, int32_t g, int32_t h)
{
    const perpi_mjcf_geom *a = &p->m->geom[g], *b = &p->m->geom[h];
    const named_pair* own = named(p, g, h);
    if (own != NULL && !isnan(own->friction)) {
        return own->friction;
    }
    const bool first = a->priority > b->priority, second = b->priority > a->priority;
    const int32_t condim = first                   ? a->condim
                           : second                ? b->condim
                           : a->condim > b->condim ? a->condim
                                                   : b->condim;
    const double mu = first    ? a->friction
                      : second ? b->friction
                               : perpi_larger(a->friction, b->friction);
    return condim == 1 ? 0.0 : mu;
}

perp_status perpi_mjcf_tangible(perpi_mjcf* m)
{
    pairs p = {.m = m};
    PERPI_TRY(read_contact(&p));
    for (size_t g = 0; g < m->geoms.count; ++g) {
        for (size_t h = 0; h < g; ++h) {
            if (!(m->geom[g].tangible && m->geom[h].tangible) &&
                may_meet(&p, (int32_t)g, (int32_t)h)) {
                m->geom[g].tangible = m->geom[h].tangible = true;
            }
        }
    }
    return PERP_OK;
}

/* ---- pairs of bodies ---------------------------------------------------------------------------- */

/* The entry of two bodies of the scene. */
typedef struct meeting {
    bool any, refused;  /* some of their geoms may meet, some may not */
    double least, most; /* friction */
} meeting;

static meeting compare(const pairs* p, const int32_t* first, int32_t a, int32_t b)
{
    meeting t = {.least = INFINITY, .most = -INFINITY};
    for (int32_t i = first[a]; i < first[a + 1]; ++i) {
        for (int32_t k = first[b]; k < first[b + 1]; ++k) {
            const int32_t g = first[p->m->bodies.count + 1 + (size_t)i],
                          h = first[p->m->bodies.count + 1 + (size_t)k];
            if (!p->m->geom[g].tangible || !p->m->geom[h].tangible) {
                continue;
            }
            if (!may_meet(p, g, h)) {
                t.refused = true;
                continue;
            }
            const double mu = friction_of(p, g, h);
            t.any = true;
            t.least = mu < t.least ? mu : t.least;
            t.most = mu > t.most ? mu : t.most;
        }
    }
    return t;
}

static double body_friction(const perpi_mjcf* m, const int32_t* first, int32_t body)
{
    double most = -1.0;
    for (int32_t i = first[body]; i < first[body + 1]; ++i) {
        const perpi_mjcf_geom* geom = &m->geom[first[m->bodies.count + 1 + (size_t)i]];
        most = geom->tangible && geom->friction > most ? geom->friction : most;
    }
    return most >= 0.0 ? most : 1.0;
}

/* Geoms by the body of the scene that has them: where each body's begin, then the geoms. */
static perp_status sort_geoms(perpi_mjcf* m, int32_t** sorted)
{
    const size_t bodies = m->bodies.count;
    int32_t* first = NULL;
    PERPI_TRY(perpi_arena_take(m->arena, bodies + 1 + m->geoms.count, sizeof *first, &first));
    int32_t at = 0;
    for (size_t b = 0; b < bodies; ++b) {
        first[b] = at;
        for (size_t i = 0; i < m->geoms.count && m->body[b].json != NULL; ++i) {
            const int32_t own = m->geom[i].body, host = m->body[own].host;
            if ((host == 0 ? own : host) == (int32_t)b) {
                first[bodies + 1 + (size_t)at++] = (int32_t)i;
            }
        }
    }
    first[bodies] = at;
    *sorted = first;
    return PERP_OK;
}

static perp_status write_pair(pairs* p, const int32_t* first, int32_t a, int32_t b, json_t* list)
{
    perpi_mjcf* m = p->m;
    json_t *x = m->body[a].json, *y = m->body[b].json;
    const meeting t = compare(p, first, a, b);
    if (!t.any) {
        if (!t.refused) {
            return PERP_OK; /* nothing to meet with */
        }
        json_t* ignores = json_object_get(x, "ignores");
        int failed = 0;
        if (ignores == NULL) {
            ignores = json_array();
            failed |= json_object_set_new(x, "ignores", ignores);
        }
        failed |= failed == 0 ? json_array_append(ignores, json_object_get(y, "name")) : 0;
        return failed == 0 ? PERP_OK : perpi_mjcf_memory(m);
    }
    const char *from = json_string_value(json_object_get(x, "name")),
               *to = json_string_value(json_object_get(y, "name"));
    if (t.refused) {
        perpi_mjcf_note(
            m->approximate, sizeof m->approximate,
            "of some pairs of bodies the masks let only some geoms meet: all of them do");
    }
    if (t.least != t.most) {
        perpi_mjcf_note(m->approximate, sizeof m->approximate,
                        "of some pairs of bodies the geoms differ in friction: the largest counts");
    }
    const double product = body_friction(m, first, a) * body_friction(m, first, b);
    if (fabs(product - t.most * t.most) <= 1e-12 * product) {
        return PERP_OK;
    }
    json_t* entry = json_pack("{s:s, s:s, s:f}", "a", from, "b", to, "mu", t.most);
    return entry != NULL && json_array_append_new(list, entry) == 0 ? PERP_OK
                                                                    : perpi_mjcf_memory(m);
}

perp_status perpi_mjcf_pairs(perpi_mjcf* m)
{
    pairs p = {.m = m};
    int32_t* first = NULL;
    const int32_t count = (int32_t)m->bodies.count;
    json_t *friction = json_object_get(m->scene, "friction"), *list = json_array();
    PERPI_TRY(list != NULL && json_object_set_new(friction, "pairs", list) == 0
                  ? PERP_OK
                  : perpi_mjcf_memory(m));
    PERPI_TRY(read_contact(&p));
    PERPI_TRY(sort_geoms(m, &first));
    for (int32_t a = 0; a < count; ++a) {
        const double mu = m->body[a].json != NULL ? body_friction(m, first, a) : 1.0;
        if (mu != 1.0 && json_object_set_new(m->body[a].json, "friction", json_real(mu)) != 0) {
            return perpi_mjcf_memory(m);
        }
        for (int32_t b = 0; b < a && m->body[a].json != NULL; ++b) {
            const bool both_static = m->body[a].host == 0 && m->body[b].host == 0;
            if (m->body[b].json != NULL && !both_static) {
                PERPI_TRY(write_pair(&p, first, a, b, list));
            }
        }
    }
    if (json_array_size(list) == 0) {
        (void)json_object_del(friction, "pairs");
    }
    return PERP_OK;
}
