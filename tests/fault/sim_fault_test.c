/* Every allocation fails once: load, create, step, save, restore. No crash, no leak, no lie. */
#include "perp/perp.h"
#include "perp_test.h"
#include "support/scene_sim.h"

typedef struct ration {
    int64_t left;  /* allocations still granted; < 0: no limit */
    int64_t live;  /* blocks in use */
    int64_t asked; /* allocations asked for */
} ration;

static void* rationed(void* user, void* p, size_t size)
{
    ration* r = user;
    if (size == 0) {
        r->live -= p != NULL;
        free(p);
        return NULL;
    }
    r->asked += 1;
    if (r->left == 0) {
        return NULL;
    }
    r->left -= r->left > 0;
    void* q = realloc(p, size);
    r->live += p == NULL && q != NULL;
    return q;
}

static const char touching[] =
    "{'gravity':[0,0,-9.81],'step':0.01,'duration':0.2,'friction':{'default':0.5,"
    "'pairs':[{'a':'floor','b':'box','mu':0.3}]},'bodies':["
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
    "{'name':'gate','type':'kinematic','motion':{'position':['3+sin(t)',0,1]},"
    "'collides_with':['box'],'shapes':[{'type':'box','size':[1,1,1]}]},"
    "{'name':'box','density':1,'position':[0,0,0.5],"
    "'shapes':[{'type':'box','size':[1,1,1]}]},"
    "{'name':'ball','mass':1,'position':[0,0,1.5],'surface_velocity':['t',0,0],"
    "'shapes':[{'type':'sphere','radius':0.5}]}],"
    "'joint_correction':true,'joints':[{'name':'hinge','type':'revolute',"
    "'a':'world','b':'ball','at':[0.3,0,1.5],'axis':[0,1,0],'friction':0.1,"
    "'motor':{'type':'velocity','target':'t','max_effort':1}}],"
    "'forces':[{'type':'wrench','body':'box','force':['cos(t)',0,0]}]}";

/* Curves, tables, explicit and implicit springs, controllers. */
static const char driven[] =
    "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':0.2,'bodies':["
    "{'name':'hand','type':'kinematic','motion':{'table':[[0,1,2,0],[1,2,2,1]],"
    "'interpolation':'cubic','max_speed':1}},{'name':'arm','mass':1,'inertia':0.1,"
    "'position':[0.5,0]}],'joints':[{'name':'hinge','type':'revolute','a':"
    "'world','b':'arm','at':[0,0]}],'forces':[{'type':'spring','a':'hand',"
    "'b':'arm','stiffness':10},{'type':'spring','a':'hand','b':'arm',"
    "'stiffness':10,'implicit':false}],'controllers':[{'type':'pid','joint':'hinge',"
    "'kp':10,'ki':1,'target':'cubic(t, 0,0, 1,1)','max_effort':5},{'type':'pd',"
    "'body':'arm','axis':[1,1],'kp':3,'target':{'points':[[0,0],[1,2]]}}]}";

/* Impacts by both laws, fixed and adaptive steps, and the forces at the state they end with. */
#define BOUNCING(step, law)                                                                        \
    "{'gravity':[0,0,-9.81],'step':" step ",'duration':0.2,'restitution':{'law':'" law             \
    "','e':0.5},'friction':{'default':0.3},'bodies':["                                             \
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]"                 \
    "},"                                                                                           \
    "{'name':'ball','mass':1,'position':[0,0,0.51],'velocity':[1,0,-2],"                           \
    "'shapes':[{'type':'sphere','radius':0.5}]},"                                                  \
    "{'name':'box','mass':1,'position':[3,0,0.5],"                                                 \
    "'shapes':[{'type':'box','size':[1,1,1]}]}]}"
static const char bouncing_newton[] = BOUNCING("0.01", "newton");
static const char bouncing_poisson[] = BOUNCING("0.01", "poisson");
static const char bouncing_adaptive[] = BOUNCING("{'error':1e-2,'initial':0.01}", "poisson");
/* Without inertia, on supports, past a corner. */
static const char pushed[] =
    "{'dimension':2,'step':0.01,'duration':0.2,'stepper':'quasistatic','contact':"
    "'disjunctive','friction':{'default':0.2},'bodies':[{'name':'pusher','type':"
    "'kinematic','motion':{'position':['-0.7+t',0.1]},'shapes':[{'type':'circle',"
    "'radius':0.2}]},{'name':'block','mass':1,'support':{'tripod':[[0.2,0],[-0.1,0.1],"
    "[-0.1,-0.1]],'mu':0.3},'shapes':[{'type':'box','size':[1,1]}]},{'name':'fence',"
    "'type':'static','shapes':[{'type':'box','size':[1,1],'position':[1.0,-1.0]}]}]}";

/* Sets state and parameters, clones, asks, writes. */
static perp_status set_and_copy(perp_context* context, perp_sim* sim)
{
    const perp_model* model = perp_sim_model(sim);
    const int32_t last = perp_model_body_count(model) - 1;
    int32_t body = last; /* the last dynamic one */
    while (perp_model_body_info(model, body).type != PERP_BODY_DYNAMIC) {
        --body;
    }
    const perp_body_state state = perp_sim_body(sim, body);
    const double kick[3] = {state.velocity[0] + 0.01, state.velocity[1], state.velocity[2]};
    perp_sim* clone = NULL;
    perp_scene* scene = NULL;
    perp_distance distance;
    perp_status status = perp_sim_set_body_velocity(sim, body, kick, NULL);
    if (status == PERP_OK && perp_model_joint_count(model) > 0) {
        status = perp_sim_set_joint(sim, 0, perp_sim_joint(sim, 0).coordinate[0] + 1e-4, 0.0);
    }
    if (status == PERP_OK) {
        status = perp_sim_set_pair_friction(sim, 0, body, 0.25);
    }
    if (status == PERP_OK) {
        status = perp_sim_clone(sim, NULL, &clone);
    }
    if (status == PERP_OK) {
        status = perp_sim_step(clone);
    }
    if (status == PERP_OK) {
        status = perp_sim_distance(clone, 0, body, &distance);
    }
    if (status == PERP_OK) {
        status = perp_scene_from_sim(context, clone, 2, &scene);
    }
    if (status == PERP_OK) {
        status = perp_sim_reset(clone);
    }
    perp_scene_destroy(scene);
    perp_sim_destroy(clone);
    return status;
}

/* 0: all went well; else the status of the first call that failed. */
static perp_status everything(perp_context* context, const char* text)
{
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    char buffer[16384];
    size_t size = sizeof buffer;
    perp_status status = scene_parse(context, text, "fault", &scene);
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(context, scene, &sim);
    }
    for (int i = 0; status == PERP_OK && i < 5; ++i) {
        status = perp_sim_step(sim);
    }
    if (status == PERP_OK) {
        status = perp_sim_save(sim, buffer, &size);
    }
    if (status == PERP_OK) {
        status = perp_sim_restore(sim, buffer, size);
    }
    if (status == PERP_OK) {
        status = perp_sim_step(sim);
    }
    if (status == PERP_OK) {
        status = set_and_copy(context, sim);
    }
    if (status == PERP_OK && perp_model_bounces(perp_scene_model(scene))) {
        perp_forces* forces = NULL;
        status = perp_forces_find(sim, &forces);
        perp_forces_destroy(forces);
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    return status;
}

static void fail_each(const char* text)
{
    int64_t total = -1;
    int64_t failures = 0;
    for (int64_t n = -1; n < (total < 0 ? 0 : total); ++n) {
        ration r = {.left = n};
        perp_context_def def = perp_context_def_default();
        def.allocator.resize = rationed;
        def.allocator.user = &r;
        perp_context* context = NULL;
        perp_status status = perp_context_create(&def, &context);
        if (status == PERP_OK) {
            status = everything(context, text);
            if (status != PERP_OK) {
                CHECK(strlen(perp_context_error(context)) > 0);
            }
            perp_context_destroy(context);
        }
        if (n < 0) {
            REQUIRE_OK(status); /* the run without a limit */
            total = r.asked;
        } else {
            CHECK_EQ_INT(status, PERP_ERROR_MEMORY);
            failures += 1;
        }
        REQUIRE_EQ_INT(r.live, 0);
    }
    TEST_PRINT("%lld allocations, each failed once", (long long)failures);
}

TEST(whichever_allocation_fails_the_call_says_so_and_nothing_leaks)
{
    fail_each(touching);
    fail_each(driven);
    fail_each(bouncing_newton);
    fail_each(bouncing_poisson);
    fail_each(bouncing_adaptive);
    fail_each(pushed);
}
