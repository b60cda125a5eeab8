import fc from "fast-check";
import { expect, test } from "vitest";
import { createFairQueue } from "./fair-queue.ts";

test("does not delay a lane with one job behind a lane with many jobs", () => {
  const queue = createFairQueue<string>();
  for (let index = 0; index < 1000; index++) queue.add(["acme"], `acme ${index}`);
  queue.add(["umbrella"], "umbrella 0");
  const order = Array.from({ length: 1001 }, () => queue.next());
  expect(order.slice(0, 4)).toEqual(["acme 0", "umbrella 0", "acme 1", "acme 2"]);
  expect(order.at(-1)).toBe("acme 999");
  expect(queue.next()).toBeUndefined();
});

test("takes the next job of one outermost lane, if it is wanted", () => {
  const queue = createFairQueue<string>();
  for (const job of ["a1", "a2", "b1"]) queue.add([job.slice(0, 1)], job);
  expect(queue.nextOf(["a"], (job) => job !== "a1")).toBeUndefined();
  expect(queue.nextOf(["none"], () => true)).toBeUndefined();
  expect(queue.nextOf(["a"], () => true)).toBe("a1");
  expect([queue.next(), queue.next(), queue.next()]).toEqual(["b1", "a2", undefined]);
  expect(queue.nextOf(["a"], () => true)).toBeUndefined();
  queue.add(["a"], "a2");
  queue.add(["a"], "a1", "first");
  expect([queue.next(), queue.next()]).toEqual(["a1", "a2"]);
});

test("serves the lanes inside of a lane round robin, and puts jobs back in front of others of their lane", () => {
  const queue = createFairQueue<string>();
  for (const job of ["x1", "x2", "x3"]) queue.add(["acme", "shop", "x"], job);
  queue.add(["acme", "shop", "y"], "y1");
  queue.add(["acme", "blog", "z"], "z1");
  const taken = [
    queue.next(),
    queue.nextOf(["acme"], () => true),
    queue.nextOf(["acme"], () => true),
  ];
  expect(taken).toEqual(["x1", "z1", "y1"]);
  queue.add(["acme", "shop", "y"], "y1", "first");
  queue.add(["acme", "blog", "z"], "z1", "first");
  queue.add(["wayne"], "w1");
  expect(Array.from({ length: 6 }, () => queue.next())).toEqual([
    "w1",
    "z1",
    "x2",
    "y1",
    "x3",
    undefined,
  ]);
});

test("gives lanes with slow and with fast jobs the same time", () => {
  const queue = createFairQueue<string>();
  const path = (app: string) => ["acme", app] as const;
  for (let index = 0; index < 100; index += 1) {
    queue.add(path("slow"), "slow");
    queue.add(path("fast"), "fast");
  }
  const take = (length: number) =>
    Array.from({ length }, () => {
      const job = queue.next() as string;
      queue.charge(path(job), job === "slow" ? 150 : 3);
      return job;
    });
  const order = take(60);
  expect(order.indexOf("fast")).toBe(1);
  expect(order.filter((job) => job === "slow")).toHaveLength(2);
  // A new lane does not get the time that the others had before.
  for (let index = 0; index < 20; index += 1) queue.add(path("new"), "new");
  const shared = take(20).filter((job) => job === "new").length;
  expect(shared).toBeGreaterThan(8);
  expect(shared).toBeLessThan(12);
});

test("serves a lane that was slow behind the others when it gets a job again", () => {
  const queue = createFairQueue<string>();
  const addAll = () => {
    for (const job of ["slow", "fast"]) queue.add(["acme", job], job);
  };
  addAll();
  expect([queue.next(), queue.next()]).toEqual(["slow", "fast"]);
  queue.charge(["acme", "slow"], 600);
  addAll();
  expect([queue.next(), queue.next()]).toEqual(["fast", "slow"]);
  queue.charge(["acme", "slow"], 1);
  addAll();
  expect([queue.next(), queue.next()]).toEqual(["slow", "fast"]);
});

test.each(["tenants", "apps", "flows"])(
  "gives %s with a backlog their time beside others that have one job at a time",
  (level) => {
    const before = { tenants: [], apps: ["acme"], flows: ["acme", "shop"] }[level] ?? [];
    const path = (name: string) => [...before, name, "rest"] as unknown as [string, ...string[]];
    const queue = createFairQueue<string>();
    const ms: Record<string, number> = { backlog: 5, b: 15, c: 15, slow: 30 };
    for (let index = 0; index < 5_000; index += 1) queue.add(path("backlog"), "backlog");
    for (const name of ["b", "c", "slow"]) queue.add(path(name), name);
    const used: Record<string, number> = {};
    for (let index = 0; index < 1_000; index += 1) {
      const job = queue.next() as string;
      const took = ms[job] as number;
      queue.charge(path(job), took);
      used[job] = (used[job] ?? 0) + took;
      if (job !== "backlog") queue.add(path(job), job);
    }
    const times = ["backlog", "b", "c", "slow"].map((name) => used[name] ?? 0);
    expect(Math.min(...times) / Math.max(...times)).toBeGreaterThan(0.9);
  },
);

test("charges the remaining lanes for a job that was the last one of its lane", () => {
  const queue = createFairQueue<string>();
  queue.add(["acme", "shop"], "shop");
  expect(queue.next()).toBe("shop");
  queue.add(["acme", "blog"], "blog");
  queue.add(["wayne", "cave"], "cave");
  queue.charge(["acme", "shop"], 100);
  expect([queue.next(), queue.next()]).toEqual(["cave", "blog"]);
});

test("serves the lane with the least time first, and its jobs in order, while jobs are added and removed", () => {
  const name = fc.constantFrom("a", "b", "c");
  const path = fc.tuple(name, name);
  const operations = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ add: path }) },
      { weight: 1, arbitrary: fc.record({ remove: fc.nat(9) }) },
      { weight: 1, arbitrary: fc.record({ charge: path, ms: fc.nat(3) }) },
      { weight: 2, arbitrary: fc.constant({ next: true as const }) },
    ),
    { maxLength: 80, size: "max" },
  );
  // A simple model: the lanes in the order in which they are served, each with its lanes or its jobs.
  interface Lane {
    name: string;
    ms: number;
    now: number;
    former: Record<string, number>;
    lanes: Lane[];
    jobs: object[];
  }
  const createLane = (laneName: string, ms: number): Lane => ({
    name: laneName,
    ms,
    now: 0,
    former: {},
    lanes: [],
    jobs: [],
  });
  const addTime = ({ lanes }: Lane, lane: Lane, ms: number) => {
    lane.ms += ms;
    lanes.splice(lanes.indexOf(lane), 1);
    const behind = lanes.findIndex((other) => other.ms > lane.ms);
    lanes.splice(behind < 0 ? lanes.length : behind, 0, lane);
  };
  const find = ({ lanes }: Lane, wanted?: string) => lanes.find((lane) => lane.name === wanted);
  const addTo = (parent: Lane, [first, ...rest]: readonly string[], job: object): void => {
    if (first === undefined) {
      parent.jobs.push(job);
      return;
    }
    let lane = find(parent, first);
    if (!lane) {
      lane = createLane(first, Math.max(parent.now, parent.former[first] ?? 0));
      delete parent.former[first];
      parent.lanes.push(lane);
      addTime(parent, lane, 0);
    }
    addTo(lane, rest, job);
  };
  const chargeTo = (parent: Lane, [first, ...rest]: readonly string[], ms: number): void => {
    const lane = find(parent, first);
    if (first === undefined) return;
    if (!lane) {
      parent.former[first] = Math.max(parent.now, parent.former[first] ?? 0) + ms;
      return;
    }
    chargeTo(lane, rest, ms);
    addTime(parent, lane, ms);
  };
  const takeFrom = (parent: Lane): object | undefined => {
    const [first] = parent.lanes;
    if (!first) return parent.jobs.shift();
    parent.now = Math.max(parent.now, first.ms);
    const job = takeFrom(first);
    addTime(parent, first, 1 / 8);
    return job;
  };
  const removeFrom = (parent: Lane, job?: object): void => {
    for (const lane of parent.lanes) removeFrom(lane, job);
    parent.jobs = parent.jobs.filter((item) => item !== job);
    for (const { name, ms, lanes, jobs } of parent.lanes)
      if (lanes.length + jobs.length === 0 && ms > parent.now) parent.former[name] = ms;
    parent.lanes = parent.lanes.filter(({ lanes, jobs }) => lanes.length + jobs.length > 0);
  };
  fc.assert(
    fc.property(operations, (sequence) => {
      const queue = createFairQueue<object>();
      const added: { job: object; remove(): void }[] = [];
      const model = createLane("", 0);
      const takeNext = () => {
        expect(queue.next()).toBe(takeFrom(model));
        removeFrom(model);
      };
      for (const operation of sequence) {
        if ("add" in operation) {
          const job = { path: operation.add, index: added.length };
          added.push({ job, remove: queue.add(operation.add, job) });
          addTo(model, operation.add, job);
        } else if ("remove" in operation) {
          // The job may have been removed or taken already.
          const removed = added.at(-1 - operation.remove);
          removed?.remove();
          removeFrom(model, removed?.job);
        } else if ("charge" in operation) {
          queue.charge(operation.charge, operation.ms);
          chargeTo(model, operation.charge, operation.ms);
        } else {
          takeNext();
        }
      }
      while (model.lanes.length > 0) takeNext();
      expect(queue.next()).toBeUndefined();
    }),
  );
});

test("returns the number of jobs by outermost lane", () => {
  const queue = createFairQueue<string>();
  const [remove] = ["a1", "a2", "b1"].map((job) => queue.add([job.slice(0, 1)], job));
  expect([...queue.sizes()]).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
  remove?.();
  queue.nextOf(["b"], () => true);
  expect([...queue.sizes()]).toEqual([["a", 1]]);
});
