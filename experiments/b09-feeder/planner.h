/* experiments/b09-feeder/planner.h - is there any way for the part through the device? */
#ifndef FEEDER_PLANNER_H
#define FEEDER_PLANNER_H

#include <stdbool.h>

enum { PLANNER_POLYGONS = 16, PLANNER_CORNERS = 6 };

typedef struct planner_polygon {
    double corner[PLANNER_CORNERS][2]; /* counter-clockwise, convex */
    int corners;
} planner_polygon;

typedef struct planner_task {
    planner_polygon wall[PLANNER_POLYGONS], part[PLANNER_POLYGONS]; /* part: about its own origin */
    int walls, parts;
    double low[2], high[2], cell[2]; /* the grid of positions of the part's origin */
    int angles;
    double start[3]; /* x, y, angle */
    double goal_y;   /* below it the part must have cos(angle) > goal_cosine */
    double goal_cosine;
} planner_task;

/* Depth-first search over the cells (x, y, angle) that are free, one cell or angle at a time,
 * downwards first. cells: how many poses were checked. */
bool planner_finds_way(const planner_task* task, long* cells);

#endif
