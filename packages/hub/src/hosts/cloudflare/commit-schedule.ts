/**
 * When an object commits new events. Concurrent requests share a commit, but only a timer lets them join,
 * and it costs about as much as a small commit: a request that is alone is committed without one.
 */
export interface CommitSchedule {
  /** Counts a request until `work` has ended. */
  receive<Result>(work: () => Promise<Result>): Promise<Result>;
  defer(work: () => void): void;
}

export function createCommitSchedule(deferByTimer: (work: () => void) => void): CommitSchedule {
  let receiving = 0;
  return {
    async receive(work) {
      receiving += 1;
      try {
        return await work();
      } finally {
        receiving -= 1;
      }
    },
    defer: (work) => (receiving > 1 ? deferByTimer(work) : queueMicrotask(work)),
  };
}
