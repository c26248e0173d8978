// Multi-index hashing: vectors of bits that differ little agree in some substring of bits, and are
// looked up by it. What is not in a table yet, and what costs less to scan, is scanned: the answers
// are those of `flat`.
#include <memory>
#include <span>
#include <string>

#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "index/family.hpp"
#include "index/mih/mih_file.hpp"
#include "index/mih/mih_search.hpp"
#include "index/mih/mih_tables.hpp"

namespace nearfield {
namespace {

class Mih final : public Family {
 public:
  explicit Mih(const IndexSpec& spec)
      : spec_(spec), parameters_(parse_mih(spec)), flat_(make_flat(flat_spec(spec))) {}

  SharedFamilyData keep(MatrixView rows, const SharedFamilyData& before,
                        const Context& context) const override {
    const Monitor monitor(context, rows.rows());
    TableMaker maker(context, spec_.cols);
    return make_mih_tables(rows, std::static_pointer_cast<const MihTables>(before), parameters_,
                           maker, monitor);
  }
  std::int64_t bytes_to_keep(std::int64_t rows, const SharedFamilyData& before,
                             int threads) const override {
    return mih_bytes(spec_, rows, static_cast<const MihTables*>(before.get()), parameters_,
                     threads);
  }
  std::unique_ptr<FamilyTensors> tensors(std::span<const PartView> parts, const Context& context,
                                         const Monitor& monitor) const override {
    return mih_tensors(parts, parameters_, resolve_threads(context.threads), monitor);
  }
  std::int64_t bytes_to_write(std::span<const PartView> parts, int threads) const override {
    return bytes_to_write_mih(live_rows(parts), threads);
  }
  SharedFamilyData open(const TensorFile& file, std::int64_t rows) const override {
    return open_mih_tables(file, spec_, rows);
  }
  void verify(const FamilyData& data, MatrixView rows, const std::string& path,
              const Monitor& monitor, const Context& /*context*/) const override {
    verify_mih_tables(static_cast<const MihTables&>(data), rows, path, monitor);
  }

  void check_build_device(const Context& context) const override { check_devices(context); }
  Neighbors search(MatrixView queries, std::span<const AskedPart> parts, std::int64_t k,
                   const Context& context) const override {
    return mih_search(*flat_, queries, parts, k, context);
  }
  Ranges within(MatrixView queries, std::span<const AskedPart> parts, double radius,
                const Context& context) const override {
    return mih_within(*flat_, queries, parts, radius, context);
  }

 private:
  IndexSpec spec_;
  MihParameters parameters_;
  std::unique_ptr<Family> flat_;
};

}  // namespace

std::unique_ptr<Family> make_mih(const IndexSpec& spec) { return std::make_unique<Mih>(spec); }

}  // namespace nearfield
