// Error-weighted hashing: rows are scored by the buckets they are met in, near the query's in each
// of several tables of random bits, and those with a high score are verified. What differs from the
// query in many bits may be missed: the answers are approximate, and say so.
#include <memory>
#include <span>
#include <string>

#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "index/ewh/ewh_file.hpp"
#include "index/ewh/ewh_search.hpp"
#include "index/ewh/ewh_tables.hpp"
#include "index/family.hpp"

namespace nearfield {
namespace {

class Ewh final : public Family {
 public:
  explicit Ewh(const IndexSpec& spec)
      : spec_(spec), parameters_(parse_ewh(spec)), flat_(make_flat(flat_spec(spec))) {}

  SharedFamilyData keep(MatrixView rows, const SharedFamilyData& before,
                        const Context& context) const override {
    const Monitor monitor(context, rows.rows());
    TableMaker maker(context, spec_.cols);
    return make_ewh_tables(rows, std::static_pointer_cast<const EwhTables>(before), parameters_,
                           maker, monitor);
  }
  std::int64_t bytes_to_keep(std::int64_t rows, const SharedFamilyData& before,
                             int threads) const override {
    return ewh_bytes(rows, spec_.cols, static_cast<const EwhTables*>(before.get()), parameters_,
                     threads);
  }
  std::unique_ptr<FamilyTensors> tensors(std::span<const PartView> parts, const Context& context,
                                         const Monitor& monitor) const override {
    return ewh_tensors(parts, parameters_, resolve_threads(context.threads), monitor);
  }
  std::int64_t bytes_to_write(std::span<const PartView> parts, int threads) const override {
    return bytes_to_write_ewh(live_rows(parts), spec_.cols, parameters_, threads);
  }
  SharedFamilyData open(const TensorFile& file, std::int64_t rows) const override {
    return open_ewh_tables(file, spec_, rows);
  }
  void verify(const FamilyData& data, MatrixView rows, const std::string& path,
              const Monitor& monitor, const Context& /*context*/) const override {
    verify_ewh_tables(static_cast<const EwhTables&>(data), rows, path, monitor);
  }

  void check_build_device(const Context& context) const override { check_devices(context); }
  // Also on several.
  void check_search_device(const Context& context) const override { check_devices(context); }
  Neighbors search(MatrixView queries, std::span<const AskedPart> parts, std::int64_t k,
                   const Context& context) const override {
    return ewh_search(*flat_, queries, parts, k, context);
  }
  Ranges within(MatrixView queries, std::span<const AskedPart> parts, double radius,
                const Context& context) const override {
    return ewh_within(*flat_, queries, parts, radius, context);
  }

 private:
  IndexSpec spec_;
  EwhParameters parameters_;
  std::unique_ptr<Family> flat_;
};

}  // namespace

std::unique_ptr<Family> make_ewh(const IndexSpec& spec) { return std::make_unique<Ewh>(spec); }

}  // namespace nearfield
