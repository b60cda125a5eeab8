import { expect, test } from "vitest";
import { createRunMemory, RUN_BYTES } from "./run-memory.ts";

const path = ["tenant", "app", "flow"];

test("counts what a run keeps until it closes", () => {
  const memory = createRunMemory(100 * RUN_BYTES);
  const run = memory.open("a", path);
  run.add(500);
  const again = memory.open("a", path); // claimed again after its lease had expired
  expect(memory.used).toBe(2 * RUN_BYTES + 500);
  run.close();
  run.add(0);
  run.close();
  expect(memory.used).toBe(RUN_BYTES);
  again.close();
  expect(memory.used).toBe(0);
});

test("does not count a run while it waits for runs that it has called", () => {
  const memory = createRunMemory(100 * RUN_BYTES);
  const run = memory.open("caller", path);
  const ends = [memory.pause("caller"), memory.pause("caller")];
  expect(memory.used).toBe(0);
  run.add(100);
  ends[0]?.();
  expect(memory.used).toBe(0);
  ends[1]?.();
  expect(memory.used).toBe(RUN_BYTES + 100);
  const end = memory.pause("caller");
  run.close();
  end();
  expect(memory.used).toBe(0);
  memory.pause("unknown")();
  expect(memory.used).toBe(0);
});
