/* bench/peers/geometry.hpp - vectors, quaternions and rotations of the scenes and measures. */
#ifndef PEERS_GEOMETRY_HPP
#define PEERS_GEOMETRY_HPP

#include <cmath>

struct Vec3 {
    double x = 0, y = 0, z = 0;
    double operator[](int i) const
    {
        return i == 0 ? x : i == 1 ? y : z;
    }
};
inline Vec3 operator+(Vec3 a, Vec3 b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
inline Vec3 operator-(Vec3 a, Vec3 b)
{
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
inline Vec3 operator*(double s, Vec3 a)
{
    return {s * a.x, s * a.y, s * a.z};
}
inline double dot(Vec3 a, Vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
inline Vec3 cross(Vec3 a, Vec3 b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double norm(Vec3 a)
{
    return std::sqrt(dot(a, a));
}
inline bool finite(Vec3 a)
{
    return std::isfinite(a.x) && std::isfinite(a.y) && std::isfinite(a.z);
}

struct Quaternion {
    double w = 1, x = 0, y = 0, z = 0;
};

/* The body's axes in the world. */
struct Rotation {
    Vec3 axis[3];

    explicit Rotation(Quaternion q)
    {
        const double s = 2 / (q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
        axis[0] = {1 - s * (q.y * q.y + q.z * q.z), s * (q.x * q.y + q.w * q.z),
                   s * (q.x * q.z - q.w * q.y)};
        axis[1] = {s * (q.x * q.y - q.w * q.z), 1 - s * (q.x * q.x + q.z * q.z),
                   s * (q.y * q.z + q.w * q.x)};
        axis[2] = {s * (q.x * q.z + q.w * q.y), s * (q.y * q.z - q.w * q.x),
                   1 - s * (q.x * q.x + q.y * q.y)};
    }
    Vec3 to_world(Vec3 a) const
    {
        return a.x * axis[0] + a.y * axis[1] + a.z * axis[2];
    }
    Vec3 to_body(Vec3 a) const
    {
        return {dot(axis[0], a), dot(axis[1], a), dot(axis[2], a)};
    }
};

#endif
