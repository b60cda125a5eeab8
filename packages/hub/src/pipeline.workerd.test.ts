/** The pipeline in workerd, with Web Crypto, `Request`, and the storage of a Durable Object. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createEndpoints } from "./events/admit/endpoints.ts";
import { toIncomingRequest } from "./events/admit/receive-request.ts";
import { sources } from "./events/sources/index.ts";
import { signSample } from "./events/sources/signed-sample.ts";
import { createMatcher } from "./flows/matching/matcher.ts";
import type { StoreObject } from "./kernel/backends/durable-object.test-worker.ts";
import { openDurableObject } from "./kernel/backends/durable-object.ts";
import { toAnswer } from "./kernel/http/ingest-outcome.ts";
import { UNLIMITED } from "./kernel/http/rate-limit.ts";
import { webHmacKey } from "./kernel/lib/hmac.ts";
import { createIds } from "./kernel/lib/ids.ts";
import { createGroupCommit } from "./kernel/store/group-commit.ts";
import { createPipeline } from "./pipeline.ts";
import type { Store } from "./store.ts";
import { storeDefinition } from "./store.ts";

const SECRET = "c2VjcmV0IG9mIGFsbCBzb3VyY2Vz";

function createReceiver(store: Store) {
  const newId = createIds();
  const pipeline = createPipeline({
    matcher: createMatcher({
      store,
      runJob: () => Promise.reject(new Error("unexpected evaluation")),
      newId,
      now: Date.now,
      maxChain: 5,
      maxLoops: 30,
    }),
    commit: createGroupCommit({ store, quota: null }),
    endpoints: createEndpoints({
      sources,
      store,
      secrets: Object.fromEntries(sources.map(({ id }) => [id, [SECRET]])),
      tenant: "local",
      unseal: async (sealed) => sealed,
      makeHmacKey: webHmacKey,
      now: Date.now,
    }),
    tenancy: undefined,
    isGithubAddress: undefined,
    rateLimit: UNLIMITED,
    callbackTokens: { find: () => undefined },
    tokenRateLimit: UNLIMITED,
    allowUnsigned: false,
    runJob: () => Promise.reject(new Error("unexpected evaluation")),
    maxValues: 1_000_000,
    newId,
    now: Date.now,
  });
  return async (request: Request): Promise<Response> => {
    const source = new URL(request.url).pathname.split("/")[2] ?? "";
    const route = { source, key: undefined, address: "192.0.2.1" };
    const { status, headers, body } = toAnswer(
      await pipeline.receive(toIncomingRequest(request, route)),
    );
    return new Response(body, { status, headers });
  };
}

it.each(sources.map(({ id }) => id))(
  "stores a webhook of %s once, rejects a forged one, and rejects one that is too large",
  async (id) => {
    const source = sources.find((source) => source.id === id);
    const sample = source?.sample("delivery-1");
    if (!source || !sample) throw new Error("no sample");
    const { headers, body } = await signSample(source, sample, SECRET, {
      now: Date.now(),
      id: "delivery-1",
      makeHmacKey: webHmacKey,
    });
    const request = (bytes: Uint8Array, extra: Record<string, string> = {}) =>
      new Request(`https://hub.test/webhooks/${id}`, {
        method: "POST",
        headers: { ...headers, ...extra },
        body: new Uint8Array(bytes),
      });

    await runInDurableObject(env.STORE.getByName(id), async (_: StoreObject, state) => {
      const store = openDurableObject(storeDefinition, state.storage);
      const receive = createReceiver(store);
      const pending = async () => (await store.pendingStatus("local")).pending_count;

      expect((await receive(request(body))).status).toBe(source.emptyResponse ? 200 : 202);
      expect((await receive(request(body))).status).toBe(200);
      expect(await pending()).toBe(1);

      // Forges the body, or the token in the header if the signature does not cover the body.
      const forged = new Uint8Array(body);
      forged[5] = (forged[5] as number) ^ 1;
      const covers = source.signature({}).covers;
      const rejected = await receive(
        covers === "body" ? request(forged) : request(body, { authorization: "Bearer guess" }),
      );
      expect([rejected.status, await rejected.json()]).toMatchObject([
        403,
        { code: "signature_mismatch" },
      ]);
      const large = await receive(request(new Uint8Array(source.maxBytes + 1)));
      expect([large.status, await large.json()]).toMatchObject([413, { code: "body_too_large" }]);
      expect(await pending()).toBe(1);
    });
  },
);
