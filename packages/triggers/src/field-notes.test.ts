/** The defects of trigger SDKs in the field, each as a test that this one does not have it. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { z } from "zod";
import { createTriggers, type TriggerStorage } from "./index.ts";
import { memoryStorage } from "./memory-storage.ts";
import { configure, quickRetries } from "./test-support.ts";
import { type CallbackReceiver, openCallbackReceiver } from "./testing/callback-receiver.ts";

let hub: CallbackReceiver;
let triggers: ReturnType<typeof open>;
let storage: TriggerStorage;

const open = () =>
  createTriggers({
    definitions: [
      {
        type: "issue",
        description: "A new issue.",
        params: z.object({ level: z.enum(["low", "high"]).optional().describe("How much.") }),
      },
      { type: "push", description: "A push." },
    ],
    storage,
    ...quickRetries,
  });
const sub = (id: string, rest: object = {}) => ({
  type: "issue",
  subscriptionId: id,
  callbackUrl: hub.url,
  callbackToken: `token-${id}`,
  ...rest,
});
const tokens = () => hub.received.map(({ token }) => token);
const until = (condition: () => void) => vi.waitFor(condition, { timeout: 60_000, interval: 5 });

beforeEach(async () => {
  hub = await openCallbackReceiver();
  storage = { ...memoryStorage(), isDurable: true };
  triggers = open();
});
afterEach(async () => {
  await triggers.close();
  await hub.close();
});

it("SDK: disabling one of two triggers of a type kills both", async () => {
  await configure(triggers, sub("a"));
  await configure(triggers, sub("b"));
  await configure(triggers, sub("a", { enabled: false }));
  await triggers.notify("c", "issue", {});
  await triggers.flush();
  expect(tokens()).toEqual(["token-b"]);
});

it("SDK: after a restart, enabling one forgets the other", async () => {
  await configure(triggers, sub("a"));
  await triggers.close();
  triggers = open();
  await configure(triggers, sub("b", { type: "push" }));
  await triggers.notify("c", "issue", {});
  await triggers.flush();
  expect(tokens()).toEqual(["token-a"]);
});

it("SDK: undeclared types are sent", async () => {
  expect(await configure(triggers, sub("a", { type: "other" }))).toContain("unknown trigger type");
  await configure(triggers, sub("a"));
  await expect(triggers.notify("c", "other" as "push", {})).rejects.toThrow("unknown trigger type");
  await triggers.flush();
  expect(hub.received).toEqual([]);
});

it("SDK: params are never parsed", async () => {
  expect(await configure(triggers, sub("a", { params: { level: "middle" } }))).toContain(
    "params.level: ",
  );
  await configure(triggers, sub("a", { params: { level: "high" } }));
  for (const level of ["low", "high"]) await triggers.notify("c", "issue", { level });
  await triggers.flush();
  expect(hub.received).toMatchObject([{ body: { data: { level: "high" } } }]);
});

it("SDK: z.enum().optional() loses its values", async () => {
  const list = await triggers.tools()[0]?.handler({}, {});
  expect(list?.structuredContent).toMatchObject({
    triggers: [
      { paramsSchema: { level: { enum: ["low", "high"], description: "How much." } } },
      { type: "push" },
    ],
  });
});

it("SDK: a rotated token is never reloaded", async () => {
  hub.answer = ({ token }) => (token === "rotated" ? 202 : 401);
  await configure(triggers, sub("a"));
  await triggers.notify("c", "issue", {});
  await triggers.flush();
  await configure(triggers, sub("a", { callbackToken: "rotated" }));
  await until(() => expect(tokens().at(-1)).toBe("rotated"));
});

it("SDK: one fetch, no retry, no id", async () => {
  hub.answer = () => (hub.received.length < 3 ? 500 : 202);
  await configure(triggers, sub("a"));
  const { id } = await triggers.notify("c", "issue", {});
  await until(() => expect(hub.received).toHaveLength(3));
  expect(hub.received.map(({ body }) => body?.id)).toEqual([id, id, id]);
});

it("pause and resume kills a trigger", async () => {
  await configure(triggers, sub("a"));
  await configure(triggers, sub("a", { enabled: false }));
  await triggers.notify("c", "issue", {});
  await configure(triggers, sub("a", { callbackToken: "resumed" }));
  await triggers.notify("c", "issue", {});
  await triggers.flush();
  expect(tokens()).toEqual(["resumed"]);
});
