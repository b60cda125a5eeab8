/** Tests subscriptions, with a real store and fake endpoints. */
import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { storeDefinition } from "../../store.ts";
import { START } from "../store/contract/sample.ts";
import { subscribeParams } from "./protocol.ts";
import { createSubscriber, type SubscriberOptions } from "./subscribe.ts";
import type { PostWebhook } from "./webhook.ts";

const access = {
  token: "ada",
  name: "Ada",
  scopes: ["inbox:read" as const],
  tenants: ["acme"],
};

function setup(options: Partial<SubscriberOptions> = {}) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  const called: string[] = [];
  const post: PostWebhook = async ({ url }, message) => {
    called.push(url);
    const challenge = "challenge" in message ? message.challenge : "";
    return { status: 200, headers: new Headers(), body: utf8(challenge), url };
  };
  const subscriber = createSubscriber({
    store,
    post,
    seal: async (secret) => secret,
    now: () => START,
    allowHttp: false,
    onChange: () => {},
    ...options,
  });
  const subscribe = (url: string, by = access) =>
    subscriber.subscribe(
      by,
      subscribeParams.parse({
        name: "github.issues",
        delivery: { mode: "webhook", url, secret: `whsec_${btoa("s".repeat(24))}` },
      }),
    );
  return { store, called, subscribe, post };
}

it("calls no endpoint if the token has reached its limit of subscriptions", async () => {
  const { called, subscribe } = setup({ maxPerPrincipal: 1 });
  await subscribe("https://a.example/");
  await expect(subscribe("https://b.example/")).rejects.toMatchObject({
    code: -32013,
    data: { limit: 1 },
  });
  expect(called).toEqual(["https://a.example/"]);
  // Existing subscriptions can be refreshed.
  expect(await subscribe("https://a.example/")).toMatchObject({ truncated: false });
});

it("limits the concurrent verifications of each token", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let calls = 0;
  let active = 0;
  let maxActive = 0;
  const { subscribe, post } = setup({
    verifyConcurrency: 2,
    post: async (...args) => {
      calls += 1;
      active += 1;
      maxActive = Math.max(maxActive, active);
      await released;
      active -= 1;
      return post(...args);
    },
  });
  const all = ["a", "b", "c", "d", "e"].map((name) => subscribe(`https://${name}.example/`));
  await expect.poll(() => calls).toBe(2);
  // Another token has its own limit.
  const bob = subscribe("https://a.example/", { ...access, token: "bob" });
  await expect.poll(() => calls).toBe(3);
  release();
  await bob;
  expect(await Promise.all(all)).toHaveLength(5);
  expect([calls, maxActive]).toEqual([6, 3]);
});
