/* bench/peers/scenes.hpp - the scenes S1 to S8, the same for every engine.
 *
 * A world is what an engine builds; a scene adds how long it runs, which steps count, and what is
 * known of its motion. Box2D is planar: it takes the x-z plane, and a heap of its own.
 */
#ifndef PEERS_SCENES_HPP
#define PEERS_SCENES_HPP

#include <functional>
#include <string>
#include <vector>

#include "geometry.hpp"

constexpr double GRAVITY = 9.81;

struct Body {
    enum Shape { BOX, SPHERE } shape = BOX;
    double mass = 1;
    Vec3 half;    /* half the sides; a sphere: its radius three times */
    Vec3 inertia; /* principal, about the centre */
    Vec3 position;
    Quaternion orientation;
    Vec3 velocity, angular_velocity;
};

/* The solid side is n . x <= offset. */
struct Plane {
    Vec3 normal;
    double offset;
};

/* A ball joint between body a (-1: the world) and body b. */
struct Joint {
    int a, b;
    Vec3 anchor;             /* in the world, at the start */
    Vec3 anchor_a, anchor_b; /* in the bodies */
};

struct World {
    Vec3 gravity{0, 0, -GRAVITY};
    double h = 0.01;
    double mu = 0.5;
    bool collide = true;
    bool planar = false;
    std::vector<Body> bodies;
    std::vector<Plane> planes;
    std::vector<Joint> joints;

    int add_box(double mass, Vec3 half, Vec3 position, Quaternion orientation = {});
    int add_sphere(double mass, double radius, Vec3 position);
    void add_ball_joint(int a, int b, Vec3 anchor);
};

struct State {
    Vec3 position;
    Quaternion orientation;
    Vec3 velocity, angular_velocity; /* both in the world */
};

/* Steps first .. last-1 are averaged. */
struct Window {
    std::string name;
    int first, last;
};

struct Scene {
    std::string name;
    std::string title;
    World world;
    int steps = 0;
    int batch = 1;               /* steps timed together, where one is too short for the clock */
    bool processor_time = false; /* long steps: time of the process instead of the wall clock */
    bool rests = false;          /* nothing should move: drift is an error */
    bool heap = false;
    std::vector<Window> windows;           /* the first is the one that tables show */
    int sample_from = 0, sample_every = 1; /* steps at which contacts are examined */
    /* Velocity of body 0 by the closed form at time t, compared at check_times. */
    std::function<Vec3(double)> velocity;
    std::vector<double> check_times;
};

/* Throws std::invalid_argument for a name that is none. planar: for an engine in the plane. */
Scene make_scene(const std::string& name, bool planar);

#endif
