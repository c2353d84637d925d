/* src/shape/piece_cache.h - convex pieces of meshes, kept under the user's cache folder.
 *
 * A decomposition takes seconds for a thousand faces and depends on vertices and faces only. The
 * folder is PERP_CACHE (empty: nothing is kept), else XDG_CACHE_HOME/perp, else HOME/.cache/perp. A
 * file has the bytes of the pieces and a hash of them; one that is damaged, of another version or
 * of another machine is ignored and written anew. Nothing here fails: without a cache the pieces
 * are computed.
 */
#ifndef PERPI_PIECE_CACHE_H
#define PERPI_PIECE_CACHE_H

#include "shape/polyhedron.h"

/* Whether the pieces were there. */
bool perpi_piece_cache_read(perp_context* context, const perp_shape_def* def,
                            perpi_polyhedron*** pieces, int32_t* count);
void perpi_piece_cache_write(const perp_shape_def* def, perpi_polyhedron* const* pieces,
                             int32_t count);

#endif
