// Everything.
#pragma once

#include <nearfield/context.hpp>
#include <nearfield/error.hpp>
#include <nearfield/files.hpp>
#include <nearfield/graph.hpp>
#include <nearfield/isa.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>
#include <nearfield/rows.hpp>
#include <nearfield/select.hpp>
#include <nearfield/stats.hpp>
#include <nearfield/version.hpp>
#include <nearfield/within.hpp>
