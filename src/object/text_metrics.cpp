#include "object/text_metrics.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <nearfield/object_metrics.hpp>

#include "core/infinity.hpp"
#include "object/edit_distance.hpp"
#include "object/edit_kernel.hpp"
#include "object/letter_signatures.hpp"
#include "object/symbols.hpp"

namespace nearfield {
namespace {

// Beyond any distance of texts.
constexpr std::int64_t kAnyDistance = std::int64_t{1} << 52;

std::int64_t whole_limit(double limit) {
  return limit < static_cast<double>(kAnyDistance) ? static_cast<std::int64_t>(limit)
                                                   : kAnyDistance;
}

class TextMetric : public ObjectMetric {
 public:
  bool whole_numbers() const override { return true; }
  std::shared_ptr<const ObjectSignatures> fit_signatures(
      std::span<const ObjectView> sample) const override {
    return LetterSignatures::fitted(sample);
  }
  std::shared_ptr<const ObjectSignatures> signatures(
      std::span<const std::byte> state) const override {
    return LetterSignatures::of_state(state);
  }
};

class EditMetric final : public TextMetric {
 public:
  std::string name() const override { return "edit"; }

  // Short texts of ASCII go to a kernel, several at a time; others one by one.
  void distances(ObjectView from, std::span<const ObjectView> to, double limit, Isa isa,
                 std::span<double> out) const override {
    const EditPattern pattern(symbols_of(from));
    const std::int64_t most = whole_limit(limit);
    const bool short_pattern = pattern.length() > 0 && pattern.length() <= kMostKernelText;
    Batch batch;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (short_pattern && std::ssize(to[i]) <= kMostKernelText && is_ascii(to[i])) {
        batch.add(to[i], i);
        if (batch.full()) batch.run(pattern, limit, isa, out);
      } else {
        out[i] = static_cast<double>(pattern.distance(symbols_of(to[i]), most));
      }
    }
    batch.run(pattern, limit, isa, out);
  }

 private:
  class Batch {
   public:
    void add(ObjectView text, std::size_t number) {
      texts_[count_] = {reinterpret_cast<const std::uint8_t*>(text.data()), std::ssize(text)};
      numbers_[count_++] = number;
    }
    bool full() const { return count_ == kTexts; }
    void run(const EditPattern& pattern, double limit, Isa isa, std::span<double> out) {
      edit_kernels(isa).distances({pattern.places(0), pattern.length(), texts_.data(),
                                   static_cast<std::int64_t>(count_), limit, distances_.data()});
      for (std::size_t i = 0; i < count_; ++i) out[numbers_[i]] = distances_[i];
      count_ = 0;
    }

   private:
    static constexpr std::size_t kTexts = 64;
    std::size_t count_ = 0;
    std::array<EditText, kTexts> texts_;
    std::array<std::size_t, kTexts> numbers_;
    std::array<double, kTexts> distances_;
  };
};

class DamerauMetric final : public TextMetric {
 public:
  std::string name() const override { return "damerau"; }

  void distances(ObjectView from, std::span<const ObjectView> to, double /*limit*/, Isa /*isa*/,
                 std::span<double> out) const override {
    const std::vector<char32_t> symbols = symbols_of(from);
    for (std::size_t i = 0; i < to.size(); ++i) {
      out[i] = static_cast<double>(damerau_distance(symbols, symbols_of(to[i])));
    }
  }
};

double one_distance(const ObjectMetric& metric, std::string_view a, std::string_view b) {
  const ObjectView to = ObjectBytes<std::string>::bytes(b);
  double distance = 0;
  metric.distances(ObjectBytes<std::string>::bytes(a), std::span(&to, 1), kInfinity, default_isa(),
                   std::span(&distance, 1));
  return distance;
}

}  // namespace

std::shared_ptr<const ObjectMetric> edit_metric() { return std::make_shared<EditMetric>(); }
std::shared_ptr<const ObjectMetric> damerau_metric() { return std::make_shared<DamerauMetric>(); }

double EditDistance::operator()(std::string_view a, std::string_view b) const {
  return one_distance(EditMetric(), a, b);
}
std::shared_ptr<const ObjectMetric> EditDistance::compiled() { return edit_metric(); }

double DamerauDistance::operator()(std::string_view a, std::string_view b) const {
  return one_distance(DamerauMetric(), a, b);
}
std::shared_ptr<const ObjectMetric> DamerauDistance::compiled() { return damerau_metric(); }

}  // namespace nearfield
