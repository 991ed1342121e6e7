// A request to stop: seen where it is polled, and by shared loops only where the work allows it.
#include "lib/core/cancel.h"

#include <gtest/gtest.h>

#include <csignal>

#include "lib/core/error.h"

namespace bigbird {
namespace {

TEST(Cancel, OnlyWorkThatAllowsItStopsAnywhere) {
  EXPECT_NO_THROW(throw_if_cancelled());
  request_cancel(SIGTERM);
  EXPECT_EQ(cancel_signal(), SIGTERM);
  EXPECT_THROW(throw_if_cancelled(), Error);
  EXPECT_NO_THROW(throw_if_cancelled_anywhere()) << "training saves after the request";
  stop_anywhere(true);
  EXPECT_THROW(throw_if_cancelled_anywhere(), Error);
  clear_cancel();
  EXPECT_NO_THROW(throw_if_cancelled_anywhere());
  stop_anywhere(false);
}

}  // namespace
}  // namespace bigbird
