/* src/scene/xml.c - see xml.h. */
#include "scene/xml.h"

#include <string.h>

typedef struct parser {
    perp_context* context;
    perpi_arena* arena;
    const char* origin;
    const char* at;
    const char* end;
    int32_t line;
} parser;

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const perp_status try_status = (call);                                                     \
        if (try_status != PERP_OK) {                                                               \
            return try_status;                                                                     \
        }                                                                                          \
    } while (0)

static perp_status fail(const parser* p, const char* message)
{
    return perpi_fail(p->context, PERP_ERROR_INPUT, "%s: line %d: %s", p->origin, (int)p->line,
                      message);
}

/* ---- characters --------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Bytes above 127 count as letters, so names may use any alphabet. */
static bool is_name(char c, bool first)
{
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
                        (unsigned char)c >= 0x80;
    return letter || (!first && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
}

static void advance_xml(parser* p)
{
    p->line += *p->at == '\n' ? 1 : 0;
    ++p->at;
}

static void skip_space(parser* p)
{
    while (p->at < p->end && is_space(*p->at)) {
        advance_xml(p);
    }
}

static bool looking_at(const parser* p, const char* text)
{
    const size_t n = strlen(text);
    return (size_t)(p->end - p->at) >= n && memcmp(p->at, text, n) == 0;
}

/* Behind the next `text`. */
static perp_status skip_past(parser* p, const char* text, const char* what)
{
    const int32_t line = p->line;
    while (p->at < p->end && !looking_at(p, text)) {
        advance_xml(p);
    }
    if (p->at >= p->end) {
        return perpi_fail(p->context, PERP_ERROR_INPUT, "%s: line %d: %s has no end ('%s')",
                          p->origin, (int)line, what, text);
    }
    p->at += strlen(text);
    return PERP_OK;
}

static perp_status take_copy(parser* p, const char* from, size_t length, const char** copy)
{
    char* s = NULL;
    TRY(perpi_arena_take(p->arena, length + 1, 1, &s));
    memcpy(s, from, length);
    s[length] = '\0';
    *copy = s;
    return PERP_OK;
}

static perp_status take_name(parser* p, const char* what, const char** name)
{
    const char* from = p->at;
    while (p->at < p->end && is_name(*p->at, p->at == from)) {
        ++p->at;
    }
    if (p->at == from) {
        return perpi_fail(p->context, PERP_ERROR_INPUT, "%s: line %d: expected the name of %s",
                          p->origin, (int)p->line, what);
    }
    if (p->at - from > 200) {
        return fail(p, "a name of more than 200 characters");
    }
    return take_copy(p, from, (size_t)(p->at - from), name);
}

/* ---- attribute values --------------------------------------------------------------------------- */

static size_t put_utf8(uint32_t c, char* out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* "#65" or "#x41": a character that XML allows; 0 otherwise. */
static uint32_t character_reference(const char* text, size_t length)
{
    const bool hex = length > 1 && text[1] == 'x';
    uint32_t value = 0;
    if (length <= (hex ? 2U : 1U) || length > 9) {
        return 0;
    }
    for (size_t i = hex ? 2 : 1; i < length; ++i) {
        const char c = text[i];
        const int digit = c >= '0' && c <= '9'          ? c - '0'
                          : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : hex && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                        : -1;
        if (digit < 0) {
            return 0;
        }
        value = value * (hex ? 16U : 10U) + (uint32_t)digit;
    }
    const bool control = value < 0x20 && value != '\t' && value != '\n' && value != '\r';
    const bool surrogate = value >= 0xd800 && value < 0xe000;
    return control || surrogate || value > 0x10ffff ? 0 : value;
}

/* At an ampersand. The decoded text is never longer than the entity. */
static perp_status take_entity(parser* p, char* out, size_t* used)
{
    static const struct {
        const char* name;
        char c;
    } known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    const char* from = p->at + 1;
    const char* semicolon = from;
    while (semicolon < p->end && semicolon - from < 12 && *semicolon != ';') {
        ++semicolon;
    }
    const size_t length = (size_t)(semicolon - from);
    if (semicolon >= p->end || *semicolon != ';') {
        return fail(p, "'&' begins an entity such as '&amp;', and no ';' follows");
    }
    p->at = semicolon + 1;
    if (length > 0 && from[0] == '#') {
        const uint32_t c = character_reference(from, length);
        if (c != 0) {
            *used += put_utf8(c, out + *used);
            return PERP_OK;
        }
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if (length == strlen(known[i].name) && memcmp(from, known[i].name, length) == 0) {
            out[(*used)++] = known[i].c;
            return PERP_OK;
        }
    }
    return perpi_fail(p->context, PERP_ERROR_INPUT,
                      "%s: line %d: unknown entity '&%.*s;': known are lt, gt, amp, quot, apos and "
                      "numbers of characters",
                      p->origin, (int)p->line, (int)length, from);
}

static perp_status take_value(parser* p, const char** value)
{
    const char quote = p->at < p->end ? *p->at : '\0';
    if (quote != '"' && quote != '\'') {
        return fail(p, "the value of an attribute stands in quotes");
    }
    ++p->at;
    const char* close = memchr(p->at, quote, (size_t)(p->end - p->at));
    if (close == NULL) {
        return fail(p, "the quotes of an attribute's value are not closed");
    }
    char* out = NULL;
    TRY(perpi_arena_take(p->arena, (size_t)(close - p->at) + 1, 1, &out));
    size_t used = 0;
    while (p->at < close) {
        if (*p->at == '<') {
            return fail(p,
                        "'<' in the value of an attribute: are its quotes closed? (or write &lt;)");
        }
        if (*p->at == '&') {
            TRY(take_entity(p, out, &used));
            continue;
        }
        out[used++] = is_space(*p->at) ? ' ' : *p->at;
        advance_xml(p);
    }
    if (p->at != close) { /* an entity that extends over the quote */
        return fail(p, "'&' begins an entity such as '&amp;'");
    }
    p->at = close + 1;
    out[used] = '\0';
    *value = out;
    return PERP_OK;
}

/* ---- elements ----------------------------------------------------------------------------------- */

static perp_status take_attributes(parser* p, perpi_xml_node* node)
{
    perpi_xml_attribute** link = &node->attribute;
    for (;;) {
        const char* before = p->at;
        skip_space(p);
        if (p->at >= p->end) {
            return perpi_fail(p->context, PERP_ERROR_INPUT, "%s: line %d: <%s has no '>'",
                              p->origin, (int)node->line, node->name);
        }
        if (*p->at == '>' || looking_at(p, "/>")) {
            return PERP_OK;
        }
        if (p->at == before) {
            return fail(p, "expected a space, '>' or '/>'");
        }
        perpi_xml_attribute* a = NULL;
        TRY(perpi_arena_take(p->arena, 1, sizeof *a, &a));
        *a = (perpi_xml_attribute){.line = p->line};
        TRY(take_name(p, "an attribute", &a->name));
        if (perpi_xml_get(node, a->name) != NULL) {
            return perpi_fail(p->context, PERP_ERROR_INPUT,
                              "%s: line %d: <%s> has the attribute '%s' twice", p->origin,
                              (int)p->line, node->name, a->name);
        }
        skip_space(p);
        if (p->at >= p->end || *p->at != '=') {
            return perpi_fail(p->context, PERP_ERROR_INPUT,
                              "%s: line %d: expected '=' behind the attribute '%s' of <%s>",
                              p->origin, (int)p->line, a->name, node->name);
        }
        ++p->at;
        skip_space(p);
        TRY(take_value(p, &a->value));
        *link = a;
        link = &a->next;
    }
}

/* At "</". */
static perp_status take_end(parser* p, perpi_xml_node** open)
{
    const char* name = NULL;
    p->at += 2;
    TRY(take_name(p, "an element", &name));
    skip_space(p);
    if (p->at >= p->end || *p->at != '>') {
        return fail(p, "expected '>'");
    }
    ++p->at;
    if (*open == NULL || strcmp((*open)->name, name) != 0) {
        return *open == NULL
                   ? perpi_fail(p->context, PERP_ERROR_INPUT, "%s: line %d: </%s> closes nothing",
                                p->origin, (int)p->line, name)
                   : perpi_fail(p->context, PERP_ERROR_INPUT,
                                "%s: line %d: </%s> closes <%s> of line %d: expected </%s>",
                                p->origin, (int)p->line, name, (*open)->name, (int)(*open)->line,
                                (*open)->name);
    }
    *open = (*open)->parent;
    return PERP_OK;
}

/* At "<" of an element. */
static perp_status take_start(parser* p, perpi_xml_node** open, perpi_xml_node** root, int* depth)
{
    if (*open == NULL && *root != NULL) {
        return fail(p, "a second root element: a file has one");
    }
    perpi_xml_node* node = NULL;
    TRY(perpi_arena_take(p->arena, 1, sizeof *node, &node));
    *node = (perpi_xml_node){.line = p->line, .parent = *open};
    ++p->at;
    TRY(take_name(p, "an element", &node->name));
    TRY(take_attributes(p, node));
    if (*open == NULL) {
        *root = node;
    } else if ((*open)->child == NULL) {
        (*open)->child = (*open)->last_child = node;
    } else {
        (*open)->last_child = (*open)->last_child->next = node;
    }
    if (*p->at == '/') {
        p->at += 2;
        return PERP_OK;
    }
    ++p->at;
    if (++*depth > PERPI_XML_NESTING_LIMIT) {
        return perpi_fail(p->context, PERP_ERROR_INPUT, "%s: line %d: nested deeper than %d levels",
                          p->origin, (int)p->line, PERPI_XML_NESTING_LIMIT);
    }
    *open = node;
    return PERP_OK;
}

static perp_status parse_elements(parser* p, perpi_xml_node** root)
{
    perpi_xml_node* open = NULL;
    int depth = 0;
    while (p->at < p->end) {
        if (*p->at != '<') {
            if (open == NULL && !is_space(*p->at)) {
                return fail(p, "expected an element: '<'");
            }
            if (*p->at == '\0') {
                return fail(p, "a zero byte: this is no text");
            }
            advance_xml(p);
        } else if (looking_at(p, "<!--")) {
            TRY(skip_past(p, "-->", "a comment"));
        } else if (looking_at(p, "<![CDATA[")) {
            TRY(skip_past(p, "]]>", "a CDATA section"));
        } else if (looking_at(p, "<?")) {
            TRY(skip_past(p, "?>", "a processing instruction"));
        } else if (looking_at(p, "<!")) {
            return fail(p, "a document type (<!...>) is not read: remove it");
        } else if (looking_at(p, "</")) {
            TRY(take_end(p, &open));
            --depth;
        } else {
            TRY(take_start(p, &open, root, &depth));
        }
    }
    if (open != NULL) {
        return perpi_fail(p->context, PERP_ERROR_INPUT,
                          "%s: line %d: the file ends and <%s> of line %d is not closed", p->origin,
                          (int)p->line, open->name, (int)open->line);
    }
    return *root != NULL ? PERP_OK : fail(p, "there is no element in this file");
}

/* The length of the character that begins at s, 0 if it is not UTF-8. */
static size_t utf8_length(const unsigned char* s, size_t room)
{
    const size_t n = s[0] < 0x80   ? 1
                     : s[0] < 0xc2 ? 0
                     : s[0] < 0xe0 ? 2
                     : s[0] < 0xf0 ? 3
                     : s[0] < 0xf5 ? 4
                                   : 0;
    if (n == 0 || n > room) {
        return 0;
    }
    for (size_t i = 1; i < n; ++i) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool too_long = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    const bool outside = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
    return too_long || outside ? 0 : n;
}

static perp_status check_utf8(parser p)
{
    while (p.at < p.end) {
        const size_t n = utf8_length((const unsigned char*)p.at, (size_t)(p.end - p.at));
        if (n == 0) {
            return fail(&p, "a byte that is not UTF-8: save the file as UTF-8");
        }
        p.line += *p.at == '\n' ? 1 : 0;
        p.at += n;
    }
    return PERP_OK;
}

perp_status perpi_xml_parse(perp_context* context, const char* text, size_t length,
                            const char* origin, perpi_arena* arena, const perpi_xml_node** root)
{
    if (length > PERPI_XML_SIZE_LIMIT) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: file too large: the limit is %d MB",
                          origin, PERPI_XML_SIZE_LIMIT / (1024 * 1024));
    }
    parser p = {context, arena, origin, text, text + length, 1};
    if (looking_at(&p, "\xef\xbb\xbf")) {
        p.at += 3;
    }
    perpi_xml_node* top = NULL;
    TRY(check_utf8(p));
    TRY(parse_elements(&p, &top));
    *root = top;
    return PERP_OK;
}

const char* perpi_xml_get(const perpi_xml_node* node, const char* name)
{
    for (const perpi_xml_attribute* a = node->attribute; a != NULL; a = a->next) {
        if (strcmp(a->name, name) == 0) {
            return a->value;
        }
    }
    return NULL;
}

static const perpi_xml_node* find_attribute(const perpi_xml_node* from, const char* name)
{
    while (from != NULL && strcmp(from->name, name) != 0) {
        from = from->next;
    }
    return from;
}

const perpi_xml_node* perpi_xml_child(const perpi_xml_node* node, const char* name)
{
    return find_attribute(node->child, name);
}

const perpi_xml_node* perpi_xml_next(const perpi_xml_node* after, const char* name)
{
    return find_attribute(after->next, name);
}
