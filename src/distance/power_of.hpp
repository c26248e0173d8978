// Powers for what is no kernel.
#pragma once

namespace nearfield {

// x^p by power.h, the same bits on every machine. x is not negative, p is above 0 and finite.
double power_of(double x, double p);

}  // namespace nearfield
