/* rotation.h: rotations as unit quaternions (w, x, y, z).

   A quaternion is the rotation of the particle from its own frame to the laboratory; its matrix is
   R = rotation_matrix(q), and a pixel at s in the laboratory samples the particle's own reciprocal
   space at R^T s.  q and -q are the same rotation. */
#ifndef MTIP_ROTATION_H
#define MTIP_ROTATION_H

#include <stdint.h>

/* Row-major 3x3 matrix of a unit quaternion. */
void rotation_matrix(const double q[4], double r[9]);
/* The unit quaternion of a rotation matrix. */
void rotation_from_matrix(const double r[9], double q[4]);

/* product = a b: first b, then a. product may be a or b. */
void rotation_multiply(const double a[4], const double b[4], double product[4]);
void rotation_inverse(const double q[4], double inverse[4]);

/* Angle in radians, 0..pi, of the rotation that takes a to b. */
double rotation_angle(const double a[4], const double b[4]);

/* The uniformly distributed rotation that belongs to three independent uniform numbers in [0, 1)
   (Shoemake, Graphics Gems III, 1992). */
void rotation_uniform(const double u[3], double q[4]);

/* q = rotation by `angle` radians about the unit vector axis. */
void rotation_about(const double axis[3], double angle, double q[4]);

/* n rotations that cover SO(3) evenly: the super-Fibonacci spiral (Alexa, CVPR 2022).  Row i of
   quaternions [n][4] is the same whatever part of the set is asked for: rows first..first+count-1
   of the set of n are written, each multiplied from the left by `turn` (NULL: none). */
void rotation_cover(int64_t n, int64_t first, int64_t count, const double turn[4],
                    double *quaternions);

#endif
