/* src/scene/package.h - where the files that a robot names are. */
#ifndef PERPI_PACKAGE_H
#define PERPI_PACKAGE_H

#include "base/context.h"

/* An absolute path of an existing file, to be freed with free; NULL: not found.
 *
 * package://NAME/REST and model://NAME/REST: in the folder given (of the package, or of packages; may be
 * NULL), in those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH (model: also of GAZEBO_MODEL_PATH), beside
 * the robot's file and in the folders above it. file://PATH and absolute paths; others are relative
 * to the robot's file. origin: the path of the robot's file. */
char* perpi_package_find(const char* origin, const char* package, const char* file);

/* The same for any text that names no file of a package, for messages: whether a package is named. */
bool perpi_package_named(const char* file);

#endif
