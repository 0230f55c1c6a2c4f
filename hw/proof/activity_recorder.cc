#include "hw/proof/activity_recorder.h"

#include <cupti.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "engine/base/check.h"
#include "hw/cuda/cuda_error.h"

namespace hoccl::hw {
namespace {

// CUPTI wants aligned buffers of 1 MiB or more (its manual); a record is about 200 bytes.
constexpr std::size_t kBufferSize = std::size_t{1} << 22;
constexpr std::size_t kBufferAlignment = 64;  // CUPTI asks for 8

constexpr std::array kKinds = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                               CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};

std::string reason(CUptiResult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuptiGetResultString(result, &name) != CUPTI_SUCCESS || name == nullptr) name = "error";
  if (cuptiGetErrorMessage(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "no reason";
  return fmt::format("{} ({}): {}", name, static_cast<int>(result), text);
}

void require_cupti(CUptiResult result, const char* what) {
  if (result != CUPTI_SUCCESS) throw CudaError(fmt::format("{}: {}", what, reason(result)));
}

CopyDirection direction_of(std::uint8_t copy_kind) {
  switch (copy_kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return CopyDirection::kDeviceToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return CopyDirection::kHostToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return CopyDirection::kDeviceToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return CopyDirection::kPeer;
    default:
      return CopyDirection::kOther;  // arrays, host to host
  }
}

Channel channel_of(CUpti_ChannelType type) {
  if (type == CUPTI_CHANNEL_TYPE_COMPUTE) return Channel::kCompute;
  if (type == CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY) return Channel::kCopyEngine;
  return Channel::kOther;
}

// Which structure a record has follows from the CUPTI that was compiled against; see the note of
// each CUPTI_ACTIVITY_KIND_... in cupti_activity.h.
static_assert(CUPTI_API_VERSION >= 130000, "these are the records of CUDA 13");

template <class Record>
Activity with_times(const Record& record, ActivityKind kind) {
  Activity activity;
  activity.kind = kind;
  activity.channel = channel_of(record.channelType);
  activity.begin_ns = static_cast<std::int64_t>(record.start);
  activity.end_ns = static_cast<std::int64_t>(record.end);
  return activity;
}

template <class Record>
Activity copy_of(const Record& record) {
  Activity activity = with_times(record, ActivityKind::kMemcpy);
  activity.direction = direction_of(record.copyKind);
  activity.bytes = engine::Bytes(static_cast<std::int64_t>(record.bytes));
  return activity;
}

Activity read_memcpy(const CUpti_Activity* record) {
  const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
  Activity activity = copy_of(copy);
  activity.copy_count = std::max<std::int64_t>(static_cast<std::int64_t>(copy.copyCount), 1);
  return activity;
}

Activity read_peer_copy(const CUpti_Activity* record) {
  Activity activity = copy_of(*reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record));
  activity.direction = CopyDirection::kPeer;
  return activity;
}

Activity read_memset(const CUpti_Activity* record) {
  const auto& memset = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
  Activity activity = with_times(memset, ActivityKind::kMemset);
  activity.bytes = engine::Bytes(static_cast<std::int64_t>(memset.bytes));
  return activity;
}

Activity read_kernel(const CUpti_Activity* record) {
  const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
  Activity activity = with_times(kernel, ActivityKind::kKernel);
  activity.name = kernel.name == nullptr ? "(no name)" : kernel.name;
  return activity;
}

void append(std::vector<Activity>& activities, const CUpti_Activity* record) {
  // Others are not enabled.
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) activities.push_back(read_memcpy(record));
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) activities.push_back(read_peer_copy(record));
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) activities.push_back(read_memset(record));
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    activities.push_back(read_kernel(record));
  }
}

}  // namespace

struct ActivityRecorder::State {
  std::mutex users_mutex;  ///< held while CUPTI is switched; taken before records_mutex
  int users = 0;

  std::mutex records_mutex;  ///< CUPTI's threads take it in the callbacks
  std::vector<Activity> activities;
  std::int64_t lost = 0;
  std::string problem;  ///< the first one in a callback, which cannot throw

  static State& get() {
    static State* const state = new State;
    return *state;
  }

  static void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size,
                                        std::size_t* max_record_count) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferSize));
    *size = *buffer == nullptr ? 0 : kBufferSize;
    *max_record_count = 0;  // as many as fit
  }

  static void CUPTIAPI buffer_completed(CUcontext /*context*/, std::uint32_t /*stream*/,
                                        std::uint8_t* buffer, std::size_t /*size*/,
                                        std::size_t valid_size) {
    if (valid_size > 0) get().read(buffer, valid_size);
    std::free(buffer);
  }

  void read(std::uint8_t* buffer, std::size_t valid_size) {
    const std::lock_guard lock(records_mutex);
    CUpti_Activity* record = nullptr;
    CUptiResult result = CUPTI_SUCCESS;
    while ((result = cuptiActivityGetNextRecord(buffer, valid_size, &record)) == CUPTI_SUCCESS) {
      append(activities, record);
    }
    // An incomplete or unknown record ends the buffer: what follows it cannot be read.
    if (result == CUPTI_ERROR_INVALID_KIND) ++lost;
    if (result != CUPTI_ERROR_MAX_LIMIT_REACHED && result != CUPTI_ERROR_INVALID_KIND &&
        problem.empty()) {
      problem = "read CUPTI's records: " + reason(result);
    }
  }

  void enable() {
    for (const CUpti_ActivityKind kind : kKinds) {
      require_cupti(cuptiActivityEnable(kind), "start CUPTI's activity records");
    }
  }

  void flush() {
    // Full information first; then whatever is left, which judge() counts as incomplete.
    require_cupti(cuptiActivityFlushAll(0), "flush CUPTI's activity records");
    require_cupti(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED),
                  "flush the rest of CUPTI's activity records");
    std::size_t dropped = 0;  // since the last call, for want of buffers
    require_cupti(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped),
                  "count CUPTI's lost activity records");
    const std::lock_guard lock(records_mutex);
    lost += static_cast<std::int64_t>(dropped);
  }

  void disable() {
    for (const CUpti_ActivityKind kind : kKinds) {
      require_cupti(cuptiActivityDisable(kind), "stop CUPTI's activity records");
    }
  }

  Recording take() {
    const std::lock_guard lock(records_mutex);
    if (!problem.empty()) throw CudaError(std::exchange(problem, {}));
    std::ranges::stable_sort(activities, {}, &Activity::begin_ns);
    return {std::exchange(activities, {}), std::exchange(lost, 0)};
  }
};

ActivityRecorder::ActivityRecorder() : state_(&State::get()) {
  require_cupti(cuptiActivityRegisterCallbacks(&State::buffer_requested, &State::buffer_completed),
                "register with CUPTI");
}

ActivityRecorder& ActivityRecorder::instance() {
  static ActivityRecorder recorder;
  return recorder;
}

void ActivityRecorder::start() {
  const std::lock_guard lock(state_->users_mutex);
  if (state_->users == 0) {
    (void)state_->take();  // of activities that ended after the last flush
    state_->enable();
  }
  ++state_->users;
}

Recording ActivityRecorder::stop() {
  const std::lock_guard lock(state_->users_mutex);
  HOCCL_CHECK(state_->users > 0, "the activity recorder was stopped more often than started");
  if (--state_->users > 0) return {};
  state_->flush();
  state_->disable();
  return state_->take();
}

}  // namespace hoccl::hw
