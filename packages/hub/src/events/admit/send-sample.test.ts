import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import type { IngestOutcome } from "../../kernel/http/ingest-outcome.ts";
import { webHmacKey } from "../../kernel/lib/hmac.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import { sources } from "../sources/index.ts";
import { createEndpoints } from "./endpoints.ts";
import { createIngest } from "./ingest.ts";
import type { IncomingRequest } from "./receive-request.ts";
import { createSendSample } from "./send-sample.ts";

const START = Date.UTC(2026, 0, 5);
let store: Store;
let endpointCount: number;

beforeEach(() => {
  store = openSqlite(storeDefinition, join(tempFolder(), "hub.db"));
  onTestFinished(() => store.close());
  endpointCount = 0;
});

/** Adds an endpoint that is newer than the ones before. */
async function addEndpoint(kind: string, tenant = "local"): Promise<string> {
  const id = `endpoint-${++endpointCount}`;
  const created_at = START + endpointCount;
  const key = `${endpointCount}`.padEnd(22, "x");
  const secret = {
    id: `secret-${endpointCount}`,
    sealed: `secret ${endpointCount}`,
    created_at,
    expires_at: null,
  };
  await store.putTenant({ id: tenant, at: created_at });
  await store.putSource({ id, tenant, kind, name: kind, key, config: {}, created_at }, secret);
  return id;
}

/** Creates the sender of a hub that rejects every request from outside, by its address and its rate. */
function createSender(
  secrets: Record<string, string[]> = {},
  { tenant }: { tenant: string | undefined } = { tenant: "local" },
) {
  const now = () => START + 1000;
  const newId = createIds();
  const endpoints = createEndpoints({
    sources,
    store,
    secrets,
    tenant,
    unseal: async (sealed) => sealed,
    makeHmacKey: webHmacKey,
    now,
  });
  const admit = createIngest({
    endpoints,
    tenancy: { resolve: async () => ({ reason: "none" }) },
    isGithubAddress: () => false,
    rateLimit: { admit: () => "rejected", fail() {} },
    allowUnsigned: false,
    runJob: () => Promise.reject(new Error("unexpected evaluation")),
    maxValues: 1_000_000,
    newId,
    now,
  });
  const admitted: { endpoint: string | undefined; tenant: string }[] = [];
  const receive = async (request: IncomingRequest): Promise<IngestOutcome> => {
    const result = await admit(request);
    if (result.outcome !== "accepted") return result;
    const { appendRequest } = result;
    admitted.push({
      endpoint: appendRequest.events[0]?.source_id,
      tenant: appendRequest.tenant,
    });
    return { outcome: "stored", id: "1", events: [], emptyResponse: false };
  };
  return { send: createSendSample({ endpoints, store, receive, newId, now }), admitted };
}

describe("a sample from the hub itself", () => {
  it("is admitted for every source, signed and unsigned", async () => {
    for (const { id: source } of sources)
      for (const secrets of [{}, { [source]: ["a secret"] }]) {
        const { send, admitted } = createSender(secrets);
        const sent = await send({ tenant: "local", source });
        expect(sent, source).toMatchObject({
          outcome: { outcome: "stored" },
          signed: Object.keys(secrets).length > 0,
        });
        expect(admitted).toEqual([{ endpoint: source, tenant: "local" }]);
      }
  });

  it("is sent to the requested endpoint, or to the one without a key if it has a secret, or to the newest", async () => {
    const older = await addEndpoint("stripe");
    const newest = await addEndpoint("stripe");
    await addEndpoint("stripe", "other");
    const targetOf = async (endpoint?: string, secrets = {}) => {
      const { send, admitted } = createSender(secrets);
      const { signed } = await send({ tenant: "local", source: "stripe", endpoint });
      return { ...admitted[0], signed };
    };
    const tenant = "local";
    expect(await targetOf(older)).toEqual({ endpoint: older, tenant, signed: true });
    expect(await targetOf()).toEqual({ endpoint: newest, tenant, signed: true });
    expect(await targetOf(undefined, { stripe: ["shared"] })).toEqual({
      endpoint: "stripe",
      tenant,
      signed: true,
    });
    await expect(targetOf("endpoint-3")).rejects.toThrow("There is no endpoint endpoint-3");
  });

  it("belongs to the caller's tenant", async () => {
    const { send, admitted } = createSender({ github: ["a secret"] }, { tenant: undefined });
    await send({ tenant: "42", source: "github" });
    expect(admitted).toEqual([{ endpoint: "github", tenant: "42" }]);
    const stripe = await send({ tenant: "42", source: "stripe" });
    expect(stripe.outcome).toMatchObject({ reason: "unknown_source" });
    const id = await addEndpoint("stripe", "42");
    await send({ tenant: "42", source: "stripe" });
    expect(admitted[1]).toEqual({ endpoint: id, tenant: "42" });
  });

  it("is rejected for an unknown source or type", async () => {
    const { send } = createSender();
    await expect(send({ tenant: "local", source: "nope" })).rejects.toThrow('no source "nope"');
    await expect(send({ tenant: "local", source: "github", type: "nope" })).rejects.toThrow(
      /no sample of type "nope" for GitHub\. Known types: /,
    );
  });
});
