#include "engine/pipeline/receive_stager.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/engine/pipeline/scripted_port.h"

namespace hoccl::engine {
namespace {

class ReceiveStagerTest : public testing::Test {
 protected:
  void request(int send_nic, int chunks) {
    CreditCountMessage message;
    message.kind = MessageKind::kCreditRequest;
    message.send_nic = NicId(send_nic);
    message.receive_nic = NicId(1);
    message.count = chunks;
    stager_.credits_requested(message);
  }
  /// Slots promised so far, by the NIC that may write them.
  std::map<NicId, int> promised() {
    stager_.act();
    std::map<NicId, int> result;
    for (const auto& [target, message] : port_.messages) {
      if (kind_of(message) != MessageKind::kCredit) continue;
      const auto credit = unpack<CreditMessage>(message);
      result[credit.send_nic] += static_cast<int>(credit.count);
    }
    return result;
  }
  [[nodiscard]] int slots() const { return port_.staging(PlaceId(1)).receive_slot_count; }

  ScriptedPort port_{Rank(1)};
  PipelineOptions options_;
  ReceiveStager stager_{port_, options_};
};

TEST_F(ReceiveStagerTest, PromisesSlotsInProportionToWhatIsWanted) {
  ASSERT_EQ(slots() % 4, 0);
  request(5, slots() / 2);
  request(6, 3 * slots() / 2);
  const int share = slots() / 4;
  EXPECT_EQ(promised(), (std::map<NicId, int>{{NicId(5), share}, {NicId(6), 3 * share}}));
}

TEST_F(ReceiveStagerTest, KeepsNothingForThoseWhoWantNoMore) {
  request(5, 1);
  request(6, slots());
  EXPECT_EQ(promised(), (std::map<NicId, int>{{NicId(5), 1}, {NicId(6), slots() - 1}}));
}

}  // namespace
}  // namespace hoccl::engine
