/* rotation.c: see rotation.h. */
#include "mtip/rotation.h"

#include <math.h>
#include <string.h>

static const double two_pi = 6.283185307179586476925;

static void normalize(double q[4])
{
    double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++)
        q[i] /= norm;
}

void rotation_matrix(const double q[4], double r[9])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    r[0] = 1 - 2 * (y * y + z * z);
    r[1] = 2 * (x * y - w * z);
    r[2] = 2 * (x * z + w * y);
    r[3] = 2 * (x * y + w * z);
    r[4] = 1 - 2 * (x * x + z * z);
    r[5] = 2 * (y * z - w * x);
    r[6] = 2 * (x * z - w * y);
    r[7] = 2 * (y * z + w * x);
    r[8] = 1 - 2 * (x * x + y * y);
}

void rotation_from_matrix(const double r[9], double q[4])
{
    /* Four times the square of each component; dividing by the largest loses no digits. */
    double squares[4] = {1 + r[0] + r[4] + r[8], 1 + r[0] - r[4] - r[8], 1 - r[0] + r[4] - r[8],
                         1 - r[0] - r[4] + r[8]};
    int largest = 0;
    for (int i = 1; i < 4; i++)
        if (squares[i] > squares[largest]) largest = i;

    double wx = r[7] - r[5], wy = r[2] - r[6], wz = r[3] - r[1];
    double xy = r[1] + r[3], xz = r[2] + r[6], yz = r[5] + r[7];
    double products[4][4] = {{squares[0], wx, wy, wz},
                             {wx, squares[1], xy, xz},
                             {wy, xy, squares[2], yz},
                             {wz, xz, yz, squares[3]}};
    memcpy(q, products[largest], sizeof products[largest]);
    normalize(q);
}

void rotation_multiply(const double a[4], const double b[4], double product[4])
{
    double q[4] = {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
                   a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                   a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
                   a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
    memcpy(product, q, sizeof q);
}

void rotation_inverse(const double q[4], double inverse[4])
{
    inverse[0] = q[0];
    for (int i = 1; i < 4; i++)
        inverse[i] = -q[i];
}

double rotation_angle(const double a[4], const double b[4])
{
    double inverse[4], q[4];
    rotation_inverse(a, inverse);
    rotation_multiply(inverse, b, q);
    /* The arc cosine of w would lose half the digits of small angles. */
    return 2 * atan2(sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), fabs(q[0]));
}

void rotation_uniform(const double u[3], double q[4])
{
    double r = sqrt(1 - u[0]), s = sqrt(u[0]);
    q[0] = r * sin(two_pi * u[1]);
    q[1] = r * cos(two_pi * u[1]);
    q[2] = s * sin(two_pi * u[2]);
    q[3] = s * cos(two_pi * u[2]);
}

void rotation_about(const double axis[3], double angle, double q[4])
{
    double s = sin(angle / 2);
    q[0] = cos(angle / 2);
    for (int i = 0; i < 3; i++)
        q[i + 1] = s * axis[i];
}

void rotation_cover(int64_t n, int64_t first, int64_t count, const double turn[4],
                    double *quaternions)
{
    /* The real root above 1 of psi^4 = psi + 4, and sqrt(2), as periods of the two spirals. */
    const double phi = 1.414213562373095048802, psi = 1.533751168755204288118041;
    for (int64_t i = 0; i < count; i++) {
        double s = (double)(first + i) + 0.5, t = s / (double)n;
        double r = sqrt(t), big = sqrt(1 - t), a = two_pi * s / phi, b = two_pi * s / psi;
        double *q = quaternions + 4 * i;
        q[0] = r * sin(a);
        q[1] = r * cos(a);
        q[2] = big * sin(b);
        q[3] = big * cos(b);
        if (turn) rotation_multiply(turn, q, q);
    }
}
