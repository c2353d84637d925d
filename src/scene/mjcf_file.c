/* src/scene/mjcf_file.c - files, classes of defaults and attributes of MJCF. See mjcf.h. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "scene/mjcf.h"
#include "scene/reader.h"

/* Of a number in a file: products of several stay finite; below 1 / LARGEST^2 it is 0. */
static const double LARGEST = 1e40;
static const double DEGREE = 0.017453292519943295;

/* ---- messages and memory ------------------------------------------------------------------------ */

const char* perpi_mjcf_origin(const perpi_mjcf* m, const perpi_xml_node* node)
{
    while (node->parent != NULL) {
        node = node->parent;
    }
    for (int32_t i = 0; i < m->file_count; ++i) {
        if (m->file[i].root == node) {
            return m->file[i].origin;
        }
    }
    return m->origin;
}

perp_status perpi_mjcf_fail(const perpi_mjcf* m, const perpi_xml_node* node, const char* format,
                            ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return perpi_fail(m->context, PERP_ERROR_INPUT, "%s: line %d: %s", perpi_mjcf_origin(m, node),
                      (int)node->line, message);
}

perp_status perpi_mjcf_memory(const perpi_mjcf* m)
{
    return perpi_fail(m->context, PERP_ERROR_MEMORY, "%s: out of memory", m->origin);
}

perp_status perpi_mjcf_append(perpi_mjcf* m, void* array, perpi_mjcf_list* list, size_t size)
{
    void* old;
    memcpy(&old, array, sizeof old);
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        void* grown = NULL;
        PERPI_TRY(perpi_arena_take(m->arena, capacity, size, &grown));
        if (list->count > 0) {
            memcpy(grown, old, list->count * size);
        }
        memcpy(array, &grown, sizeof grown);
        list->capacity = capacity;
        old = grown;
    }
    memset((char*)old + list->count * size, 0, size);
    list->count++;
    return PERP_OK;
}

perp_status perpi_mjcf_text(perpi_mjcf* m, const char** text, const char* format, ...)
{
    char buffer[2048];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    const size_t size = n < 0 ? 1 : (size_t)n < sizeof buffer ? (size_t)n + 1 : sizeof buffer;
    char* made = NULL;
    buffer[size - 1] = '\0';
    PERPI_TRY(perpi_arena_take(m->arena, size, 1, &made));
    memcpy(made, buffer, size);
    *text = made;
    return PERP_OK;
}

void perpi_mjcf_note(char* list, size_t size, const char* word)
{
    const size_t used = strlen(list), length = strlen(word);
    for (const char* s = strstr(list, word); s != NULL; s = strstr(s + 1, word)) {
        const bool begins = s == list || s[-1] == ' ';
        if (begins && (s[length] == ',' || s[length] == '\0')) {
            return;
        }
    }
    if (used + length + 6 < size) {
        snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", word);
    } else if (used + 5 < size && (used < 3 || strcmp(list + used - 3, "...") != 0)) {
        snprintf(list + used, size - used, ", ...");
    }
}

/* ---- files -------------------------------------------------------------------------------------- */

bool perpi_is_mjcf(const char* text, size_t length)
{
    char narrow[4096]; /* of UTF-16, which begins with the mark FE FF or FF FE */
    const unsigned char* byte = (const unsigned char*)text;
    if (length >= 2 && byte[0] + byte[1] == 0xFE + 0xFF && (byte[0] == 0xFE || byte[0] == 0xFF)) {
        const size_t low = byte[0] == 0xFE ? 1 : 0;
        size_t n = 0;
        for (size_t i = 2; i + 1 < length && n < sizeof narrow; i += 2) {
            narrow[n++] = text[i + 1 - low] == 0 ? text[i + low] : '?';
        }
        text = narrow;
        length = n;
    }
    for (size_t i = 0; i + 7 < length; ++i) {
        if (text[i] != '<') {
            continue;
        }
        if (strncmp(text + i, "<!--", 4) == 0) { /* i + 7 < length */
            while (i + 2 < length && strncmp(text + i, "-->", 3) != 0) {
                ++i;
            }
        } else if (text[i + 1] != '?' && text[i + 1] != '!') {
            return strncmp(text + i, "<mujoco", 7) == 0;
        }
    }
    return false;
}

static perp_status parse_file(perpi_mjcf* m, const char* text, size_t length, const char* origin,
                              const perpi_xml_node** root)
{
    const perpi_xml_node* parsed = NULL;
    PERPI_TRY(perpi_xml_parse(m->context, text, length, origin, m->arena, &parsed));
    m->file[m->file_count].root = parsed;
    m->file[m->file_count++].origin = origin;
    *root = parsed;
    return PERP_OK;
}

/* Reads an included file. Its name is seen from the folder of the main file. */
static perp_status read_included(perpi_mjcf* m, const perpi_xml_node* include,
                                 const perpi_xml_node** root)
{
    const char* name = perpi_xml_get(include, "file");
    if (name == NULL || name[0] == '\0') {
        return perpi_mjcf_fail(m, include, "<include> needs the attribute 'file'");
    }
    char *path = NULL, *text = NULL;
    size_t length = 0;
    const char* origin = NULL;
    PERPI_TRY(perpi_file_beside(m->context, m->origin, name, &path));
    perp_status status = perpi_mjcf_text(m, &origin, "%s", path);
    perpi_free(m->context, path);
    for (int32_t i = 0; i < m->file_count && status == PERP_OK; ++i) {
        if (strcmp(m->file[i].origin, origin) == 0) {
            return perpi_mjcf_fail(m, include, "<include>: '%s' is included a second time", name);
        }
    }
    if (status == PERP_OK && m->file_count == PERPI_MJCF_FILE_LIMIT) {
        return perpi_mjcf_fail(m, include, "<include>: more than %d files", PERPI_MJCF_FILE_LIMIT);
    }
    if (status == PERP_OK) {
        status = perpi_file_read(m->context, origin, PERPI_XML_SIZE_LIMIT, &text, &length);
        if (status == PERP_ERROR_INPUT) {
            char message[900];
            snprintf(message, sizeof message, "%s", perp_context_error(m->context));
            status = perpi_mjcf_fail(m, include, "<include>: %s", message);
        }
    }
    if (status == PERP_OK) {
        status = parse_file(m, text, length, origin, root);
    }
    perpi_free(m->context, text);
    return status;
}

/* Puts the children of included files in the place of <include>. They keep their parent, the root of
 * their file, from which messages take the file's name. */
static perp_status splice(perpi_mjcf* m, perpi_xml_node* node, int depth)
{
    if (depth > PERPI_XML_NESTING_LIMIT) {
        return perpi_mjcf_fail(m, node, "more than %d levels", PERPI_XML_NESTING_LIMIT);
    }
    perpi_xml_node** link = &node->child;
    while (*link != NULL) {
        perpi_xml_node* c = *link;
        if (strcmp(c->name, "include") != 0) {
            PERPI_TRY(splice(m, c, depth + 1));
            link = &c->next;
            continue;
        }
        const perpi_xml_node* root = NULL;
        PERPI_TRY(read_included(m, c, &root));
        perpi_xml_node* after = c->next;
        *link = root->child; /* nested includes are met next */
        if (root->child != NULL) {
            perpi_xml_node* last = root->child;
            while (last->next != NULL) {
                last = last->next;
            }
            last->next = after;
        } else {
            *link = after;
        }
    }
    return PERP_OK;
}

/* ---- classes ------------------------------------------------------------------------------------ */

perp_status perpi_mjcf_find_class(const perpi_mjcf* m, const perpi_xml_node* node, const char* name,
                                  int32_t* level)
{
    const char* known[64] = {0};
    for (size_t i = 0; i < m->levels.count; ++i) {
        if (strcmp(m->level[i].name, name) == 0) {
            *level = (int32_t)i;
            return PERP_OK;
        }
        if (i < 63) {
            known[i] = m->level[i].name;
        }
    }
    const char* near = perpi_nearest(name, known);
    return perpi_mjcf_fail(m, node, "<%s>: there is no class '%s'%s%s%s", node->name, name,
                           near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                           near != NULL ? "'?" : "");
}

/* Settings of softness in defaults. */
static void note_soft(perpi_mjcf* m, const perpi_xml_node* node)
{
    static const char* const soft[] = {
        "solref",      "solimp",      "solmix",         "margin",        "gap",
        "solreflimit", "solimplimit", "solreffriction", "solimpfriction"};
    for (const perpi_xml_node* c = node->child; c != NULL; c = c->next) {
        for (size_t i = 0; i < sizeof soft / sizeof soft[0]; ++i) {
            if (perpi_xml_get(c, soft[i]) != NULL) {
                perpi_mjcf_note(m->soft, sizeof m->soft, soft[i]);
            }
        }
    }
}

static perp_status read_class(perpi_mjcf* m, const perpi_xml_node* node, int32_t parent)
{
    const char* name = perpi_xml_get(node, "class");
    if (name == NULL && parent >= 0) {
        return perpi_mjcf_fail(m, node, "<default> inside another needs the attribute 'class'");
    }
    name = name != NULL ? name : "main";
    int32_t index = -1;
    for (size_t i = 0; i < m->levels.count; ++i) {
        index = strcmp(m->level[i].name, name) == 0 ? (int32_t)i : index;
    }
    if (index >= 0 && m->level[index].node != NULL && parent >= 0) {
        return perpi_mjcf_fail(m, node, "there is another class '%s'", name);
    }
    if (index < 0 || m->level[index].node != NULL) { /* main may be given in several files */
        PERPI_TRY(perpi_mjcf_append(m, &m->level, &m->levels, sizeof *m->level));
        const int32_t earlier = index;
        index = (int32_t)m->levels.count - 1;
        m->level[index] = (perpi_mjcf_class){.name = name, .parent = parent >= 0 ? parent : 0};
        if (earlier >= 0) { /* the later one counts first: it takes the place of the earlier one */
            const perpi_mjcf_class old = m->level[earlier];
            m->level[index].name = "";
            m->level[index].node = old.node;
            m->level[index].parent = old.parent;
            m->level[earlier].parent = index;
            index = earlier;
        }
    }
    m->level[index].node = node;
    note_soft(m, node);
    for (const perpi_xml_node* c = perpi_xml_child(node, "default"); c != NULL;
         c = perpi_xml_next(c, "default")) {
        PERPI_TRY(read_class(m, c, index));
    }
    return PERP_OK;
}

const perpi_xml_node* perpi_mjcf_section(const perpi_mjcf* m, const char* section,
                                         const perpi_xml_node* after)
{
    const perpi_xml_node* s =
        after == NULL ? perpi_xml_child(m->root, section) : perpi_xml_next(after, section);
    return s;
}

perp_status perpi_mjcf_open(perpi_mjcf* m, const char* text, size_t length)
{
    PERPI_TRY(parse_file(m, text, length, m->origin, &m->root));
    if (strcmp(m->root->name, "mujoco") != 0) {
        return perpi_mjcf_fail(m, m->root, "the root is <%s>, not <mujoco>", m->root->name);
    }
    perpi_xml_node* root; /* the tree is ours: it was made in our arena */
    memcpy(&root, &m->root, sizeof root);
    PERPI_TRY(splice(m, root, 0));
    PERPI_TRY(perpi_mjcf_append(m, &m->level, &m->levels, sizeof *m->level));
    m->level[0] = (perpi_mjcf_class){.name = "main", .parent = -1};
    for (const perpi_xml_node* c = perpi_mjcf_section(m, "default", NULL); c != NULL;
         c = perpi_mjcf_section(m, "default", c)) {
        PERPI_TRY(read_class(m, c, -1));
    }
    return PERP_OK;
}

perp_status perpi_mjcf_element_of(perpi_mjcf* m, const perpi_xml_node* node, const char* kind,
                                  int32_t childclass, perpi_mjcf_element* element)
{
    *element = (perpi_mjcf_element){.node = node, .kind = kind, .level = childclass};
    const char* name = perpi_xml_get(node, "class");
    return name != NULL ? perpi_mjcf_find_class(m, node, name, &element->level) : PERP_OK;
}

/* ---- attributes --------------------------------------------------------------------------------- */

/* The defaults of all actuators share the attributes that are not of one kind alone. */
static bool shared_by_actuators(const char* kind, const char* other, const char* name)
{
    static const char* const actuator[] = {"general",     "motor",  "position", "velocity",
                                           "intvelocity", "damper", NULL};
    static const char* const common[] = {"ctrlrange",    "forcerange", "ctrllimited",
                                         "forcelimited", "gear",       NULL};
    bool both[3] = {false};
    for (int i = 0; actuator[i] != NULL; ++i) {
        both[0] = both[0] || strcmp(kind, actuator[i]) == 0;
        both[1] = both[1] || strcmp(other, actuator[i]) == 0;
    }
    for (int i = 0; common[i] != NULL; ++i) {
        both[2] = both[2] || strcmp(name, common[i]) == 0;
    }
    return both[0] && both[1] && both[2];
}

/* The attribute in the defaults of one class; the last element counts. */
static const char* get_in_class(const perpi_mjcf_class* level, const char* kind, const char* name)
{
    const char* found = NULL;
    for (const perpi_xml_node* c = level->node != NULL ? level->node->child : NULL; c != NULL;
         c = c->next) {
        if (strcmp(c->name, kind) == 0 || shared_by_actuators(kind, c->name, name)) {
            const char* value = perpi_xml_get(c, name);
            found = value != NULL ? value : found;
        }
    }
    return found;
}

const char* perpi_mjcf_get(const perpi_mjcf* m, const perpi_mjcf_element* e, const char* name)
{
    const char* value = perpi_xml_get(e->node, name);
    for (int32_t i = e->level; value == NULL && i >= 0; i = m->level[i].parent) {
        value = get_in_class(&m->level[i], e->kind, name);
    }
    return value;
}

perp_status perpi_mjcf_need(const perpi_mjcf* m, const perpi_mjcf_element* e, const char* name,
                            const char** value)
{
    *value = perpi_mjcf_get(m, e, name);
    return *value != NULL && (*value)[0] != '\0'
               ? PERP_OK
               : perpi_mjcf_fail(m, e->node, "<%s> needs the attribute '%s'", e->node->name, name);
}

static perp_status parse_numbers(const perpi_mjcf* m, const perpi_xml_node* node, const char* name,
                                 const char* text, int least, int most, double* out, int* count)
{
    static const char blank[] = " \t\r\n";
    double* x = NULL;
    int n = 0;
    bool good = true;
    PERPI_TRY(perpi_arena_take(m->arena, (size_t)most, sizeof *x, &x));
    for (const char* s = text; good;) {
        s += strspn(s, blank);
        const size_t length = strcspn(s, blank);
        if (length == 0) {
            break;
        }
        /* a leading + and a missing 0 are usual in these files */
        const size_t plus = s[0] == '+' ? 1 : 0;
        good =
            n < most && perpi_number_parse(s + plus, length - plus, &x[n]) && fabs(x[n]) <= LARGEST;
        if (good && fabs(x[n]) < 1.0 / LARGEST / LARGEST) {
            x[n] = 0.0;
        }
        ++n;
        s += length;
    }
    if (!good || n < least || n > most) {
        char range[40];
        snprintf(range, sizeof range, least == most ? "%d" : "%d to %d", least, most);
        return perpi_mjcf_fail(m, node, "<%s> %s: must be %s finite number%s, got '%.80s'",
                               node->name, name, range, most == 1 ? "" : "s", text);
    }
    memcpy(out, x, (size_t)n * sizeof *out);
    *count = n;
    return PERP_OK;
}

perp_status perpi_mjcf_numbers(const perpi_mjcf* m, const perpi_mjcf_element* e, const char* name,
                               int least, int most, double* out, int* count)
{
    int given = 0;
    const char* text = perpi_mjcf_get(m, e, name);
    if (text != NULL) {
        PERPI_TRY(parse_numbers(m, e->node, name, text, least, most, out, &given));
    }
    if (count != NULL) {
        *count = given;
    }
    return PERP_OK;
}

perp_status perpi_mjcf_integer(const perpi_mjcf* m, const perpi_mjcf_element* e, const char* name,
                               int32_t* out)
{
    const char* text = perpi_mjcf_get(m, e, name);
    double x = 0.0;
    int n = 0;
    if (text == NULL) {
        return PERP_OK;
    }
    PERPI_TRY(parse_numbers(m, e->node, name, text, 1, 1, &x, &n));
    if (x != floor(x) || !(fabs(x) < 4294967296.0)) {
        return perpi_mjcf_fail(m, e->node, "<%s> %s: must be an integer, got '%.40s'",
                               e->node->name, name, text);
    }
    *out = (int32_t)(uint32_t)(int64_t)x; /* bits: 4294967295 is all of them, as -1 */
    return PERP_OK;
}

perp_status perpi_mjcf_flag(const perpi_mjcf* m, const perpi_mjcf_element* e, const char* name,
                            bool has_auto, int* value)
{
    const char* text = perpi_mjcf_get(m, e, name);
    if (text == NULL) {
        return PERP_OK;
    }
    const int read = strcmp(text, "true") == 0 || strcmp(text, "1") == 0    ? 1
                     : strcmp(text, "false") == 0 || strcmp(text, "0") == 0 ? 0
                     : has_auto && strcmp(text, "auto") == 0                ? 2
                                                                            : -1;
    if (read < 0) {
        return perpi_mjcf_fail(m, e->node, "<%s> %s: must be true%s false, got '%.40s'",
                               e->node->name, name, has_auto ? ", auto or" : " or", text);
    }
    *value = read;
    return PERP_OK;
}

/* ---- poses -------------------------------------------------------------------------------------- */

quat perpi_mjcf_from_z(vec3 direction)
{
    const vec3 to = v3_unit(direction);
    vec3 axis = v3_cross(v3(0, 0, 1), to);
    const double s = v3_norm(axis);
    if (s < 1e-10) {
        return to.z > 0.0 ? q4_identity() : (quat){0.0, 1.0, 0.0, 0.0};
    }
    /* half the angle, from its cosine: the larger of cosine and sine by the root */
    const double big = sqrt(0.5 * (1.0 + fabs(to.z))), little = 0.5 * s / big;
    const double c = to.z > 0.0 ? big : little;
    axis = v3_scale((to.z > 0.0 ? little : big) / s, axis);
    return (quat){c, axis.x, axis.y, axis.z};
}

static quat from_matrix(vec3 x, vec3 y, vec3 z)
{
    const double t[4] = {1 + x.x + y.y + z.z, 1 + x.x - y.y - z.z, 1 - x.x + y.y - z.z,
                         1 - x.x - y.y + z.z};
    int k = 0;
    for (int i = 1; i < 4; ++i) {
        k = t[i] > t[k] ? i : k;
    }
    const quat q = k == 0   ? (quat){t[0], y.z - z.y, z.x - x.z, x.y - y.x}
                   : k == 1 ? (quat){y.z - z.y, t[1], x.y + y.x, x.z + z.x}
                   : k == 2 ? (quat){z.x - x.z, x.y + y.x, t[2], y.z + z.y}
                            : (quat){x.y - y.x, x.z + z.x, y.z + z.y, t[3]};
    return q4_unit(q);
}

static quat from_euler(const perpi_mjcf* m, const double a[3])
{
    quat q = q4_identity();
    for (int i = 0; i < 3; ++i) {
        const char c = m->sequence[i];
        const double angle = m->degrees ? DEGREE * a[i] : a[i];
        const vec3 axis = c == 'x' || c == 'X'   ? v3(1, 0, 0)
                          : c == 'y' || c == 'Y' ? v3(0, 1, 0)
                                                 : v3(0, 0, 1);
        const quat turn = q4_exp(v3_scale(angle, axis));
        q = c >= 'x' ? q4_mul(q, turn) : q4_mul(turn, q);
    }
    return q4_unit(q);
}

static bool read_rotation(const perpi_mjcf* m, int form, const double a[6], quat* q)
{
    double norm = 0.0;
    for (int i = 0; i < 4; ++i) {
        norm += a[i] * a[i];
    }
    const vec3 x = v3_from(a), y = v3_from(a + 3);
    if (form == 0) {
        *q = q4_unit((quat){a[0], a[1], a[2], a[3]});
        return norm > 0.0;
    }
    if (form == 1) {
        *q = q4_exp(v3_scale(m->degrees ? DEGREE * a[3] : a[3], v3_unit(x)));
        return v3_norm(x) > 0.0;
    }
    if (form == 2) {
        *q = from_euler(m, a);
        return true;
    }
    if (form == 3) {
        const vec3 e = v3_unit(x), across = v3_madd(y, -v3_dot(y, e), e), f = v3_unit(across);
        *q = from_matrix(e, f, v3_cross(e, f));
        return v3_norm(x) > 0.0 && v3_norm(across) > 0.0;
    }
    *q = perpi_mjcf_from_z(x);
    return v3_norm(x) > 0.0;
}

perp_status perpi_mjcf_pose(const perpi_mjcf* m, const perpi_mjcf_element* e, perpi_pose* pose)
{
    static const char* const form[] = {"quat", "axisangle", "euler", "xyaxes", "zaxis"};
    static const int size[] = {4, 4, 3, 6, 3};
    double pos[3] = {0}, a[6] = {0};
    *pose = (perpi_pose){v3(0, 0, 0), q4_identity(), m3_identity()};
    PERPI_TRY(perpi_mjcf_numbers(m, e, "pos", 3, 3, pos, NULL));
    pose->x = v3_from(pos);
    int which = -1;
    bool own = false;
    for (int i = 0; i < 5; ++i) {
        const bool here = perpi_xml_get(e->node, form[i]) != NULL;
        if (here && own) {
            return perpi_mjcf_fail(m, e->node, "<%s> has two rotations: '%s' and '%s'",
                                   e->node->name, form[which], form[i]);
        }
        if (here || (!own && which < 0 && perpi_mjcf_get(m, e, form[i]) != NULL)) {
            which = i;
            own = here;
        }
    }
    if (which >= 0) {
        PERPI_TRY(perpi_mjcf_numbers(m, e, form[which], size[which], size[which], a, NULL));
        if (!read_rotation(m, which, a, &pose->q)) {
            return perpi_mjcf_fail(m, e->node, "<%s> %s: must not be zero", e->node->name,
                                   form[which]);
        }
        pose->R = q4_matrix(pose->q);
    }
    return PERP_OK;
}

/* ---- which attributes --------------------------------------------------------------------------- */

static bool is_in(const char* const* list, const char* name)
{
    for (int i = 0; list != NULL && list[i] != NULL; ++i) {
        if (strcmp(list[i], name) == 0) {
            return true;
        }
    }
    return false;
}

perp_status perpi_mjcf_check(perpi_mjcf* m, const perpi_xml_node* node, const char* const* read,
                             const char* const* soft, const char* const* ignored)
{
    for (const perpi_xml_attribute* a = node->attribute; a != NULL; a = a->next) {
        if (is_in(soft, a->name)) {
            perpi_mjcf_note(m->soft, sizeof m->soft, a->name);
        } else if (!is_in(read, a->name) && !is_in(ignored, a->name)) {
            const char* near = perpi_nearest(a->name, read);
            return perpi_mjcf_fail(m, node, "<%s>: the attribute '%s' is not supported%s%s%s",
                                   node->name, a->name, near != NULL ? "; did you mean '" : "",
                                   near != NULL ? near : "", near != NULL ? "'?" : "");
        }
    }
    return PERP_OK;
}
