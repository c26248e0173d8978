// `nearfield devices`: what --device may name here.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nearfield/device.hpp>

#include "help.hpp"
#include "json.hpp"
#include "standard_output.hpp"
#include "value_commands.hpp"

namespace nearfield::cli {
namespace {

std::string text_of(const DeviceList& list) {
  std::size_t width = 0;
  for (const DeviceInfo& device : list.devices) width = std::max(width, device.id.size());
  for (const MissingDevice& missing : list.missing) width = std::max(width, missing.kind.size());
  constexpr double kGibibyte = 1 << 30;
  std::string text;
  for (const DeviceInfo& device : list.devices) {
    text += fmt::format("{:{}}  {}, {} {}, {:.1f} GiB, {}\n", device.id, width,
                        device.name.empty() ? "no name" : device.name, device.units,
                        device.id == "cpu" ? "cores" : "units",
                        static_cast<double>(device.memory) / kGibibyte, device.driver);
  }
  for (const MissingDevice& missing : list.missing) {
    text += fmt::format("{:{}}  none: {}\n", missing.kind, width, missing.reason);
  }
  return text;
}

std::string json_of(const DeviceList& list) {
  JsonArray devices;
  for (const DeviceInfo& device : list.devices) {
    devices.add(JsonObject()
                    .add("id", device.id)
                    .add("name", device.name)
                    .add("driver", device.driver)
                    .add("memory", device.memory)
                    .add("units", device.units)
                    .add("is_cpu", device.is_cpu));
  }
  JsonArray missing;
  for (const MissingDevice& one : list.missing) {
    missing.add(JsonObject().add("kind", one.kind).add("reason", one.reason));
  }
  return JsonObject().add("devices", devices).add("missing", missing).text();
}

}  // namespace

void add_devices_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("devices", "The devices that --device may name, and what is missing");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object");
  command->footer(help_footer("for programs", "nearfield devices --json"));
  command->callback([json] {
    const DeviceList list = devices();
    print_result(*json ? json_of(list) : text_of(list));
  });
}

}  // namespace nearfield::cli
