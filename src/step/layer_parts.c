/* src/step/layer_parts.c - see layer_parts.h. */
#include "step/layer_parts.h"

#include "collide/collide.h"

perpi_layer perpi_layer_of(const perp_model* model, const perp_contact* c)
{
    perpi_layer layer = perpi_model_layer(model, c->body_a, c->body_b);
    if (c->layer.part != 1.0) {
        for (int i = 0; i < 9; ++i) {
            layer.K.m[i / 3][i % 3] *= c->layer.part;
            layer.C.m[i / 3][i % 3] *= c->layer.part;
        }
    }
    return layer;
}

double perpi_layer_stored(const perp_model* model, const perp_contact* c,
                          const double deflection[3])
{
    const vec3 d = v3_from(deflection);
    return 0.5 * v3_dot(d, m3_mul(perpi_layer_of(model, c).K, d));
}

/* The part of the pair's springs in last, which has the keys from `from` on; energy: what they stored. */
static double last_part(const perp_model* model, const perp_contact* last, int32_t count,
                        uint64_t key, int32_t* from, double* energy)
{
    double part = 1.0;
    *energy = 0.0;
    while (*from < count && last[*from].key >> 24 < key >> 24) {
        *from += 1;
    }
    for (int32_t i = *from; i < count && perpi_key_same_shapes(last[i].key, key); ++i) {
        if (last[i].layer.theta > 0.0) {
            *energy += perpi_layer_stored(model, &last[i], last[i].layer.end);
            part = last[i].layer.part;
        }
    }
    return part;
}

/* Whether one of the contacts is compressed, but was not there in the last step. */
static bool any_appears(const perp_contact* last, int32_t last_count, int32_t from,
                        const perp_contact* contact, int32_t begin, int32_t end)
{
    for (int32_t i = begin; i < end; ++i) {
        while (from < last_count && last[from].key < contact[i].key) {
            from += 1;
        }
        const bool known = from < last_count && last[from].key == contact[i].key;
        if (!known && contact[i].layer.start[0] > 0.0) {
            return true;
        }
    }
    return false;
}

void perpi_layers_set_parts(const perp_model* model, const perp_contact* last, int32_t last_count,
                            perp_contact* contact, int32_t count)
{
    int32_t old = 0;
    for (int32_t begin = 0, end; begin < count; begin = end) {
        double stored = 0.0, whole = 0.0, points = 0.0;
        for (end = begin + 1; end < count; ++end) {
            if (!perpi_key_same_shapes(contact[end].key, contact[begin].key)) {
                break;
            }
        }
        double part = last_part(model, last, last_count, contact[begin].key, &old, &stored);
        for (int32_t i = begin; i < end; ++i) {
            contact[i].layer.part = contact[i].layer.theta > 0.0 ? 1.0 : 0.0;
            if (contact[i].layer.theta > 0.0 && contact[i].layer.start[0] > 0.0) {
                whole += perpi_layer_stored(model, &contact[i], contact[i].layer.start);
                points += 1.0;
            }
        }
        if (!(stored > 0.0) || !(whole > 0.0)) {
            part = 1.0; /* nothing to keep */
        } else if (part != 1.0 || any_appears(last, last_count, old, contact, begin, end)) {
            part = stored / whole;
            part = part * points < 1.0 ? 1.0 / points : part;
            part = part > 1.0 ? 1.0 : part;
        }
        for (int32_t i = begin; i < end; ++i) {
            contact[i].layer.part *= part;
        }
    }
}
