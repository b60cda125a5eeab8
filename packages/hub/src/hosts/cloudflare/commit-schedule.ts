/**
 * Schedules the group commits of an object. A timer lets concurrent requests share a commit, but costs
 * about as much as a small commit. A single request is therefore committed without a timer.
 */
export interface CommitSchedule {
  /** Runs `work`, which handles one request. The request counts as active until `work` has ended. */
  receive<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Runs a group commit: after a timer if several requests are active, otherwise in a microtask. */
  defer(work: () => void): void;
}

export function createCommitSchedule(deferByTimer: (work: () => void) => void): CommitSchedule {
  let activeRequests = 0;
  return {
    async receive(work) {
      activeRequests += 1;
      try {
        return await work();
      } finally {
        activeRequests -= 1;
      }
    },
    defer: (work) => (activeRequests > 1 ? deferByTimer(work) : queueMicrotask(work)),
  };
}
