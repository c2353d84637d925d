/* XML by expat: lines, limits, and what is refused. */
#include <stdio.h>
#include <string.h>

#include "perp_test.h"
#include "scene/xml.h"

static perp_context* context;
static perpi_arena arena;
static const perpi_xml_node* root;

static perp_status parse(const char* text)
{
    root = NULL;
    return perpi_xml_parse(context, text, strlen(text), "x", &arena, &root);
}

static bool refused(const char* text, const char* message)
{
    const bool ok = parse(text) == PERP_ERROR_INPUT;
    if (!ok || strstr(perp_context_error(context), message) == NULL) {
        printf("got: %s\n", ok ? perp_context_error(context) : "accepted");
        return false;
    }
    return true;
}

static void set_up(void)
{
    CHECK(perp_context_create(NULL, &context) == PERP_OK);
    perpi_arena_init(&arena, context);
}

static void tear_down(void)
{
    perpi_arena_free(&arena);
    perp_context_destroy(context);
}

TEST(lines_are_those_of_elements_and_of_attributes)
{
    set_up();
    CHECK(
        parse("\n\n<?xml version='1.0'?>\n<a x='1'\n   y=\"=\n\"\n   z='3'><b/>\n<b k='v'/></a>") ==
        PERP_OK);
    CHECK(root->line == 4 && root->attribute->line == 4);
    CHECK(root->attribute->next->line == 5 && root->attribute->next->next->line == 7);
    const perpi_xml_node* b = perpi_xml_child(root, "b");
    CHECK(b->line == 7 && perpi_xml_next(b, "b")->line == 8);
    CHECK(strcmp(perpi_xml_get(root, "z"), "3") == 0 && perpi_xml_get(root, "w") == NULL);
    tear_down();
}

TEST(text_is_kept_of_elements_without_children)
{
    set_up();
    CHECK(parse("<a> 1 <b> 1 2\n3 </b><c>&lt;<![CDATA[<!-- x -->]]></c><d> </d></a>") == PERP_OK);
    CHECK(root->text == NULL);
    CHECK(strcmp(perpi_xml_child(root, "b")->text, " 1 2\n3 ") == 0);
    CHECK(strcmp(perpi_xml_child(root, "c")->text, "<<!-- x -->") == 0);
    CHECK(perpi_xml_child(root, "d")->text == NULL);
    tear_down();
}

TEST(comments_may_hold_two_hyphens_and_stand_before_the_declaration)
{
    set_up();
    CHECK(parse("<!-- a\n -- b ---><?xml version='1.0'?>\n<a>\n<!-- <b> -- \n --><c/></a>") ==
          PERP_OK);
    CHECK(root->line == 3 && root->child->line == 5 && strcmp(root->child->name, "c") == 0);
    CHECK(refused("<a>\n<!-- no end </a>", "line 2"));
    tear_down();
}

TEST(a_bomb_of_entities_and_a_deep_file_are_refused)
{
    set_up();
    CHECK(refused("<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY x 'y'><!ENTITY z '&x;&x;&x;'>]>\n"
                  "<a>&z;</a>",
                  "x: line 2: a document type"));
    CHECK(refused("<a>\n&unknown;</a>", "x: line 2: unknown entity"));
    char deep[400] = "";
    for (int i = 0; i < PERPI_XML_NESTING_LIMIT + 1; ++i) {
        strcat(deep, "<a>\n");
    }
    CHECK(refused(deep, "x: line 65: nested deeper than 64 levels"));
    tear_down();
}

TEST(what_is_not_xml_is_refused_with_its_line)
{
    set_up();
    CHECK(refused("<a>\n</b>", "x: line 2: </b> closes <a> of line 1"));
    CHECK(refused("<a x='1'\n x='2'/>", "x: line 2: <a> has the attribute 'x' twice"));
    CHECK(refused("<a>\n<b x=1/></a>", "x: line 2: the value of an attribute stands in quotes"));
    CHECK(refused("<a>\n<b>", "<b> of line 2 is not closed"));
    CHECK(refused("<a>\n<b x='></a>", "x: line 2:"));
    CHECK(refused("", "x: line 1: there is no element"));
    CHECK(refused("<a/>\n<b/>", "x: line 2: a second root element"));
    CHECK(refused("<a>\n\xff</a>", "x: line 2: a byte that is not UTF-8"));
    CHECK(refused("\n{}", "x: line 2: expected an element"));
    tear_down();
}
