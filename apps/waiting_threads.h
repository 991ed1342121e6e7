// Threads that wait for each other sleep instead of spinning.
#pragma once

namespace bigbird::apps {

// To be called first in main. OpenMP's library reads how threads wait before main begins, so the program
// starts itself once more, with OMP_WAIT_POLICY=passive in its environment, where a verb may run several
// threads and nobody has said how they wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME). Returns where
// that is not so, and where it cannot be done.
void let_waiting_threads_sleep(int argc, char** argv);

}  // namespace bigbird::apps
