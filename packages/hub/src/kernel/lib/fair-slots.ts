/**
 * Slots for work of groups that contain each other, such as tenants, their apps and their flows. Each
 * group gets a fair share (shares.ts). The groups of each level are served round robin, and the callers of
 * the innermost group first in, first out.
 */
import { createShares, type GroupPath, type Shares } from "./shares.ts";

export interface FairSlots {
  /** Takes a slot now, if one is free for the group and no caller of the group waits. */
  tryAcquire(path: GroupPath): Release | undefined;
  /** Calls `grant` when a slot is free. The returned function removes the caller from the queue. */
  wait(path: GroupPath, grant: (release: Release) => void): () => void;
  readonly shares: Pick<Shares, "room" | "draft" | "free">;
  /** The number of callers that wait. */
  readonly waiting: number;
  /** The innermost groups whose callers wait. */
  listWaiting(): { path: GroupPath; count: number }[];
}

/** Gives the slot back. Calling it again has no effect. */
export type Release = () => void;

export interface FairSlotsOptions {
  capacity: number;
  /** Called when a slot is free, and no caller that waits can have it. */
  onFree?: () => void;
}

/** The callers that wait in a group, or in the groups inside of it. */
interface Waiting {
  count: number;
  groups: Map<string, Waiting>;
  callers: Set<(release: Release) => void>;
}

const createWaiting = (): Waiting => ({ count: 0, groups: new Map(), callers: new Set() });

export function createFairSlots({ capacity, onFree = () => {} }: FairSlotsOptions): FairSlots {
  const shares = createShares(capacity);
  const all = createWaiting();

  const take = (path: GroupPath): Release => {
    const giveBack = shares.take(path, 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      giveBack();
      grantFree();
    };
  };
  const grantFree = (): void => {
    while (all.count > 0) {
      const next = takeNext(all, []);
      if (!next) break;
      next.grant(take(next.path));
    }
    if (shares.free > 0) onFree();
  };
  /** Takes the next caller out of the queue, from a group that has room. */
  const takeNext = (
    waiting: Waiting,
    path: GroupPath,
  ): { path: GroupPath; grant: (release: Release) => void } | undefined => {
    if (shares.room(path) < 1) return undefined;
    const [first] = waiting.callers;
    if (first) {
      waiting.callers.delete(first);
      waiting.count -= 1;
      return { path, grant: first };
    }
    for (const [name, group] of waiting.groups) {
      const next = takeNext(group, [...path, name]);
      if (!next) continue;
      waiting.count -= 1;
      // The group moves to the end of the round.
      waiting.groups.delete(name);
      if (group.count > 0) waiting.groups.set(name, group);
      return next;
    }
    return undefined;
  };
  const pathOf = (path: GroupPath): Waiting[] => {
    const found = [all];
    for (const name of path) {
      const { groups } = found.at(-1) as Waiting;
      const group = groups.get(name) ?? createWaiting();
      groups.set(name, group);
      found.push(group);
    }
    return found;
  };
  const countWaiting = (path: GroupPath): number => {
    let group: Waiting | undefined = all;
    for (const name of path) group = group?.groups.get(name);
    return group?.count ?? 0;
  };

  return {
    shares,
    tryAcquire(path) {
      const isFree = shares.room(path) >= 1 && (all.count === 0 || countWaiting(path) === 0);
      return isFree ? take(path) : undefined;
    },
    wait(path, grant) {
      const groups = pathOf(path);
      const { callers } = groups.at(-1) as Waiting;
      callers.add(grant);
      for (const group of groups) group.count += 1;
      return () => {
        if (!callers.delete(grant)) return;
        for (const [index, group] of groups.entries()) {
          group.count -= 1;
          if (group.count === 0) groups[index - 1]?.groups.delete(path[index - 1] as string);
        }
      };
    },
    get waiting() {
      return all.count;
    },
    listWaiting() {
      const list = (
        { groups, callers }: Waiting,
        path: GroupPath,
      ): { path: GroupPath; count: number }[] => [
        ...(callers.size > 0 ? [{ path, count: callers.size }] : []),
        ...[...groups].flatMap(([name, group]) => list(group, [...path, name])),
      ];
      return list(all, []);
    },
  };
}
