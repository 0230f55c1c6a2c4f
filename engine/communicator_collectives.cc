// The collectives by name: each is one request.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/communicator.h"
#include "engine/pattern/allgather.h"
#include "engine/pattern/alltoall.h"
#include "engine/pattern/rooted.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {
namespace {

CollectiveRequest rooted(std::string_view name, Bytes size, Rank root, bool in_place, Region send,
                         Region receive) {
  return {.pattern = {.name = std::string(name), .size = size, .root = root, .in_place = in_place},
          .send_buffer = send,
          .receive_buffer = receive};
}

}  // namespace

std::shared_ptr<Work> Communicator::all_gather(Bytes size, bool in_place, Region send,
                                               Region receive, StreamId stream) {
  return collective(
      {.pattern = {.name = std::string(kAllGatherName), .size = size, .in_place = in_place},
       .send_buffer = send,
       .receive_buffer = receive},
      stream);
}

std::shared_ptr<Work> Communicator::all_to_all(Bytes size, bool in_place, Region send,
                                               Region receive, StreamId stream) {
  return collective(
      {.pattern = {.name = std::string(kAllToAllName), .size = size, .in_place = in_place},
       .send_buffer = send,
       .receive_buffer = receive},
      stream);
}

std::shared_ptr<Work> Communicator::all_to_all_v(std::vector<std::int64_t> row, bool in_place,
                                                 Region send, Region receive, StreamId stream) {
  return collective(
      {.pattern = {.name = std::string(kAllToAllVName), .size = Bytes(0), .in_place = in_place},
       .row = std::move(row),
       .send_buffer = send,
       .receive_buffer = receive},
      stream);
}

std::shared_ptr<Work> Communicator::all_to_all_v(std::shared_ptr<const TrafficMatrix> matrix,
                                                 bool in_place, Region send, Region receive,
                                                 StreamId stream) {
  return collective(
      {.pattern = {.name = std::string(kAllToAllVName), .size = Bytes(0), .in_place = in_place},
       .matrix = std::move(matrix),
       .send_buffer = send,
       .receive_buffer = receive},
      stream);
}

std::shared_ptr<Work> Communicator::broadcast(Bytes size, Rank root, bool in_place, Region send,
                                              Region receive, StreamId stream) {
  return collective(rooted(kBroadcastName, size, root, in_place, send, receive), stream);
}

std::shared_ptr<Work> Communicator::gather(Bytes size, Rank root, bool in_place, Region send,
                                           Region receive, StreamId stream) {
  return collective(rooted(kGatherName, size, root, in_place, send, receive), stream);
}

std::shared_ptr<Work> Communicator::scatter(Bytes size, Rank root, bool in_place, Region send,
                                            Region receive, StreamId stream) {
  return collective(rooted(kScatterName, size, root, in_place, send, receive), stream);
}

}  // namespace hoccl::engine
