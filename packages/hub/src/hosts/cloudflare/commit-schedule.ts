/**
 * Schedules the group commits of an object. A timer lets concurrent requests share a commit, but costs
 * about as much as a small commit. A single request is therefore committed without a timer.
 */
export interface CommitSchedule {
  /** Runs `work`, which receives a request, and counts it as concurrent until it has ended. */
  receive<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Runs `work`, a group commit: after a timer if several requests are being received. */
  defer(work: () => void): void;
}

export function createCommitSchedule(deferByTimer: (work: () => void) => void): CommitSchedule {
  let receivingCount = 0;
  return {
    async receive(work) {
      receivingCount += 1;
      try {
        return await work();
      } finally {
        receivingCount -= 1;
      }
    },
    defer: (work) => (receivingCount > 1 ? deferByTimer(work) : queueMicrotask(work)),
  };
}
