/** Regression tests for the defects that were found in other trigger SDKs. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { z } from "zod";
import { createTriggers, type TriggerStorage } from "./index.ts";
import { memoryStorage } from "./memory-storage.ts";
import { configure, quickRetries } from "./test-support.ts";
import { type CallbackReceiver, openCallbackReceiver } from "./testing/callback-receiver.ts";

let hub: CallbackReceiver;
let triggers: ReturnType<typeof openTriggers>;
let storage: TriggerStorage;

const openTriggers = () =>
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
const subscriptionArgs = (id: string, changes: object = {}) => ({
  type: "issue",
  subscriptionId: id,
  callbackUrl: hub.url,
  callbackToken: `token-${id}`,
  ...changes,
});
const receivedTokens = () => hub.received.map(({ token }) => token);
const until = (condition: () => void) => vi.waitFor(condition, { timeout: 60_000, interval: 5 });

beforeEach(async () => {
  hub = await openCallbackReceiver();
  storage = { ...memoryStorage(), isDurable: true };
  triggers = openTriggers();
});
afterEach(async () => {
  await triggers.close();
  await hub.close();
});

it("keeps a subscription when another one of the same type is disabled", async () => {
  await configure(triggers, subscriptionArgs("a"));
  await configure(triggers, subscriptionArgs("b"));
  await configure(triggers, subscriptionArgs("a", { enabled: false }));
  await triggers.notify("c", "issue", {});
  await triggers.flush();
  expect(receivedTokens()).toEqual(["token-b"]);
});

it("keeps a subscription when another one is enabled after a restart", async () => {
  await configure(triggers, subscriptionArgs("a"));
  await triggers.close();
  triggers = openTriggers();
  await configure(triggers, subscriptionArgs("b", { type: "push" }));
  await triggers.notify("c", "issue", {});
  await triggers.flush();
  expect(receivedTokens()).toEqual(["token-a"]);
});

it("rejects types that are not declared", async () => {
  expect(await configure(triggers, subscriptionArgs("a", { type: "other" }))).toContain(
    "unknown trigger type",
  );
  await configure(triggers, subscriptionArgs("a"));
  await expect(triggers.notify("c", "other" as "push", {})).rejects.toThrow("unknown trigger type");
  await triggers.flush();
  expect(hub.received).toEqual([]);
});

it("validates params, and compares them with the data", async () => {
  expect(
    await configure(triggers, subscriptionArgs("a", { params: { level: "middle" } })),
  ).toContain("params.level: ");
  await configure(triggers, subscriptionArgs("a", { params: { level: "high" } }));
  for (const level of ["low", "high"]) await triggers.notify("c", "issue", { level });
  await triggers.flush();
  expect(hub.received).toMatchObject([{ body: { data: { level: "high" } } }]);
});

it("lists the values of z.enum().optional()", async () => {
  const list = await triggers.tools()[0]?.handler({}, {});
  expect(list?.structuredContent).toMatchObject({
    triggers: [
      { paramsSchema: { level: { enum: ["low", "high"], description: "How much." } } },
      { type: "push" },
    ],
  });
});

it("repeats an event with a rotated token after 401", async () => {
  hub.answer = ({ token }) => (token === "rotated" ? 202 : 401);
  await configure(triggers, subscriptionArgs("a"));
  await triggers.notify("c", "issue", {});
  await triggers.flush();
  await configure(triggers, subscriptionArgs("a", { callbackToken: "rotated" }));
  await until(() => expect(receivedTokens().at(-1)).toBe("rotated"));
});

it("repeats a failed request with the same event id", async () => {
  hub.answer = () => (hub.received.length < 3 ? 500 : 202);
  await configure(triggers, subscriptionArgs("a"));
  const { id } = await triggers.notify("c", "issue", {});
  await until(() => expect(hub.received).toHaveLength(3));
  expect(hub.received.map(({ body }) => body?.id)).toEqual([id, id, id]);
});

it("sends events again after a trigger was disabled and enabled", async () => {
  await configure(triggers, subscriptionArgs("a"));
  await configure(triggers, subscriptionArgs("a", { enabled: false }));
  await triggers.notify("c", "issue", {});
  await configure(triggers, subscriptionArgs("a", { callbackToken: "resumed" }));
  await triggers.notify("c", "issue", {});
  await triggers.flush();
  expect(receivedTokens()).toEqual(["resumed"]);
});
