/* Expressions against closed forms, central differences, and a second evaluator written here. */
#include "perp_test.h"

#include "base/expr.h"

static perp_context* open_context(void)
{
    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        abort();
    }
    return context;
}

/* Value and derivative of a text that must compile. */
static double eval(const char* text, double t, double* derivative)
{
    perp_context* context = open_context();
    perpi_expr* expr = NULL;
    double value = NAN;
    const perp_status status = perpi_expr_compile(context, text, &expr);
    if (status == PERP_OK) {
        value = perpi_expr_eval(expr, t, derivative);
    } else {
        printf("  %s\n", perp_context_error(context));
    }
    CHECK_OK(status);
    perpi_expr_destroy(context, expr);
    perp_context_destroy(context);
    return value;
}

static void check_error(const char* text, const char* message)
{
    perp_context* context = open_context();
    perpi_expr* expr = NULL;
    CHECK_EQ_INT(perpi_expr_compile(context, text, &expr), PERP_ERROR_INPUT);
    CHECK(expr == NULL);
    CHECK_CONTAINS(perp_context_error(context), message);
    perpi_expr_destroy(context, expr);
    perp_context_destroy(context);
}

TEST(precedence_and_associativity_are_those_of_mathematics)
{
    static const struct {
        const char* text;
        double value;
    } cases[] = {
        {"-2^2", -4},         {"2^3^2", 512},     {"2*-3", -6},        {"2^-1", 0.5},
        {"(-2)^2", 4},        {"1 - 2 - 3", -4},  {"8/4/2", 1},        {"1+2*3", 7},
        {"(1+2)*3", 9},       {"2*3^2", 18},      {"- -2", 2},         {"--2", 2},
        {"-+-2", 2},          {"2--3", 5},        {"1/2*4", 2},        {"-2*-3", 6},
        {"1 < 2", 1},         {"2 < 1", 0},       {"1+1 == 2", 1},     {"1 != 1", 0},
        {"2 >= 2", 1},        {"2 <= 1", 0},      {"3 > 2", 1},        {"(1<2) == (3<4)", 1},
        {"1.5e2", 150},       {".5", 0.5},        {"5.", 5},           {"1e-3", 1e-3},
        {"2E+2", 200},        {" \t1 +\n1 ", 2},  {"min(2,3)", 2},     {"max(2,3)", 3},
        {"if(1<2, 5, 6)", 5}, {"if(0, 5, 6)", 6}, {"pow(2,10)", 1024}, {"abs(-3)", 3},
        {"floor(-1.5)", -2},  {"ceil(-1.5)", -1}, {"sign(-7)", -1},    {"sign(0)", 0},
        {"mod(7,3)", 1},      {"mod(-1,3)", 2},   {"mod(1,-3)", -2},   {"mod(6,3)", 0},
        {"log10(1000)", 3},   {"sqrt(16)", 4},    {"exp(0)", 1},       {"log(1)", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        double derivative = NAN;
        const double value = eval(cases[i].text, 0.3, &derivative);
        if (!(value == cases[i].value)) {
            printf("  %s gave %.17g\n", cases[i].text, value);
        }
        CHECK(value == cases[i].value); /* all exact in binary */
        CHECK(derivative == 0.0);       /* and none depends on t */
    }
    CHECK(eval("pi", 0, NULL) == acos(-1.0));
    CHECK(eval("e", 0, NULL) == exp(1.0));
    CHECK_NEAR(eval("2*e", 0, NULL), 2 * exp(1.0), 1e-15);
    CHECK_NEAR(eval("sin(pi/2)", 0, NULL), 1.0, 0.0);
}

/* The fence of [B09 (3.66)]. */
TEST(a_prescribed_position_has_its_exact_velocity)
{
    for (int i = -20; i <= 20; ++i) {
        const double t = 0.37 * i;
        double derivative = NAN;
        CHECK_NEAR(eval("0.5 + 0.4*sin(t)", t, &derivative), 0.5 + 0.4 * sin(t), 0.0);
        CHECK_NEAR(derivative, 0.4 * cos(t), 0.0);
        CHECK_NEAR(eval("t^3 - 2*t", t, &derivative), t * t * t - 2 * t,
                   1e-13 * (1 + t * t * fabs(t)));
        CHECK_NEAR(derivative, 3 * t * t - 2, 1e-13 * (1 + t * t));
    }
}

TEST(every_function_agrees_with_central_differences)
{
    static const char* const texts[] = {
        "sin(2*t)",
        "cos(t^2)",
        "tan(t/3)",
        "asin(t/4)",
        "acos(t/4)",
        "atan(3*t)",
        "sinh(t)",
        "cosh(t)",
        "tanh(t)",
        "exp(-t)",
        "log(t)",
        "log10(2*t)",
        "sqrt(t)",
        "abs(t-5)",
        "floor(t)*t",
        "ceil(t)*t",
        "sign(t-9)*t",
        "min(t^2, 3*t)",
        "max(t^2, t)",
        "atan2(t, 1+t^2)",
        "mod(3*t, 2)",
        "mod(7.05, t)",
        "pow(t, 2.5)",
        "t^t",
        "2^t",
        "t/(1+t^2)",
        "-t^2*sin(t)/3",
        "if(t < 9, t^2, 0)",
        "(t < 1) * t",
        "atan2(sin(t), -2)",
        "sin(cos(tan(t/5)))",
    };
    const double times[] = {0.3, 0.7, 1.3, 2.2, 2.9};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        for (size_t k = 0; k < sizeof times / sizeof times[0]; ++k) {
            const double t = times[k], h = 1e-5;
            double derivative = NAN;
            eval(texts[i], t, &derivative);
            const double difference =
                (eval(texts[i], t + h, NULL) - eval(texts[i], t - h, NULL)) / (2 * h);
            /* h^2 f'''/6, and rounding 1e-16/h */
            CHECK_NEAR(derivative, difference, 1e-8 * (1 + fabs(derivative)));
        }
    }
}

TEST(a_constant_stays_constant_where_the_slope_is_infinite)
{
    static const char* const texts[] = {"sqrt(0)", "0^0.5", "log(0)*0 == 1",
                                        "asin(1)", "0^2",   "2^0"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        double derivative = NAN;
        eval(texts[i], 1.0, &derivative);
        CHECK(derivative == 0.0);
    }
    double derivative = NAN;
    CHECK(eval("t^0", 0.0, &derivative) == 1.0);
    CHECK(derivative == 0.0);
    CHECK(eval("t^2", 0.0, &derivative) == 0.0);
    CHECK(derivative == 0.0);
    CHECK(eval("t^1", 0.0, &derivative) == 0.0);
    CHECK(derivative == 1.0);
    CHECK(eval("abs(t)", 0.0, &derivative) == 0.0);
    CHECK(derivative == 0.0);
}

TEST(nan_passes_through_and_is_hidden_only_by_the_branch_not_taken)
{
    static const char* const texts[] = {
        "log(-1)",           "min(1, log(-1))", "max(log(-1), 1)", "sign(log(-1))",   "log(-1)^0",
        "1^log(-1)",         "log(-1) < 1",     "log(-1) != 1",    "abs(log(-1))",    "0*log(-1)",
        "if(log(-1), 1, 2)", "floor(log(-1))",  "mod(log(-1),2)",  "mod(1,0)",        "0/0",
        "atan2(log(-1),1)",  "asin(2)",         "min(log(-1), 1)", "max(1, log(-1))",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        const double value = eval(texts[i], 0.5, NULL);
        if (!isnan(value)) {
            printf("  %s gave %g\n", texts[i], value);
        }
        CHECK(isnan(value));
    }
    CHECK(isinf(eval("1/0", 0, NULL)));
    CHECK(isinf(eval("exp(1000)", 0, NULL)));
    CHECK(eval("if(t > 0, log(t), 0)", -1.0, NULL) == 0.0);
    CHECK(isnan(eval("t", NAN, NULL)));
}

TEST(an_error_says_what_was_expected_and_at_which_column)
{
    check_error("sin(t", "expression 'sin(t': expected ')' at column 6");
    check_error("", "expected a number, a name or '(' at column 1");
    check_error("   ", "expected a number, a name or '(' at column 4");
    check_error("1 +", "expected a number, a name or '(' at column 4");
    check_error("1 2", "expected an operator at column 3");
    check_error("2t", "expected an operator at column 2");
    check_error("(1+2", "expected ')' at column 5");
    check_error("1)", "unmatched ')' at column 2");
    check_error("sinn(t)", "unknown name 'sinn' (did you mean 'sin'?) at column 1");
    check_error("1 + x", "unknown name 'x'");
    check_error("1 + x", "at column 5");
    check_error("sin t", "expected '(' after 'sin' at column 5");
    check_error("min(1)", "'min' takes 2 arguments or more, at column 6");
    check_error("pow(1,2,3)", "'pow' takes 2 arguments, at column 8");
    check_error("sin(1,2)", "'sin' takes 1 argument, at column 6");
    check_error("if(1,2)", "'if' takes 3 arguments, at column 7");
    check_error("sin()", "expected a number, a name or '(' at column 5");
    check_error(".", "expected a digit");
    check_error("1e400", "too large");
    check_error("0 < t < 1", "comparisons do not chain");
    check_error("1 = 2", "expected an operator at column 3");
    check_error("t t", "expected an operator at column 3");
    check_error("1 & 2", "expected an operator at column 3");
    check_error("nan", "unknown name 'nan'");
    check_error("inf", "unknown name 'inf'");
    check_error("\x01", "expression '?'");
    check_error("0x10", "expected an operator at column 2");
    check_error("1..2", "expected an operator at column 3");
}

static void repeat(char* out, const char* a, int n, const char* middle, const char* b)
{
    out[0] = '\0';
    size_t at = 0;
    for (int i = 0; i < n; ++i) {
        at += (size_t)sprintf(out + at, "%s", a);
    }
    at += (size_t)sprintf(out + at, "%s", middle);
    for (int i = 0; i < n; ++i) {
        at += (size_t)sprintf(out + at, "%s", b);
    }
}

TEST(length_and_nesting_have_limits)
{
    static char text[100000];
    repeat(text, "(", 63, "t", ")");
    CHECK(eval(text, 3.0, NULL) == 3.0);
    repeat(text, "(", 64, "t", ")");
    check_error(text, "nested deeper than 64 levels");
    repeat(text, "2^", 2000, "1", "");
    check_error(text, "nested deeper than 64 levels");
    /* the worst for the stack: every kind of operand waits at every level */
    repeat(text, "1<1+1*if(1,1,", 63, "t", ")");
    CHECK(isfinite(eval(text, 3.0, NULL)));
    repeat(text, "-", 4000, "t", "");
    CHECK(eval(text, 3.0, NULL) == 3.0);
    repeat(text, "(", 3000, "", "");
    check_error(text, "nested deeper");
    repeat(text, "1", 5000, "", "");
    check_error(text, "number of more than 1024 digits");
    repeat(text, " ", 70000, "1", "");
    check_error(text, "limit 65536");
    repeat(text, "+1", 2047, "", "");
    CHECK(eval(text, 0.0, NULL) == 2047.0);
}

TEST(the_text_is_kept_and_evaluation_allocates_nothing)
{
    perp_context* context = open_context();
    perpi_expr* expr = NULL;
    REQUIRE_OK(perpi_expr_compile(context, "sin(t) + 1", &expr));
    CHECK_EQ_STR(perpi_expr_text(expr), "sin(t) + 1");
    const uint64_t before = perp_context_allocations(context);
    double derivative = 0.0;
    for (int i = 0; i < 100; ++i) {
        CHECK(isfinite(perpi_expr_eval(expr, i, &derivative)));
    }
    CHECK_EQ_U64(perp_context_allocations(context), before);
    perpi_expr_destroy(context, expr);
    perp_context_destroy(context);
}

/* ---- a second opinion: random trees, printed and evaluated here -------------------------------- */

typedef struct maker {
    uint64_t state;
    char text[4096];
    size_t length;
} maker;

static uint32_t draw(maker* m)
{
    /* splitmix64 */
    uint64_t z = (m->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

static void put(maker* m, const char* s)
{
    m->length += (size_t)snprintf(m->text + m->length, sizeof m->text - m->length, "%s", s);
}

/* Writes a random expression and returns its value, computed while it is written. Fully in
 * parentheses, so that this tests operations; precedence has its own table. */
static double make(maker* m, int depth, double t)
{
    const uint32_t kind = depth == 0 ? draw(m) % 3 : draw(m) % 14;
    double a, b, c;
    char number[32];
    switch (kind) {
    case 0: put(m, "t"); return t;
    case 1:
        snprintf(number, sizeof number, "%u.%u", draw(m) % 10, draw(m) % 10);
        put(m, number);
        return strtod(number, NULL);
    case 2: put(m, "pi"); return acos(-1.0);
    case 3:
        put(m, "(-");
        a = make(m, depth - 1, t);
        put(m, ")");
        return -a;
    case 4:
        put(m, "sin(");
        a = make(m, depth - 1, t);
        put(m, ")");
        return sin(a);
    case 5:
        put(m, "sqrt(abs(");
        a = make(m, depth - 1, t);
        put(m, "))");
        return sqrt(fabs(a));
    case 6:
        put(m, "exp(-abs(");
        a = make(m, depth - 1, t);
        put(m, "))");
        return exp(-fabs(a));
    case 7:
        put(m, "atan(");
        a = make(m, depth - 1, t);
        put(m, ")");
        return atan(a);
    case 8:
        put(m, "if(");
        a = make(m, depth - 1, t);
        put(m, " < 1, ");
        b = make(m, depth - 1, t);
        put(m, ", ");
        c = make(m, depth - 1, t);
        put(m, ")");
        return isnan(a) ? NAN : a < 1 ? b : c;
    case 9:
        put(m, "min(");
        a = make(m, depth - 1, t);
        put(m, ",");
        b = make(m, depth - 1, t);
        put(m, ")");
        return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    default: break;
    }
    static const char* const op[] = {" + ", "-", "*", "/"};
    put(m, "(");
    a = make(m, depth - 1, t);
    put(m, op[kind - 10]);
    b = make(m, depth - 1, t);
    put(m, ")");
    return kind == 10 ? a + b : kind == 11 ? a - b : kind == 12 ? a * b : a / b;
}

TEST(random_expressions_agree_with_a_second_evaluator)
{
    static maker m;
    m.state = 20240607;
    int compared = 0;
    for (int i = 0; i < 2000; ++i) {
        m.length = 0;
        m.text[0] = '\0';
        const double t = (double)(draw(&m) % 2000) / 500.0 - 2.0;
        const double expected = make(&m, 4, t);
        if (m.length + 1 >= sizeof m.text) {
            continue; /* cut short */
        }
        const double value = eval(m.text, t, NULL);
        CHECK(value == expected || (isnan(value) && isnan(expected)));
        ++compared;
    }
    CHECK_AT_LEAST(compared, 1900);
}

/* Any text either compiles or is refused with a column: no crash, no leak. */
TEST(random_text_never_breaks_the_compiler)
{
    static const char letters[] = "t0123.e+-*/^()<>=!,sincoexplgabmfr \t\"x";
    maker m = {.state = 7};
    perp_context* context = open_context();
    int compiled = 0;
    for (int i = 0; i < 20000; ++i) {
        char text[25];
        const size_t n = draw(&m) % (sizeof text - 1);
        for (size_t k = 0; k < n; ++k) {
            text[k] = letters[draw(&m) % (sizeof letters - 1)];
        }
        text[n] = '\0';
        perpi_expr* expr = NULL;
        const perp_status status = perpi_expr_compile(context, text, &expr);
        CHECK(status == PERP_OK || status == PERP_ERROR_INPUT);
        if (status == PERP_OK) {
            double derivative;
            (void)perpi_expr_eval(expr, 0.5, &derivative);
            ++compiled;
        } else {
            CHECK_CONTAINS(perp_context_error(context), " at column ");
        }
        perpi_expr_destroy(context, expr);
    }
    CHECK_AT_LEAST(compiled, 100);
    perp_context_destroy(context);
}

/* ---- curves ------------------------------------------------------------------------------------*/

TEST(curves_go_through_their_points_and_stay_at_the_ends)
{
    static const char* const kinds[] = {"linear", "cubic", "quintic"};
    static const double point[][2] = {{-1, 2}, {0.5, -3}, {0.75, 1}, {2, 1}, {2.5, 4}};
    for (int k = 0; k < 3; ++k) {
        char text[200];
        snprintf(text, sizeof text, "%s(t, -1,2, 0.5,-3, 0.75,1, 2,1, 2.5,4)", kinds[k]);
        for (int i = 0; i < 5; ++i) {
            CHECK_NEAR(eval(text, point[i][0], NULL), point[i][1], 1e-14);
        }
        double d;
        CHECK_NEAR(eval(text, -7, &d), 2, 0);
        CHECK_NEAR(d, 0, 0);
        CHECK_NEAR(eval(text, 7, &d), 4, 0);
        CHECK_NEAR(d, 0, 0);
        /* the derivative is that of the value */
        for (double t = -0.99; t < 2.5; t += 0.0613) {
            const double h = 1e-6;
            (void)eval(text, t, &d);
            CHECK_NEAR(d, (eval(text, t + h, NULL) - eval(text, t - h, NULL)) / (2 * h), 1e-6);
        }
    }
}

TEST(a_cubic_has_no_jump_in_curvature_and_rests_at_its_ends)
{
    const char* text = "cubic(t, 0,0, 1,2, 1.5,-1, 4,3)";
    const double h = 1e-4;
    for (int i = 0; i < 2; ++i) {
        const double t = i == 0 ? 1.0 : 1.5;
        double before, at, after;
        (void)eval(text, t - h, &before);
        (void)eval(text, t, &at);
        (void)eval(text, t + h, &after);
        CHECK_NEAR((after - at) / h, (at - before) / h, 0.02); /* third derivatives times h */
    }
    double d;
    (void)eval(text, 0, &d);
    CHECK_NEAR(d, 0, 0);
    (void)eval(text, 4 - 1e-9, &d);
    CHECK_NEAR(d, 0, 1e-7);
    /* two points: the cubic at rest at both, x = 3 s^2 - 2 s^3 */
    CHECK_NEAR(eval("cubic(t, 0,0, 2,1)", 0.5, NULL), 3.0 / 16 - 2.0 / 64, 1e-16);
}

TEST(a_quintic_is_the_curve_of_least_jerk)
{
    const double s = 0.3;
    double d;
    CHECK_NEAR(eval("quintic(t, 1,5, 3,9)", 1 + 2 * s, &d),
               5 + 4 * (10 * s * s * s - 15 * s * s * s * s + 6 * s * s * s * s * s), 1e-14);
    CHECK_NEAR(d, 4 * 30 * s * s * (1 - s) * (1 - s) / 2, 1e-14);
}

TEST(curves_are_functions_like_others)
{
    double d;
    CHECK_NEAR(eval("2*linear(mod(t, 1), 0,0, 1,3) + 1", 4.5, &d), 4, 1e-15);
    CHECK_NEAR(d, 6, 0);
    CHECK_NEAR(eval("linear(t, 0,-1.5)", 3, NULL), -1.5, 0);
    CHECK(isnan(eval("linear(log(-1), 0,0, 1,1)", 0, NULL)));
    check_error("linear(t, 0)", "a curve takes x, then pairs of time and value");
    check_error("linear(t)", "a curve takes x, then pairs of time and value");
    check_error("linear(t, 0,t)", "the points of a curve must be numbers");
    check_error("linear(t, 0,1+1)", "expected ',' or ')' at column 14");
    check_error("cubic(t, 1,0, 1,2)", "the times of a curve's points must ascend");
    check_error("quintic(t, 0,0", "expected ',' or ')'");
}

TEST(logic_binds_more_loosely_than_comparison_and_keeps_what_is_known)
{
    static const struct {
        const char* text;
        double value;
    } cases[] = {
        {"1 < 2 and 3 < 4", 1},
        {"1 < 2 && 4 < 3", 0},
        {"0 or 2", 1},
        {"0 || 0", 0},
        {"not 0", 1},
        {"!3", 0},
        {"not not 3", 1},
        {"!!0", 0},
        {"not 1 == 2", 1},
        {"1 or 0 and 0", 1},
        {"(1 or 0) and 0", 0},
        {"not 0 and 0", 0},
        {"1 != 2 and !(1 == 2)", 1},
        {"2 and -1", 1},
        {"if(1 and 0, 5, 6)", 6},
        {"0 and log(-1)", 0},
        {"log(-1) and 0", 0},
        {"1 or log(-1)", 1},
        {"log(-1) or 1", 1},
        {"hypot(3, 4)", 5},
        {"hypot(2, 3, 6)", 7},
        {"min(3, 1, 2)", 1},
        {"max(1, 5, 2, 4)", 5},
        {"max(-1, min(2, 3))", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const double value = eval(cases[i].text, 0.3, NULL);
        if (!(value == cases[i].value)) {
            printf("  %s gave %.17g\n", cases[i].text, value);
        }
        CHECK(value == cases[i].value);
    }
    CHECK(isnan(eval("1 and log(-1)", 0, NULL)));
    CHECK(isnan(eval("0 or log(-1)", 0, NULL)));
    CHECK(isnan(eval("not log(-1)", 0, NULL)));
    CHECK(isnan(eval("hypot(1/0, log(-1))", 0, NULL)));
    double d = 0.0;
    CHECK_NEAR(eval("hypot(3*t, 4*t)", 2.0, &d), 10.0, 1e-14);
    CHECK_NEAR(d, 5.0, 1e-14);
    check_error("1 and", "expected a number, a name or '(' at column 6");
    check_error("1 & 2", "expected an operator at column 3");
    check_error("and 1", "unknown name 'and'");
    check_error("not", "expected a number");
    check_error("android", "unknown name 'android'");
}

/* The names a, b.c and [d-e].f stand for 2, slot 0 and slot 1. */
static perp_status find_name(void* user, const perpi_expr_name* name, perpi_symbol* symbol)
{
    perp_context* context = user;
    if (strcmp(name->text, "a") == 0) {
        symbol->value = 2.0;
    } else if (strcmp(name->text, "b.c") == 0) {
        symbol->varies = true;
    } else if (strcmp(name->text, "d-e\x1f"
                                  "1.f") == 0) {
        *symbol = (perpi_symbol){.varies = true, .slot = 1};
    } else {
        return perpi_fail(context, PERP_ERROR_INPUT, "nothing is called %s", name->text);
    }
    return PERP_OK;
}

TEST(names_of_the_caller_are_constants_and_slots)
{
    perp_context* context = open_context();
    const perpi_expr_names names = {.find = find_name, .user = context};
    const double slot[2] = {10, 100};
    perpi_expr* expr = NULL;
    CHECK_OK(perpi_expr_compile_names(context, "a*b.c + [d-e.1].f^1 - t", &names, &expr));
    CHECK(perpi_expr_eval_names(expr, 1.0, slot) == 119.0);
    CHECK(perpi_expr_uses_time(expr));
    double margin = 0.0;
    CHECK(!perpi_expr_margin(expr, 1.0, slot, &margin));
    perpi_expr_destroy(context, expr);
    static const struct {
        const char* text;
        double margin;
    } cases[] = {{"b.c < 12", 2}, {"b.c >= 12", -2}, {"12 > b.c", 2}, {"a*b.c <= [d-e.1].f", 80}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CHECK_OK(perpi_expr_compile_names(context, cases[i].text, &names, &expr));
        CHECK(perpi_expr_margin(expr, 0.0, slot, &margin) && margin == cases[i].margin);
        CHECK(!perpi_expr_uses_time(expr));
        perpi_expr_destroy(context, expr);
    }
    static const char* const other[] = {"b.c == 10", "not b.c < 12", "b.c < 12 and 1", "b.c"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; ++i) {
        CHECK_OK(perpi_expr_compile_names(context, other[i], &names, &expr));
        CHECK(!perpi_expr_margin(expr, 0.0, slot, &margin));
        perpi_expr_destroy(context, expr);
    }
    expr = NULL;
    CHECK_EQ_INT(perpi_expr_compile_names(context, "1 + b.d", &names, &expr), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "nothing is called b.d at column 5");
    CHECK_EQ_INT(perpi_expr_compile_names(context, "[d-e", &names, &expr), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "expected ']'");
    const perpi_expr_names constant = {.find = find_name, .user = context, .no_time = "no time"};
    CHECK_EQ_INT(perpi_expr_compile_names(context, "a*t", &constant, &expr), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "no time at column 3");
    char longer[700] = "x.";
    memset(longer + 2, 'y', 600);
    CHECK_EQ_INT(perpi_expr_compile_names(context, longer, &names, &expr), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "name too long");
    CHECK(expr == NULL);
    perp_context_destroy(context);
}

/* x and y are slots 0 and 1. */
static perp_status find_slot(void* user, const perpi_expr_name* name, perpi_symbol* symbol)
{
    (void)user;
    *symbol = (perpi_symbol){.varies = true, .slot = strcmp(name->text, "x") == 0 ? 0 : 1};
    return PERP_OK;
}

static void add_term(void* user, double weight, const double* x)
{
    double* H = user; /* xx, xy, yy */
    H[0] += weight * x[0] * x[0];
    H[1] += weight * x[0] * x[1];
    H[2] += weight * x[1] * x[1];
}

/* At x = 3, y = 4. What stands in a square is linearised: of (hypot(x, y) - 2)^2 the part across
 * the radius is 0. */
TEST(curvature_of_gauss_and_newton_is_that_of_the_outermost_functions)
{
    static const struct {
        const char* text;
        double H[3];
    } cases[] = {
        {"x^2 + 3*y^2", {2, 0, 6}},       {"x*x/2 - 4", {1, 0, 0}},
        {"(x - 2*y)^2*1.5", {3, -6, 12}}, {"(hypot(x, y) - 2)^2", {0.72, 0.96, 1.28}},
        {"(x^2 - y)^2", {72, -12, 2}},    {"-(x^2) + pow(y, 4)", {0, 0, 192}},
        {"-(1 - x^2)", {2, 0, 0}},        {"hypot(x, y)", {0.128, -0.096, 0.072}},
        {"abs(-x^2)", {2, 0, 0}},         {"max(x^2, y^2) + if(x > y, x^2, 0)", {0, 0, 2}},
        {"exp(x - 3)", {1, 0, 0}},        {"x*y + sqrt(x) + y/x + sin(t*x)*0", {0, 0, 0}},
    };
    perp_context* context = open_context();
    const perpi_expr_names names = {.find = find_slot};
    const double slot[2] = {3, 4};
    const int32_t slots[2] = {0, 1};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        perpi_expr* expr = NULL;
        double H[3] = {0};
        CHECK_OK(perpi_expr_compile_names(context, cases[i].text, &names, &expr));
        perpi_expr_squares(expr, 0.5, slot, slots, 2, add_term, H);
        for (int k = 0; k < 3; ++k) {
            if (!(fabs(H[k] - cases[i].H[k]) <= 1e-8 * (1.0 + fabs(cases[i].H[k])))) {
                printf("  %s: %d is %.9g\n", cases[i].text, k, H[k]);
            }
            CHECK_NEAR(H[k], cases[i].H[k], 1e-8 * (1.0 + fabs(cases[i].H[k])));
        }
        perpi_expr_destroy(context, expr);
    }
    perp_context_destroy(context);
}
