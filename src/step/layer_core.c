/* src/step/layer_core.c - see layer_core.h. */
#include "step/layer_core.h"

#include <float.h>
#include <math.h>

#include "collide/crossing.h"

/* Relative: what a solver may leave of the row of a core. */
static const double BEYOND = 1e-6;

/* Half of the thickness; of a particle 0, of what has no other side INFINITY. */
static double half_thickness(const perpi_shape* shape)
{
    return perpi_shape_ops_of(shape->type)->bounded ? 0.5 * perpi_shape_thickness(shape) : INFINITY;
}

/* How deep the layer of one body can be pressed in, given the shape that presses. */
static double own_depth(const perpi_layer* layer, const perpi_shape* own, const perpi_shape* other)
{
    if (!layer->soft || isfinite(layer->limit)) {
        return layer->soft ? layer->limit : 0.0;
    }
    const double half = half_thickness(own);
    return half > 0.0 ? half : half_thickness(other);
}

double perpi_layer_core_depth(const perp_model* model, const perp_contact* c)
{
    const perpi_layer pair = perpi_model_layer(model, c->body_a, c->body_b);
    if (!pair.soft || isfinite(pair.limit) || pair.patch > 0.0) {
        return pair.soft ? pair.limit : INFINITY;
    }
    const perpi_body *A = &model->body[c->body_a], *B = &model->body[c->body_b];
    int32_t a = (int32_t)(c->key >> 44), b = (int32_t)(c->key >> 24 & 0xFFFFF);
    if (a < A->shape || a >= A->shape + A->shape_count) { /* contacts of the side check */
        const int32_t swap = a;
        a = b;
        b = swap;
    }
    const perpi_shape *one = &model->shape[a], *two = &model->shape[b];
    const double depth = own_depth(&A->layer, one, two) + own_depth(&B->layer, two, one);
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
            c->layer.core = DBL_MIN; /* asks for the row; the next answer has its impulse */
            any = true;
        }
    }
    return any;
}
