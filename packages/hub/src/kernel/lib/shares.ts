/**
 * Divides a capacity among groups that contain each other, such as tenants, their apps and their flows.
 * A group may hold up to `RATIO` times what is free in the group above it. So no group can use all of the
 * capacity: whatever the others hold, a group that holds nothing gets some (dynamic thresholds, as in the
 * shared buffers of network switches).
 */

/** A group and those that contain it, the largest first: tenant, app, flow. */
export type GroupPath = readonly string[];

export interface Shares {
  /** How much more the group may hold; not positive if it has its share. */
  room(path: GroupPath): number;
  /** Takes an amount even if the group has no room. The returned function gives it back, once. */
  take(path: GroupPath, amount: number): () => void;
  /** The number of groups directly inside of `path` that hold something and have less room than `amount`. */
  countFull(path: GroupPath, amount: number): number;
  /** A copy in which a caller can try out what it takes. It must be used before the shares change. */
  draft(): Draft;
  readonly free: number;
}

interface Draft extends Pick<Shares, "room" | "countFull"> {
  take(path: GroupPath, amount: number): void;
}

/** A single flow then gets about half: a larger ratio would leave too little to new flows of the same app. */
const RATIO = 2;

interface Group {
  held: number;
  groups: Map<string, Group>;
}

export function createShares(capacity: number): Shares {
  const all: Group = { held: 0, groups: new Map() };
  const shares = createReader(capacity, all, () => 0);

  const change = (path: GroupPath, amount: number): void => {
    let group = all;
    group.held += amount;
    for (const name of path) {
      const parent: Group = group;
      group = parent.groups.get(name) ?? { held: 0, groups: new Map() };
      group.held += amount;
      if (group.held === 0) parent.groups.delete(name);
      else parent.groups.set(name, group);
    }
  };

  return {
    ...shares,
    take(path, amount) {
      change(path, amount);
      let isHeld = true;
      return () => {
        if (isHeld) change(path, -amount);
        isHeld = false;
      };
    },
    draft() {
      const taken = new Map<string, number>();
      const keyOf = (path: GroupPath, length: number) => JSON.stringify(path.slice(0, length));
      return {
        ...createReader(capacity, all, (path, length) => taken.get(keyOf(path, length)) ?? 0),
        take(path, amount) {
          for (let length = 0; length <= path.length; length += 1) {
            const key = keyOf(path, length);
            taken.set(key, (taken.get(key) ?? 0) + amount);
          }
        },
      };
    },
    get free() {
      return capacity - all.held;
    },
  };
}

/** `takenBy` is added to what the group of the first `length` names of a path holds. */
function createReader(
  capacity: number,
  all: Group,
  takenBy: (path: GroupPath, length: number) => number,
): Pick<Shares, "room" | "countFull"> {
  const room = (path: GroupPath): number => {
    let group: Group | undefined = all;
    let free = capacity - all.held - takenBy([], 0);
    for (const [index, name] of path.entries()) {
      group = group?.groups.get(name);
      const held = (group?.held ?? 0) + takenBy(path, index + 1);
      free = Math.min(free, RATIO * free - held);
    }
    return free;
  };
  return {
    room,
    countFull(path, amount) {
      let group: Group | undefined = all;
      for (const name of path) group = group?.groups.get(name);
      let full = 0;
      for (const name of group?.groups.keys() ?? []) if (room([...path, name]) < amount) full += 1;
      return full;
    },
  };
}
