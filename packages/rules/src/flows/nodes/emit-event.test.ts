import { expect, it } from "vitest";
import { testContext } from "../test-context.ts";
import { emitEvent } from "./emit-event.ts";

it("stores the event, and returns its id", async () => {
  const events: unknown[] = [];
  const emit = async (event: unknown) => {
    events.push(event);
    return { id: "1" };
  };
  const { config } = emitEvent.sample;
  expect(await emitEvent.run(testContext({ config, emit }))).toEqual({ output: { id: "1" } });
  expect(await emitEvent.run(testContext({ config: { type: "tick" }, emit }))).toMatchObject({});
  expect(events).toEqual([config, { type: "tick", data: {} }]);
});

it("fails if the event cannot be stored", async () => {
  const error = new Error("over quota");
  const context = testContext({ config: { type: "tick" }, emit: () => Promise.reject(error) });
  await expect(emitEvent.run(context)).rejects.toBe(error);
});

it.each(["", "a\nb", "x".repeat(201), 5])("rejects the type %j", (type) => {
  expect(emitEvent.config.safeParse({ type }).success).toBe(false);
});
