import { expect, test } from "vitest";
import { StorageUnavailable } from "./availability.ts";
import { execute, type Reads } from "./sql.ts";
import { bindVerbs, type VerbContext, writeThenRead } from "./verb.ts";

/** Binds one verb: a write that is followed by two reads. */
const bind = (read: () => void) =>
  bindVerbs({ claim }, {} as VerbContext, {
    async run(verb, writes) {
      if (!writes) read();
      const steps = verb();
      for (;;) {
        const { done, value } = steps.next([]);
        if (done) return value;
      }
    },
  });
const claim = writeThenRead("own", function* () {
  yield* statement();
  return readTwice();
});
function* readTwice(): Reads<string[]> {
  yield statement;
  yield statement;
  return ["claimed"];
}
const statement = () => execute("SELECT 1");

test("repeats a read that follows a committed write while the storage is unavailable", async () => {
  let reads = 0;
  const { claim } = bind(() => {
    reads += 1;
    if (reads < 3) throw new StorageUnavailable("the connection was lost");
  });
  expect(await claim()).toEqual(["claimed"]);
  expect(reads).toBe(4);
});

test("does not repeat a read that fails for another reason", async () => {
  let reads = 0;
  const { claim } = bind(() => {
    reads += 1;
    throw new Error("wrong");
  });
  await expect(claim()).rejects.toThrow("wrong");
  expect(reads).toBe(1);
});

test("yields to the event loop between long reads", async () => {
  let timers = 0;
  const { claim } = bind(() => {
    const until = performance.now() + 20;
    while (performance.now() < until);
    setTimeout(() => (timers += 1), 0);
  });
  await claim();
  expect(timers).toBe(2);
});
