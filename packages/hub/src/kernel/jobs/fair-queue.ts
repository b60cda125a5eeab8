import { BoundedMap } from "../lib/bounded-map.ts";

/**
 * Queues jobs in lanes that contain each other, such as tenants, their apps and their flows. Of the lanes inside
 * of a lane, the one whose jobs have taken the least time is served next, and the jobs of the innermost lane
 * are served in FIFO order. So a lane with slow jobs and a lane with fast jobs get the same time. Of a lane
 * without jobs, only the time is kept: otherwise, lanes with one job at a time would always come first.
 */
export interface FairQueue<Job> {
  /** Returns a function that removes the job; it does nothing if the job was already taken. */
  add(path: LanePath, job: Job, position?: "first" | "last"): () => void;
  /** Takes the next job of the next outermost lane that is not blocked. */
  next(isBlocked?: (lane: string) => boolean): Job | undefined;
  /** Takes the next job of this lane, or of those inside of it, if `isWanted` returns true for it. */
  nextOf(path: LanePath, isWanted: (job: Job) => boolean): Job | undefined;
  /** A job of the lane has taken this time. */
  charge(path: LanePath, ms: number): void;
  /** The number of jobs by outermost lane. It counts them one by one. */
  sizes(): Map<string, number>;
}

/** The names of a lane and of those that contain it, the outermost first. */
type LanePath = readonly [string, ...string[]];

/** Every job counts this much when it is taken. So lanes with fast jobs are served round robin. */
const MIN_MS = 1 / 8;

/** A lane whose last job has taken more than this begins behind the others by this job's time. */
const SLOW_MS = 20;
const MAX_SLOW_LANES = 1_000;
/** For so many lanes without jobs, the lane around them keeps their time. */
const MAX_FORMER_LANES = 1_000;

/** A node of a circular doubly linked list; the list's head is a node without a value. */
interface ListNode<Value> {
  value: Value | undefined;
  previous: ListNode<Value>;
  next: ListNode<Value>;
}

function createList<Value>(): ListNode<Value> {
  const head = { value: undefined } as ListNode<Value>;
  head.previous = head.next = head;
  return head;
}

/** True for the head of an empty list, and for a removed node. */
const isUnlinked = (node: ListNode<unknown>): boolean => node.next === node;

/** Before the head is the end of the list. */
function insertBefore<Value>(next: ListNode<Value>, value: Value): ListNode<Value> {
  const node = { value, previous: next.previous, next };
  next.previous.next = node;
  next.previous = node;
  return node;
}

function remove<Value>(node: ListNode<Value>): Value | undefined {
  node.previous.next = node.next;
  node.next.previous = node.previous;
  node.previous = node.next = node;
  return node.value;
}

/** A lane that has jobs and lanes serves its jobs first. */
interface Lane<Job> {
  name: string;
  parent: Lane<Job> | undefined;
  /** The time that its jobs have taken, added to the `now` of its parent when it began. */
  ms: number;
  /** The time of the lane inside of this one that was served last. A new lane does not get the time before it. */
  now: number;
  jobs: ListNode<Job>;
  lanes: Map<string, Lane<Job>>;
  /** The time of lanes without jobs, if it is after `now`. */
  former: BoundedMap<string, number>;
  /** The lanes inside of this one, in the order of their time. */
  sorted: ListNode<Lane<Job>>;
  /** The node of this lane in the list of its parent. */
  position: ListNode<Lane<Job>>;
}

export function createFairQueue<Job>(): FairQueue<Job> {
  const createLane = (name: string, parent?: Lane<Job>): Lane<Job> => ({
    name,
    parent,
    ms: parent?.now ?? 0,
    now: 0,
    jobs: createList(),
    lanes: new Map(),
    former: new BoundedMap(MAX_FORMER_LANES),
    sorted: createList(),
    position: createList(),
  });
  const all = createLane("");
  /** By the path of the lane, the time of its last job. */
  const slowMs = new BoundedMap<string, number>(MAX_SLOW_LANES);

  const moveBefore = (lane: Lane<Job>, next: ListNode<Lane<Job>>): void => {
    if (next === lane.position) return;
    remove(lane.position);
    lane.position = insertBefore(next, lane);
  };
  /** Behind the lanes with the same time. */
  const moveBack = (lane: Lane<Job>): void => {
    let { next } = lane.position;
    while (next.value && next.value.ms <= lane.ms) next = next.next;
    moveBefore(lane, next);
  };
  const openLane = (name: string, parent: Lane<Job>): Lane<Job> => {
    const lane = createLane(name, parent);
    parent.lanes.set(name, lane);
    lane.ms = Math.max(lane.ms, parent.former.get(name) ?? 0);
    parent.former.delete(name);
    moveBefore(lane, parent.sorted.next);
    moveBack(lane);
    return lane;
  };
  const dropIfEmpty = ({ name, parent, ms, jobs, lanes, position }: Lane<Job>): void => {
    if (!parent || !isUnlinked(jobs) || lanes.size > 0) return;
    remove(position);
    parent.lanes.delete(name);
    if (ms > parent.now) parent.former.set(name, ms);
    dropIfEmpty(parent);
  };
  const find = (path: LanePath): Lane<Job> | undefined => {
    let lane: Lane<Job> | undefined = all;
    for (const name of path) lane = lane?.lanes.get(name);
    return lane;
  };
  /** The innermost lane with the next job of a lane that is not empty. */
  const laneOfNext = (lane: Lane<Job>): Lane<Job> => {
    let found = lane;
    while (isUnlinked(found.jobs)) found = found.sorted.next.value as Lane<Job>;
    return found;
  };
  const charge = (innermost: Lane<Job>, ms: number): void => {
    for (let lane = innermost; lane.parent; lane = lane.parent) {
      lane.ms += ms;
      moveBack(lane);
    }
  };
  const takeFrom = (innermost: Lane<Job>): Job | undefined => {
    for (let lane = innermost; lane.parent; lane = lane.parent)
      lane.parent.now = Math.max(lane.parent.now, lane.ms);
    charge(innermost, MIN_MS);
    const job = remove(innermost.jobs.next);
    dropIfEmpty(innermost);
    return job;
  };
  const count = ({ jobs, lanes }: Lane<Job>): number => {
    let size = 0;
    for (let node = jobs.next; node !== jobs; node = node.next) size += 1;
    for (const lane of lanes.values()) size += count(lane);
    return size;
  };

  return {
    add(path, job, position = "last") {
      let lane = all;
      for (const name of path) {
        const parent: Lane<Job> = lane;
        lane = parent.lanes.get(name) ?? openLane(name, parent);
      }
      const { jobs } = lane;
      // With the lanes around it, the time of the lane is lost.
      if (isUnlinked(jobs) && lane.ms === lane.parent?.now) {
        lane.ms += slowMs.get(JSON.stringify(path)) ?? 0;
        moveBack(lane);
      }
      const node = insertBefore(position === "first" ? jobs.next : jobs, job);
      return () => {
        // Without this, a second call could drop a newer lane of the same name.
        if (isUnlinked(node)) return;
        remove(node);
        dropIfEmpty(lane);
      };
    },
    next(isBlocked = () => false) {
      let { next } = all.sorted;
      while (next.value && isBlocked(next.value.name)) next = next.next;
      return next.value && takeFrom(laneOfNext(next.value));
    },
    nextOf(path, isWanted) {
      const outer = find(path);
      if (!outer) return undefined;
      const lane = laneOfNext(outer);
      return isWanted(lane.jobs.next.value as Job) ? takeFrom(lane) : undefined;
    },
    charge(path, ms) {
      const key = JSON.stringify(path);
      if (ms > SLOW_MS) slowMs.set(key, ms);
      else slowMs.delete(key);
      let lane = all;
      for (const name of path) {
        const inner = lane.lanes.get(name);
        if (!inner) {
          lane.former.set(name, Math.max(lane.now, lane.former.get(name) ?? 0) + ms);
          break;
        }
        lane = inner;
      }
      charge(lane, ms);
    },
    sizes: () => new Map([...all.lanes].map(([name, lane]) => [name, count(lane)])),
  };
}
