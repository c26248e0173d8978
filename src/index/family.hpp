// What differs from family to family of indexes: how their parts are searched.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/index.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/tune_index.hpp>

#include "core/monitor.hpp"
#include "filter/filter.hpp"
#include "index/family_data.hpp"
#include "index/part.hpp"
#include "search/row_finder.hpp"

namespace nearfield {

// A part, and which of its rows a search may return.
struct AskedPart {
  PartView view;
  std::optional<Range> only_rows = {};  // from a multiple of 64 on, up to another or to the end
  bool only_listed = false;
  std::vector<std::int64_t> listed = {};  // rows, if only these
  RowBits allowed = {};                   // else if not empty, a bit for each row
  bool by_row = false;                    // rows are told by their numbers, not by their ids
  // If not null, finds those of only_rows, which `flat` would look at one by one.
  std::shared_ptr<const RowFinder> finder = nullptr;

  RowFilter filter() const {
    if (only_listed) return RowFilter::list(listed);
    if (!allowed.empty()) return RowFilter::bitset(allowed);
    return view.live != nullptr ? RowFilter::bitset(*view.live) : RowFilter();
  }
};

class Family {
 public:
  virtual ~Family() = default;

  // Throws invalid_argument for rows that it cannot take, before any of them is added, and what the
  // monitor throws.
  virtual void check_rows(MatrixView /*rows*/, const Monitor& /*monitor*/) const {}

  // What it keeps of a part, beside its rows; null if nothing. `before` is what it has kept of the
  // first of them. Throws what its monitor throws.
  virtual SharedFamilyData keep(MatrixView /*rows*/, const SharedFamilyData& /*before*/,
                                const Context& /*context*/) const {
    return nullptr;
  }
  // What that takes at most, with its making; 0 where it makes nothing new.
  virtual std::int64_t bytes_to_keep(std::int64_t /*rows*/, const SharedFamilyData& /*before*/,
                                     int /*threads*/) const {
    return 0;
  }

  // The same of the live rows of parts, which come behind each other: what they have already may
  // be moved there.
  virtual std::int64_t bytes_to_gather(std::span<const PartView> parts, int threads) const {
    return bytes_to_keep(live_rows(parts), nullptr, threads);
  }
  // What parts share beside what is kept of each.
  virtual std::int64_t shared_bytes() const { return 0; }

  // Whether a part of so many rows keeps its vectors beside that.
  virtual bool keeps_vectors(std::int64_t /*rows*/) const { return true; }
  // What it keeps of the live rows of parts and of rows behind them, where no vectors are kept.
  // Null if it cannot be without them.
  virtual SharedFamilyData keep_alone(std::span<const PartView> /*parts*/, MatrixView /*behind*/,
                                      const Context& /*context*/) const {
    return nullptr;
  }
  // What it keeps of the live rows of parts, which were copied behind each other to `rows`.
  virtual SharedFamilyData keep_copied(std::span<const PartView> /*parts*/, MatrixView rows,
                                       const Context& context) const {
    return keep(rows, nullptr, context);
  }

  // The same of all rows of a file: as it is written, and as it is opened. Null if nothing. The
  // context has no memory limit, and reports nothing.
  virtual std::unique_ptr<FamilyTensors> tensors(std::span<const PartView> /*parts*/,
                                                 const Context& /*context*/,
                                                 const Monitor& /*monitor*/) const {
    return nullptr;
  }
  virtual std::int64_t bytes_to_write(std::span<const PartView> /*parts*/, int /*threads*/) const {
    return 0;
  }
  virtual SharedFamilyData open(const TensorFile& /*file*/, std::int64_t /*rows*/) const {
    return nullptr;
  }
  // Reads all that a file holds of it, and throws corrupt_file if the rows do not make it so. The
  // monitor is of the same context, and progress its alone.
  virtual void verify(const FamilyData& /*data*/, MatrixView /*rows*/, const std::string& /*path*/,
                      const Monitor& /*monitor*/, const Context& /*context*/) const {}

  // Throws unsupported for a device on which its searches do not run, and for one on which it does
  // not make what it keeps of rows that are added: any, if it does not say more.
  virtual void check_search_device(const Context& context) const;
  virtual void check_build_device(const Context& context) const;

  virtual Neighbors search(MatrixView queries, std::span<const AskedPart> parts, std::int64_t k,
                           const Context& context) const = 0;
  virtual Ranges within(MatrixView queries, std::span<const AskedPart> parts, double radius,
                        const Context& context) const = 0;

  // Parameters with which it finds enough. Throws unsupported where there is nothing to choose.
  virtual TunedIndex tune(const RowSource& rows, const RowSource& queries,
                          const TuneIndexOptions& options, const Context& context) const;
};

// What stands behind the name of a family: "name=value".
struct FamilyParameter {
  std::string_view name;
  std::string_view value;

  std::int64_t number() const;  // throws invalid_argument if it is none
  std::int64_t number(std::int64_t least, std::int64_t most) const;  // or if it is not within
};

// Of a text like "mih,tables=16". Throws invalid_argument.
std::vector<FamilyParameter> family_parameters(std::string_view family);

// Of the family that the spec names. Throws invalid_argument for one that there is not, and for
// parameters that it does not have.
std::unique_ptr<Family> make_family(const IndexSpec& spec);

// Of the same vectors, with every one looked at.
inline IndexSpec flat_spec(IndexSpec spec) {
  spec.family = "flat";
  return spec;
}

#define NEARFIELD_INDEX(name, text) std::unique_ptr<Family> make_##name(const IndexSpec& spec);
#include <nearfield/indexes.def>
#undef NEARFIELD_INDEX

}  // namespace nearfield
