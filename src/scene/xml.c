/* src/scene/xml.c - see xml.h. */
#include "scene/xml.h"

#include <ctype.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct builder {
    perp_context* context;
    perpi_arena* arena;
    const char* origin;
    const char* text; /* the file */
    size_t length;
    int32_t skipped_lines; /* blank ones before the text that expat reads */
    XML_Parser expat;
    perpi_xml_node *root, *open;
    int depth;
    char* data; /* text of the element that was opened last */
    size_t data_length, data_room;
    perp_status status; /* of a handler */
} builder;

static perp_status xml_fail(builder* b, int32_t line, const char* format, ...) PERP_PRINTF(3, 4);

static perp_status xml_fail(builder* b, int32_t line, const char* format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return perpi_fail(b->context, PERP_ERROR_INPUT, "%s: line %d: %s", b->origin, (int)line,
                      message);
}

static int32_t current_line(const builder* b)
{
    return b->skipped_lines + (int32_t)XML_GetCurrentLineNumber(b->expat);
}

/* Ends the parse; the first status is kept. */
static void stop(builder* b, perp_status status)
{
    b->status = b->status == PERP_OK ? status : b->status;
    XML_StopParser(b->expat, XML_FALSE);
}

static perp_status keep_text(builder* b, const char* from, size_t length, const char** copy)
{
    char* s = NULL;
    const perp_status status = perpi_arena_take(b->arena, length + 1, 1, &s);
    if (status == PERP_OK) {
        memcpy(s, from, length);
        s[length] = '\0';
        *copy = s;
    }
    return status;
}

static perp_status keep_name(builder* b, const char* from, const char** copy)
{
    const size_t length = strlen(from);
    return length <= PERPI_XML_NAME_LIMIT
               ? keep_text(b, from, length, copy)
               : xml_fail(b, current_line(b), "a name of more than %d characters",
                          PERPI_XML_NAME_LIMIT);
}

/* ---- elements ----------------------------------------------------------------------------------- */

/* expat has the line of a tag only: count on to that of each attribute, '=' by '=' outside quotes. */
static void find_attribute_lines(builder* b, perpi_xml_node* node)
{
    const XML_Index index = XML_GetCurrentByteIndex(b->expat);
    const int count = XML_GetCurrentByteCount(b->expat);
    if (index < 0 || count <= 0 || (size_t)index + (size_t)count > b->length) {
        return;
    }
    const char *at = b->text + index, *end = at + count;
    int32_t line = node->line;
    char quote = '\0';
    for (perpi_xml_attribute* a = node->attribute; a != NULL && at < end; ++at) {
        line += *at == '\n' ? 1 : 0;
        if (quote != '\0') {
            quote = *at == quote ? '\0' : quote;
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '=') {
            a->line = line;
            a = a->next;
        }
    }
}

static perp_status add_attributes(builder* b, const XML_Char** pairs, perpi_xml_node* node)
{
    perpi_xml_attribute** link = &node->attribute;
    for (; pairs[0] != NULL; pairs += 2) {
        perpi_xml_attribute* a = NULL;
        perp_status status = perpi_arena_take(b->arena, 1, sizeof *a, &a);
        if (status != PERP_OK) {
            return status;
        }
        *a = (perpi_xml_attribute){.line = node->line};
        status = keep_name(b, pairs[0], &a->name);
        if (status == PERP_OK) {
            status = keep_text(b, pairs[1], strlen(pairs[1]), &a->value);
        }
        if (status != PERP_OK) {
            return status;
        }
        *link = a;
        link = &a->next;
    }
    return PERP_OK;
}

static perp_status add_element(builder* b, const XML_Char* name, const XML_Char** pairs)
{
    if (b->depth >= PERPI_XML_NESTING_LIMIT) {
        return xml_fail(b, current_line(b), "nested deeper than %d levels",
                        PERPI_XML_NESTING_LIMIT);
    }
    perpi_xml_node* node = NULL;
    perp_status status = perpi_arena_take(b->arena, 1, sizeof *node, &node);
    if (status != PERP_OK) {
        return status;
    }
    *node = (perpi_xml_node){.line = current_line(b), .parent = b->open};
    status = keep_name(b, name, &node->name);
    if (status == PERP_OK) {
        status = add_attributes(b, pairs, node);
    }
    if (status != PERP_OK) {
        return status;
    }
    find_attribute_lines(b, node);
    if (b->open == NULL) {
        b->root = node;
    } else if (b->open->child == NULL) {
        b->open->child = b->open->last_child = node;
    } else {
        b->open->last_child = b->open->last_child->next = node;
    }
    b->open = node;
    b->depth += 1;
    b->data_length = 0;
    return PERP_OK;
}

static void XMLCALL on_start(void* user, const XML_Char* name, const XML_Char** pairs)
{
    builder* b = user;
    const perp_status status = b->status == PERP_OK ? add_element(b, name, pairs) : b->status;
    if (status != PERP_OK) {
        stop(b, status);
    }
}

static bool is_blank(const char* s, size_t length)
{
    for (size_t i = 0; i < length; ++i) {
        if (!isspace((unsigned char)s[i])) {
            return false;
        }
    }
    return true;
}

static void XMLCALL on_end(void* user, const XML_Char* name)
{
    (void)name;
    builder* b = user;
    if (b->status != PERP_OK || b->open == NULL) {
        return;
    }
    perpi_xml_node* node = b->open;
    if (node->child == NULL && !is_blank(b->data, b->data_length)) {
        const perp_status status = keep_text(b, b->data, b->data_length, &node->text);
        if (status != PERP_OK) {
            stop(b, status);
        }
    }
    b->data_length = 0;
    b->open = node->parent;
    b->depth -= 1;
}

static void XMLCALL on_text(void* user, const XML_Char* s, int length)
{
    builder* b = user;
    if (b->status != PERP_OK || b->open == NULL || b->open->child != NULL || length <= 0) {
        return;
    }
    const size_t need = b->data_length + (size_t)length;
    if (need > b->data_room) {
        const size_t room = need + need / 2 + 256;
        char* grown = realloc(b->data, room);
        if (grown == NULL) {
            stop(b, perpi_fail(b->context, PERP_ERROR_MEMORY, "%s: out of memory", b->origin));
            return;
        }
        b->data = grown;
        b->data_room = room;
    }
    memcpy(b->data + b->data_length, s, (size_t)length);
    b->data_length = need;
}

/* Entities are declared there, which can expand to any size or name other files. */
static void XMLCALL on_doctype(void* user, const XML_Char* name, const XML_Char* system,
                               const XML_Char* public, int internal)
{
    (void)name, (void)system, (void)public, (void)internal;
    builder* b = user;
    stop(b,
         xml_fail(b, current_line(b), "a document type (<!DOCTYPE ...>) is not read: remove it"));
}

/* ---- what expat refuses --------------------------------------------------------------------------- */

/* The name that begins at `at` in the file. */
static int name_length(const builder* b, size_t at)
{
    size_t end = at;
    while (end < b->length && end - at < 80 && !isspace((unsigned char)b->text[end]) &&
           strchr("<>/='\"&;", b->text[end]) == NULL) {
        ++end;
    }
    return (int)(end - at);
}

static perp_status refuse_invalid_token(builder* b, int32_t line, size_t at)
{
    const unsigned char c = at < b->length ? (unsigned char)b->text[at] : '\0';
    if (c >= 0x80) {
        return xml_fail(b, line, "a byte that is not UTF-8: save the file as UTF-8");
    }
    if (c == '\0') {
        return xml_fail(b, line, "a zero byte: this is no text");
    }
    if (b->root == NULL && b->open == NULL && c != '<' && at <= b->length &&
        is_blank(b->text, at)) {
        return xml_fail(b, line, "expected an element: '<'");
    }
    size_t before = at;
    while (before > 0 && isspace((unsigned char)b->text[before - 1])) {
        --before;
    }
    if (before > 0 && b->text[before - 1] == '=') {
        return xml_fail(b, line, "the value of an attribute stands in quotes");
    }
    if (c == '<') {
        int32_t from = line; /* of the tag that is not closed */
        for (size_t i = at; i > 0 && b->text[i - 1] != '<'; --i) {
            from -= b->text[i - 1] == '\n' ? 1 : 0;
        }
        return xml_fail(
            b, from,
            "'<' in a tag or in the value of an attribute: are its quotes and '>' there? "
            "(or write &lt;)");
    }
    if (before > 0 && b->text[before - 1] == '&') {
        return xml_fail(b, line, "'&' begins an entity such as '&amp;'");
    }
    return xml_fail(b, line, "this is not XML: unexpected '%c'", isprint(c) ? c : '?');
}

static perp_status refuse_unclosed(builder* b, int32_t line)
{
    return b->open != NULL ? xml_fail(b, line, "the file ends and <%s> of line %d is not closed",
                                      b->open->name, (int)b->open->line)
                           : xml_fail(b, line, "the file ends inside a tag or comment");
}

static perp_status refuse_mismatch(builder* b, int32_t line, size_t at)
{
    while (at < b->length && (b->text[at] == '<' || b->text[at] == '/')) {
        ++at;
    }
    return b->open != NULL
               ? xml_fail(b, line, "</%.*s> closes <%s> of line %d: expected </%s>",
                          name_length(b, at), b->text + at, b->open->name, (int)b->open->line,
                          b->open->name)
               : xml_fail(b, line, "</%.*s> closes nothing", name_length(b, at), b->text + at);
}

/* At an attribute: of which element? */
static perp_status refuse_duplicate(builder* b, int32_t line, size_t at)
{
    size_t tag = at < b->length ? at : 0;
    while (tag > 0 && b->text[tag] != '<') {
        --tag;
    }
    return xml_fail(b, line, "<%.*s> has the attribute '%.*s' twice", name_length(b, tag + 1),
                    b->text + tag + 1, name_length(b, at), b->text + at);
}

/* With what can be done about it, where that is known. */
static perp_status refuse(builder* b)
{
    const enum XML_Error error = XML_GetErrorCode(b->expat);
    const int32_t line = current_line(b);
    const XML_Index index = XML_GetCurrentByteIndex(b->expat);
    const size_t at = index < 0 || (size_t)index > b->length ? b->length : (size_t)index;
    switch (error) {
    case XML_ERROR_NO_MEMORY:
        return perpi_fail(b->context, PERP_ERROR_MEMORY, "%s: out of memory", b->origin);
    case XML_ERROR_INVALID_TOKEN: return refuse_invalid_token(b, line, at);
    case XML_ERROR_TAG_MISMATCH: return refuse_mismatch(b, line, at);
    case XML_ERROR_DUPLICATE_ATTRIBUTE: return refuse_duplicate(b, line, at);
    case XML_ERROR_NO_ELEMENTS:
        return b->root == NULL && is_blank(b->text, b->length)
                   ? xml_fail(b, line, "there is no element in this file")
               : b->open == NULL ? xml_fail(b, line, "there is no element in this file")
                                 : refuse_unclosed(b, line);
    case XML_ERROR_UNCLOSED_TOKEN:
    case XML_ERROR_PARTIAL_CHAR:
    case XML_ERROR_UNCLOSED_CDATA_SECTION: return refuse_unclosed(b, line);
    case XML_ERROR_JUNK_AFTER_DOC_ELEMENT:
        return xml_fail(b, line, "a second root element, or text behind the first: a file has one");
    case XML_ERROR_UNDEFINED_ENTITY:
        return xml_fail(b, line,
                        "unknown entity: known are lt, gt, amp, quot, apos and numbers of "
                        "characters");
    case XML_ERROR_MISPLACED_XML_PI:
        return xml_fail(b, line,
                        "<?xml ...?> stands at the very beginning of a file or not at all");
    default: return xml_fail(b, line, "this is not XML: %s", XML_ErrorString(error));
    }
}

/* ---- the file ------------------------------------------------------------------------------------- */

/* The first `word` in the file from `at` on; the end if there is none. */
static size_t find_word(const builder* b, size_t at, const char* word)
{
    const size_t n = strlen(word);
    while (at + n <= b->length && memcmp(b->text + at, word, n) != 0) {
        ++at;
    }
    return at + n <= b->length ? at : b->length;
}

/* Comments become blanks, so that expat sees none: many files have "--" in them, which XML forbids and
 * other readers of robots accept. A comment without end stays, and is refused. */
static void blank_comments(const builder* b, char* text)
{
    size_t at = 0, data = find_word(b, 0, "<![CDATA[");
    while (at < b->length) {
        const size_t comment = find_word(b, at, "<!--");
        if (data < comment) {
            at = find_word(b, data, "]]>");
            data = find_word(b, at, "<![CDATA[");
            continue;
        }
        const size_t end = comment < b->length ? find_word(b, comment + 4, "-->") : b->length;
        if (end == b->length) {
            return;
        }
        for (at = comment; at < end + 3; ++at) {
            text[at] = text[at] == '\n' ? '\n' : ' ';
        }
        data = data < at ? find_word(b, at, "<![CDATA[") : data;
    }
}

/* XML allows nothing before <?xml ...?>; blank lines and comments before it are common, and harmless. */
static void skip_blank_lines(builder* b)
{
    const bool mark = b->length >= 3 && memcmp(b->text, "\xef\xbb\xbf", 3) == 0;
    size_t at = mark ? 3 : 0;
    int32_t lines = 0;
    while (at < b->length && isspace((unsigned char)b->text[at])) {
        lines += b->text[at] == '\n' ? 1 : 0;
        ++at;
    }
    if (b->length - at >= 5 && memcmp(b->text + at, "<?xml", 5) == 0) {
        b->text += at;
        b->length -= at;
        b->skipped_lines = lines;
    }
}

static perp_status parse_with_expat(builder* b)
{
    b->expat = XML_ParserCreate(NULL);
    if (b->expat == NULL) {
        return perpi_fail(b->context, PERP_ERROR_MEMORY, "%s: out of memory", b->origin);
    }
    XML_SetUserData(b->expat, b);
    XML_SetElementHandler(b->expat, on_start, on_end);
    XML_SetCharacterDataHandler(b->expat, on_text);
    XML_SetStartDoctypeDeclHandler(b->expat, on_doctype);
    perp_status status = PERP_OK;
    if (XML_Parse(b->expat, b->text, (int)b->length, XML_TRUE) != XML_STATUS_OK) {
        status = b->status != PERP_OK ? b->status : refuse(b);
    }
    XML_ParserFree(b->expat);
    free(b->data);
    return status;
}

perp_status perpi_xml_parse(perp_context* context, const char* text, size_t length,
                            const char* origin, perpi_arena* arena, const perpi_xml_node** root)
{
    if (length > PERPI_XML_SIZE_LIMIT) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: file too large: the limit is %d MB",
                          origin, PERPI_XML_SIZE_LIMIT / (1024 * 1024));
    }
    builder b = {
        .context = context, .arena = arena, .origin = origin, .text = text, .length = length};
    char* copy = malloc(length + 1);
    if (copy == NULL) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", origin);
    }
    memcpy(copy, text, length);
    blank_comments(&b, copy);
    b.text = copy;
    skip_blank_lines(&b);
    const perp_status status = parse_with_expat(&b);
    free(copy);
    if (status == PERP_OK) {
        *root = b.root;
    }
    return status;
}

/* ---- looking things up ---------------------------------------------------------------------------- */

const char* perpi_xml_get(const perpi_xml_node* node, const char* name)
{
    for (const perpi_xml_attribute* a = node->attribute; a != NULL; a = a->next) {
        if (strcmp(a->name, name) == 0) {
            return a->value;
        }
    }
    return NULL;
}

static const perpi_xml_node* find_element(const perpi_xml_node* from, const char* name)
{
    while (from != NULL && strcmp(from->name, name) != 0) {
        from = from->next;
    }
    return from;
}

const perpi_xml_node* perpi_xml_child(const perpi_xml_node* node, const char* name)
{
    return find_element(node->child, name);
}

const perpi_xml_node* perpi_xml_next(const perpi_xml_node* after, const char* name)
{
    return find_element(after->next, name);
}
