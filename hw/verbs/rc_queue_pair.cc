#include "hw/verbs/rc_queue_pair.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hw/bootstrap/authentication.h"
#include "hw/verbs/verbs_error.h"

namespace hoccl::hw {
namespace {

/// A header fits in two cache lines.
constexpr std::uint32_t kWantedInline = 128;
/// 0.64 ms until a write is offered again that found no receive (NCCL's value).
constexpr std::uint8_t kReceiverPause = 12;
/// A receiver that is busy is no failure: it is offered again without end (7, verbs' infinity), and
/// the operation's own timeout decides.
constexpr std::uint8_t kReceiverRetries = 7;
constexpr std::uint8_t kHopLimit = 255;

std::uint32_t random_packet_number() {
  std::uint32_t number = 0;
  fill_random(std::as_writable_bytes(std::span(&number, 1)));
  return number & 0xffffff;
}

}  // namespace

RcQueuePair::RcQueuePair(Nic& nic, std::uint64_t serial, const Depth& depth,
                         const VerbsOptions& options)
    : nic_(nic),
      serial_(serial),
      depth_(depth),
      options_(options),
      first_packet_(random_packet_number()) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = nic.completion_queue();
  wanted.recv_cq = nic.completion_queue();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = static_cast<std::uint32_t>(std::max(1, 2 * depth.writes));
  wanted.cap.max_recv_wr = static_cast<std::uint32_t>(std::max(1, depth.receives));
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_recv_sge = 1;
  wanted.cap.max_inline_data = kWantedInline;
  nic.reserve_completions(2 * depth.writes + depth.receives);
  queue_pair_.reset(::ibv_create_qp(nic.domain(), &wanted));
  if (!queue_pair_) {  // a device may have no inline
    wanted.cap.max_inline_data = 0;
    queue_pair_.reset(::ibv_create_qp(nic.domain(), &wanted));
  }
  if (!queue_pair_) {
    const int error = errno;
    nic.release_completions(2 * depth.writes + depth.receives);
    throw VerbsError("make a queue pair on " + nic.name(), error);
  }
  max_inline_ = wanted.cap.max_inline_data;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = nic.port();
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  const int error =
      ::ibv_modify_qp(queue_pair_.get(), &attributes,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) {
    nic.release_completions(2 * depth.writes + depth.receives);  // no destructor will
    throw VerbsError("prepare a queue pair on " + nic.name(), error);
  }
  for (int i = 0; i < depth.receives; ++i) post_receive();
}

RcQueuePair::~RcQueuePair() { nic_.release_completions(2 * depth_.writes + depth_.receives); }

QueuePairAddress RcQueuePair::address() const {
  return {nic_.address(), queue_pair_->qp_num, first_packet_};
}

void RcQueuePair::connect(const QueuePairAddress& peer) {
  std::uint32_t mtu = std::min(nic_.address().mtu_bytes, peer.nic.mtu_bytes);
  if (options_.mtu_bytes) mtu = std::min(mtu, static_cast<std::uint32_t>(*options_.mtu_bytes));
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = mtu_of(mtu);
  attributes.dest_qp_num = peer.number;
  attributes.rq_psn = peer.first_packet;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = kReceiverPause;
  attributes.ah_attr.port_num = nic_.port();
  attributes.ah_attr.dlid = peer.nic.lid;
  attributes.ah_attr.sl = static_cast<std::uint8_t>(options_.service_level);
  attributes.ah_attr.is_global = nic_.address().is_infiniband == 0 ? 1 : 0;
  std::memcpy(&attributes.ah_attr.grh.dgid, peer.nic.gid.data(), sizeof(ibv_gid));
  attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(nic_.gid_index());
  attributes.ah_attr.grh.hop_limit = kHopLimit;
  attributes.ah_attr.grh.traffic_class = static_cast<std::uint8_t>(options_.traffic_class);
  int error = ::ibv_modify_qp(queue_pair_.get(), &attributes,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) throw VerbsError("connect a queue pair on " + nic_.name(), error);
  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = static_cast<std::uint8_t>(options_.timeout);
  attributes.retry_cnt = static_cast<std::uint8_t>(options_.retries);
  attributes.rnr_retry = kReceiverRetries;
  attributes.sq_psn = first_packet_;
  attributes.max_rd_atomic = 1;
  error = ::ibv_modify_qp(queue_pair_.get(), &attributes,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (error != 0) throw VerbsError("start a queue pair on " + nic_.name(), error);
}

bool RcQueuePair::post_receive() {
  ibv_recv_wr request{};
  request.wr_id = CompletionTag{serial_, CompletionTag::Role::kReceive}.pack();
  ibv_recv_wr* bad = nullptr;
  return ::ibv_post_recv(queue_pair_.get(), &request, &bad) == 0;
}

bool RcQueuePair::post_write(const Payload* payload, const Header& header) {
  const bool fits = header.bytes.size() <= max_inline_;
  const auto address =
      fits ? reinterpret_cast<std::uint64_t>(header.bytes.data()) : header.from.address;
  ibv_sge header_memory{address, static_cast<std::uint32_t>(header.bytes.size()), header.from.key};
  ibv_send_wr second{};
  second.wr_id = CompletionTag{serial_, CompletionTag::Role::kHeader}.pack();
  second.sg_list = &header_memory;
  second.num_sge = 1;
  second.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  second.send_flags = static_cast<unsigned int>(IBV_SEND_SIGNALED);
  if (fits) second.send_flags |= static_cast<unsigned int>(IBV_SEND_INLINE);
  second.imm_data = htonl(header.immediate);
  second.wr.rdma.remote_addr = header.to.address;
  second.wr.rdma.rkey = header.to.key;

  ibv_sge memory{};
  ibv_send_wr first{};
  if (payload != nullptr) {
    memory = {payload->from.address, static_cast<std::uint32_t>(payload->size), payload->from.key};
    first.wr_id = CompletionTag{serial_, CompletionTag::Role::kPayload}.pack();
    first.next = &second;
    first.sg_list = &memory;
    first.num_sge = 1;
    first.opcode = IBV_WR_RDMA_WRITE;
    first.wr.rdma.remote_addr = payload->to.address;
    first.wr.rdma.rkey = payload->to.key;
  }
  ibv_send_wr* bad = nullptr;
  // On a queue pair in error posting succeeds, and the requests are flushed.
  return ::ibv_post_send(queue_pair_.get(), payload != nullptr ? &first : &second, &bad) == 0;
}

void RcQueuePair::to_error() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  // It fails only where the queue pair is in error, or the device is gone.
  ::ibv_modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE);
}

}  // namespace hoccl::hw
