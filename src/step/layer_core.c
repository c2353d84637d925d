/* src/step/layer_core.c - see layer_core.h. */
#include "step/layer_core.h"

#include <float.h>
#include <math.h>

#include "collide/crossing.h"

/* Relative: residual that a solver may leave in the row of a core. */
static const double BEYOND = 1e-6;

/* The part of half of the thickness that is soft. The rest keeps two soft bodies away from the
 * position at which each contains the other's middle, where the sides are not defined. */
static const double YIELDS = 0.9;

/* Largest possible compression of a shape: 0 for a particle, INFINITY for an unbounded shape. */
static double soft_depth(const perpi_shape* shape)
{
    return perpi_shape_ops_of(shape->type)->bounded ? YIELDS * 0.5 * perpi_shape_thickness(shape)
                                                    : INFINITY;
}

/* Largest compression of the layer of one body; 0 for a particle without a limit. */
static double own_depth(const perpi_layer* layer, const perpi_shape* own)
{
    return !layer->soft ? 0.0 : isfinite(layer->limit) ? layer->limit : soft_depth(own);
}

double perpi_layer_core_depth(const perp_model* model, const perp_contact* c)
{
    const perpi_layer pair = perpi_model_layer(model, c->body_a, c->body_b);
    if (!pair.soft || isfinite(pair.limit) || pair.patch > 0.0) {
        return pair.soft ? pair.limit : INFINITY;
    }
    const perpi_body *A = &model->body[c->body_a], *B = &model->body[c->body_b];
    int32_t a = (int32_t)(perpi_key_shape_a(c->key)), b = (int32_t)(perpi_key_shape_b(c->key));
    if (a < A->shape || a >= A->shape + A->shape_count) { /* contacts of the side check */
        const int32_t swap = a;
        a = b;
        b = swap;
    }
    const perpi_shape *one = &model->shape[a], *two = &model->shape[b];
    double depth = own_depth(&A->layer, one) + own_depth(&B->layer, two);
    if (!(soft_depth(one) > 0.0) || !(soft_depth(two) > 0.0)) { /* a particle: that of both */
        depth = fmax(depth, soft_depth(one) + soft_depth(two));
    }
    return depth > c->layer.start[0] ? depth : c->layer.start[0];
}

bool perpi_layer_has_core(const perp_model* model, const perp_contact* c)
{
    return c->layer.core > 0.0 || isfinite(perpi_model_layer(model, c->body_a, c->body_b).limit);
}

bool perpi_layers_press(const perpi_formulation* f, const perp_model* model, perp_contact* contacts)
{
    bool any = false;
    for (int32_t i = 0; i < f->layer_count; ++i) {
        perp_contact* c = &contacts[f->layer[i].contact];
        if (f->layer[i].core_row < 0 &&
            c->layer.end[0] > (1.0 + BEYOND) * perpi_layer_core_depth(model, c)) {
            c->layer.core = DBL_MIN; /* adds the row; the next solution has its impulse */
            any = true;
        }
    }
    return any;
}
