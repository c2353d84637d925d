/* src/contact/rules.h - the candidate rules of the contact models. */
#ifndef PERPI_CONTACT_RULES_H
#define PERPI_CONTACT_RULES_H

#include "collide/collide.h"

PERP_NODISCARD perp_status perpi_lnc_polygons(struct perpi_polygon_meeting* m,
                                              const struct perpi_feature_pair* best);
PERP_NODISCARD perp_status perpi_peg_polygons(struct perpi_polygon_meeting* m,
                                              const struct perpi_feature_pair* best);
PERP_NODISCARD perp_status perpi_lnc_polyhedra(struct perpi_polyhedron_answer* a);
PERP_NODISCARD perp_status perpi_peg_polyhedra(struct perpi_polyhedron_answer* a);
bool perpi_flat_prisms(struct perpi_polyhedron_answer* a);

/* Grouped by vertex: one of the faces near it must hold [W14 (4.2)-(4.5)]. */
extern const perpi_candidate_rule perpi_rule_lnc;
/* Grouped so that the bodies are apart exactly if every group holds. */
extern const perpi_candidate_rule perpi_rule_peg;

#endif
