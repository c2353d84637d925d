/* src/scene/mjcf_replicate.c - the copies that <replicate> stands for.
 *
 * Copy i of count is in a frame that is turned by i times `euler`, and moved by `offset` from the
 * frame of the copy before it, along the axes of that frame. Names get the suffix sep + i, with as
 * many digits as count has.
 */
#include <stdio.h>
#include <string.h>

#include "scene/mjcf.h"
#include "scene/reader.h"

/* Elements that all copies of a model have together. */
enum { MOST_COPIES = 100000 };

static perp_status copy_attributes(perpi_mjcf* m, const perpi_xml_attribute* from,
                                   const char* suffix, perpi_xml_attribute** to)
{
    for (; from != NULL; from = from->next) {
        perpi_xml_attribute* copy;
        PERPI_TRY(perpi_arena_take(m->arena, 1, sizeof *copy, &copy));
        *copy = *from;
        copy->next = NULL;
        if (strcmp(from->name, "name") == 0) {
            PERPI_TRY(perpi_mjcf_text(m, &copy->value, "%s%s", from->value, suffix));
        }
        *to = copy;
        to = &copy->next;
    }
    return PERP_OK;
}

/* The children of a node, with all below them. */
static perp_status copy_children(perpi_mjcf* m, const perpi_xml_node* from, const char* suffix,
                                 perpi_xml_node* to)
{
    to->child = to->last_child = NULL;
    for (const perpi_xml_node* c = from->child; c != NULL; c = c->next) {
        perpi_xml_node* copy;
        if (++m->copied > MOST_COPIES) {
            return perpi_mjcf_fail(m, from, "<replicate>: more than %d elements in all copies",
                                   MOST_COPIES);
        }
        PERPI_TRY(perpi_arena_take(m->arena, 1, sizeof *copy, &copy));
        *copy = *c;
        copy->next = NULL;
        copy->parent = to;
        copy->attribute = NULL;
        PERPI_TRY(copy_attributes(m, c->attribute, suffix, &copy->attribute));
        PERPI_TRY(copy_children(m, c, suffix, copy));
        if (to->last_child != NULL) {
            to->last_child->next = copy;
        } else {
            to->child = copy;
        }
        to->last_child = copy;
    }
    return PERP_OK;
}

/* The rotation of copy i, by the rules of the file for angles and their sequence. */
static perp_status turn_of(perpi_mjcf* m, const perpi_xml_node* node, const double euler[3], int i,
                           perpi_pose* pose)
{
    const char* text;
    PERPI_TRY(
        perpi_mjcf_text(m, &text, "%.17g %.17g %.17g", i * euler[0], i * euler[1], i * euler[2]));
    perpi_xml_attribute turned = {.name = "euler", .value = text, .line = node->line};
    perpi_xml_node frame = *node;
    frame.attribute = &turned;
    const perpi_mjcf_element e = {.node = &frame, .kind = "frame", .level = -1};
    return perpi_mjcf_pose(m, &e, pose);
}

perp_status perpi_mjcf_replicate(perpi_mjcf* m, const perpi_xml_node* node,
                                 perp_status (*read)(void* user, const perpi_xml_node* copy,
                                                     const perpi_pose* pose),
                                 void* user)
{
    static const char* const known[] = {"count", "sep", "offset", "euler", "childclass", NULL};
    static const char* const none[] = {NULL};
    const perpi_mjcf_element e = {.node = node, .kind = "frame", .level = -1};
    double count = 0.0, offset[3] = {0, 0, 0}, euler[3] = {0, 0, 0};
    int32_t given = 0;
    PERPI_TRY(perpi_mjcf_check(m, node, known, NULL, none));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "count", 1, 1, &count, &given));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "offset", 3, 3, offset, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "euler", 3, 3, euler, NULL));
    const char* sep = perpi_xml_get(node, "sep");
    if (given == 0 || !(count >= 1.0) || !(count <= 10000.0) || count != (double)(int)count) {
        return perpi_mjcf_fail(m, node,
                               "<replicate> count: must be a whole number from 1 to 10000");
    }
    const int digits = snprintf(NULL, 0, "%d", (int)count);
    vec3 at = v3(0, 0, 0);
    for (int i = 0; i < (int)count; ++i) {
        const char* suffix;
        perpi_pose pose;
        perpi_xml_node* copy;
        PERPI_TRY(perpi_mjcf_text(m, &suffix, "%.40s%0*d", sep != NULL ? sep : "", digits, i));
        PERPI_TRY(perpi_arena_take(m->arena, 1, sizeof *copy, &copy));
        *copy = *node;
        copy->name = "frame";
        PERPI_TRY(copy_children(m, node, suffix, copy));
        PERPI_TRY(turn_of(m, node, euler, i, &pose));
        pose.x = at;
        PERPI_TRY(read(user, copy, &pose));
        at = v3_add(at, m3_mul(pose.R, v3_from(offset)));
    }
    return PERP_OK;
}
