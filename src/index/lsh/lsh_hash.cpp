#include "index/lsh/lsh_hash.hpp"

#include <array>
#include <cmath>

namespace nearfield {
namespace {

// Beyond, all cells are as one: a number of a cell fits 64 bits.
constexpr double kFarthestCell = 0x1p40;

double within_cells(double value) { return std::abs(value) < kFarthestCell ? value : 0; }

std::uint64_t shifted(std::uint64_t value, std::size_t by) { return value << by; }

// On which side of one level each projection is.
class OneSide final : public LshHash {
 public:
  std::uint64_t key(std::span<const double> projections,
                    std::span<const double> levels) const override {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < projections.size(); ++i) {
      key |= shifted(projections[i] > levels[i] ? 1 : 0, i);
    }
    return key;
  }

  void add_steps(std::span<const double> projections, std::span<const double> levels,
                 std::vector<ProbeStep>& steps) const override {
    for (std::size_t i = 0; i < projections.size(); ++i) {
      const double off = within_cells(projections[i] - levels[i]);
      steps.push_back({off * off, shifted(1, i), static_cast<int>(i)});
    }
  }
};

// Between which of three levels, which rise: two bits each.
class FourParts final : public LshHash {
 public:
  std::uint64_t key(std::span<const double> projections,
                    std::span<const double> levels) const override {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < projections.size(); ++i) {
      key |= shifted(part(projections[i], levels.subspan(3 * i, 3)), 2 * i);
    }
    return key;
  }

  void add_steps(std::span<const double> projections, std::span<const double> levels,
                 std::vector<ProbeStep>& steps) const override {
    for (std::size_t i = 0; i < projections.size(); ++i) {
      const std::span<const double> own = levels.subspan(3 * i, 3);
      const std::uint64_t at = part(projections[i], own);
      const auto add = [&](std::uint64_t next, double level) {
        const double off = within_cells(projections[i] - level);
        steps.push_back({off * off, shifted(at ^ next, 2 * i), static_cast<int>(i)});
      };
      if (at > 0) add(at - 1, own[at - 1]);
      if (at < 3) add(at + 1, own[at]);
    }
  }

 private:
  static std::uint64_t part(double projection, std::span<const double> levels) {
    std::uint64_t part = 0;
    for (const double level : levels) part += projection > level ? 1 : 0;
    return part;
  }
};

constexpr std::size_t kCellBits = kLshCellBits;
constexpr std::uint64_t kCellMask = (1 << kCellBits) - 1;

std::uint64_t cell_field(double number) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(number)) & kCellMask;
}

// The whole number below it: directions are in widths of a cell, and a level is an offset.
class Cells final : public LshHash {
 public:
  std::uint64_t key(std::span<const double> projections,
                    std::span<const double> levels) const override {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < projections.size(); ++i) {
      const double at = within_cells(projections[i] + levels[i]);
      key |= shifted(cell_field(std::floor(at)), kCellBits * i);
    }
    return key;
  }

  void add_steps(std::span<const double> projections, std::span<const double> levels,
                 std::vector<ProbeStep>& steps) const override {
    for (std::size_t i = 0; i < projections.size(); ++i) {
      const double at = within_cells(projections[i] + levels[i]);
      const double cell = std::floor(at);
      const auto add = [&](double next, double off) {
        const std::uint64_t change = cell_field(cell) ^ cell_field(next);
        steps.push_back({off * off, shifted(change, kCellBits * i), static_cast<int>(i)});
      };
      add(cell - 1, at - cell);
      add(cell + 1, cell + 1 - at);
    }
  }
};

constexpr std::size_t kLatticeCols = 8;
using LatticePoint = std::array<double, kLatticeCols>;

// The nearest point of D8, whole numbers with an even sum, moved by `shift`.
LatticePoint nearest_even(const LatticePoint& of, double shift) {
  LatticePoint point{};
  double sum = 0;
  double worst = -1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kLatticeCols; ++i) {
    point[i] = std::floor(of[i] - shift + 0.5);
    sum += point[i];
    const double off = std::abs(of[i] - shift - point[i]);
    if (off > worst) {
      worst = off;
      at = i;
    }
  }
  if (std::fmod(sum, 2) != 0) point[at] += of[at] - shift < point[at] ? -1 : 1;
  for (double& value : point) value += shift;
  return point;
}

double squared_distance(const LatticePoint& a, const LatticePoint& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kLatticeCols; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// E8 is D8 and D8 moved by a half in every direction.
LatticePoint nearest_of_e8(const LatticePoint& of) {
  const LatticePoint whole = nearest_even(of, 0);
  const LatticePoint half = nearest_even(of, 0.5);
  return squared_distance(of, half) < squared_distance(of, whole) ? half : whole;
}

// The 240 points that are nearest to 0.
const std::vector<LatticePoint>& e8_roots() {
  static const std::vector<LatticePoint> roots = [] {
    std::vector<LatticePoint> all;
    for (std::size_t i = 0; i < kLatticeCols; ++i) {
      for (std::size_t j = i + 1; j < kLatticeCols; ++j) {
        for (unsigned signs = 0; signs < 4; ++signs) {
          LatticePoint root{};
          root[i] = (signs & 1) != 0 ? -1 : 1;
          root[j] = (signs & 2) != 0 ? -1 : 1;
          all.push_back(root);
        }
      }
    }
    for (unsigned signs = 0; signs < 256; ++signs) {
      if (__builtin_popcount(signs) % 2 != 0) continue;
      LatticePoint root{};
      for (std::size_t i = 0; i < kLatticeCols; ++i) root[i] = (signs >> i & 1) != 0 ? -0.5 : 0.5;
      all.push_back(root);
    }
    return all;
  }();
  return roots;
}

// Twice a coordinate is a whole number, of which the last bits are kept.
std::uint64_t lattice_field(const LatticePoint& point) {
  std::uint64_t field = 0;
  for (std::size_t i = 0; i < kLatticeCols; ++i) {
    field |= shifted(cell_field(2 * point[i]), kCellBits * i);
  }
  return field;
}

// The nearest lattice point of each eight projections.
class Lattice final : public LshHash {
 public:
  std::uint64_t key(std::span<const double> projections,
                    std::span<const double> levels) const override {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < projections.size(); i += kLatticeCols) {
      key |= shifted(lattice_field(nearest_of_e8(moved(projections, levels, i))), kCellBits * i);
    }
    return key;
  }

  void add_steps(std::span<const double> projections, std::span<const double> levels,
                 std::vector<ProbeStep>& steps) const override {
    for (std::size_t i = 0; i < projections.size(); i += kLatticeCols) {
      const LatticePoint at = moved(projections, levels, i);
      const LatticePoint nearest = nearest_of_e8(at);
      const double least = squared_distance(at, nearest);
      for (const LatticePoint& root : e8_roots()) {
        LatticePoint next = nearest;
        for (std::size_t j = 0; j < kLatticeCols; ++j) next[j] += root[j];
        steps.push_back({squared_distance(at, next) - least,
                         shifted(lattice_field(nearest) ^ lattice_field(next), kCellBits * i),
                         static_cast<int>(i)});
      }
    }
  }

 private:
  static LatticePoint moved(std::span<const double> projections, std::span<const double> levels,
                            std::size_t first) {
    LatticePoint point{};
    for (std::size_t i = 0; i < kLatticeCols; ++i) {
      point[i] = within_cells(projections[first + i] + levels[first + i]);
    }
    return point;
  }
};

}  // namespace

const LshHash& lsh_hash(const LshScheme& scheme) {
  static const OneSide one_side;
  static const FourParts four_parts;
  static const Cells cells;
  static const Lattice lattice;
  if (scheme.kind == LshKind::floor) return cells;
  if (scheme.kind == LshKind::e8) return lattice;
  if (scheme.each == 2) return four_parts;
  return one_side;
}

}  // namespace nearfield
