#include "engine/pipeline/own_mail.h"

#include <gtest/gtest.h>

#include "engine/pipeline/messages.h"
#include "tests/engine/pipeline/scripted_port.h"

namespace hoccl::engine {
namespace {

Message numbered(std::uint32_t number) {
  FlowMessage message;
  message.kind = MessageKind::kFlowSent;
  message.operation.number = number;
  return pack(message);
}

TEST(OwnMail, KeepsWhatIsForTheOwnRankInOrder) {
  ScriptedPort port(Rank(1));
  OwnMail mail(port);
  mail.post_message(Rank(1), numbered(1));
  mail.post_message(Rank(1), numbered(2));
  EXPECT_TRUE(port.messages.empty());
  EXPECT_EQ(unpack<FlowMessage>(mail.take()).operation.number, 1U);
  EXPECT_EQ(unpack<FlowMessage>(mail.take()).operation.number, 2U);
  EXPECT_TRUE(mail.empty());
}

TEST(OwnMail, SendsTheRest) {
  ScriptedPort port(Rank(1));
  OwnMail mail(port);
  mail.post_message(Rank(2), numbered(1));
  EXPECT_TRUE(mail.empty());
  ASSERT_EQ(port.messages.size(), 1U);
  EXPECT_EQ(port.messages[0].first, Rank(2));
}

}  // namespace
}  // namespace hoccl::engine
