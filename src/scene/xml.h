/* src/scene/xml.h - elements and attributes of an XML file as a tree, with the line of each.
 *
 * Read by expat. Comments and processing instructions are skipped; text is kept of elements without
 * children (the arrays of a COLLADA file). A document type is refused, so that no entity is read from it or
 * from another file; depth, size and the length of names are limited.
 */
#ifndef PERPI_XML_H
#define PERPI_XML_H

#include "base/arena.h"

enum {
    PERPI_XML_SIZE_LIMIT = 64 * 1024 * 1024, /* bytes */
    PERPI_XML_NESTING_LIMIT = 64,
    PERPI_XML_NAME_LIMIT = 200, /* bytes */
};

typedef struct perpi_xml_attribute {
    const char* name;
    const char* value; /* UTF-8, entities resolved */
    int32_t line;
    struct perpi_xml_attribute* next;
} perpi_xml_attribute;

typedef struct perpi_xml_node {
    const char* name;
    int32_t line;
    perpi_xml_attribute* attribute; /* in order */
    const char* text;               /* of an element without children; NULL: none but spaces */
    struct perpi_xml_node *child, *last_child, *next, *parent;
} perpi_xml_node;

/* The root element; everything lives in the arena. PERP_ERROR_INPUT: "ORIGIN: line N: ...". */
PERP_NODISCARD perp_status perpi_xml_parse(perp_context* context, const char* text, size_t length,
                                           const char* origin, perpi_arena* arena,
                                           const perpi_xml_node** root);

/* The attribute's value, or NULL. */
const char* perpi_xml_get(const perpi_xml_node* node, const char* name);
/* The first child of that name, or NULL; `after` continues behind one that was found. */
const perpi_xml_node* perpi_xml_child(const perpi_xml_node* node, const char* name);
const perpi_xml_node* perpi_xml_next(const perpi_xml_node* after, const char* name);

#endif
