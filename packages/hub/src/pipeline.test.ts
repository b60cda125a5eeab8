/** The responses to a webhook: 202 if it is stored, 503 if the store fails or the hub is busy, 500 for other errors. */
import { expect, it } from "vitest";
import { createEndpoints } from "./events/admit/endpoints.ts";
import type { IngestObservation } from "./events/admit/observe-ingest.ts";
import { sources } from "./events/sources/index.ts";
import { signSample } from "./events/sources/signed-sample.ts";
import { createMatcher } from "./flows/matching/matcher.ts";
import { createGithubTenancy } from "./github/tenancy.ts";
import { toAnswer } from "./kernel/http/ingest-outcome.ts";
import { UNLIMITED } from "./kernel/http/rate-limit.ts";
import { webHmacKey } from "./kernel/lib/hmac.ts";
import { RequestError } from "./kernel/lib/request-error.ts";
import { StoreFailed } from "./kernel/store/availability.ts";
import { createPipeline, type PipelineOptions } from "./pipeline.ts";

const SECRET = "s";
/** A key that has the format of endpoint keys. */
const KEY = "x".repeat(22);
const BUSY = new RequestError("busy", "sandbox", "has too many large values to read");
const fail = () => Promise.reject(new Error("the disk is full"));

/** Sends a signed webhook of GitHub to a pipeline with these options, to the endpoint with `key`. */
async function receive(options: Partial<PipelineOptions>, key?: string) {
  const github = sources.find(({ id }) => id === "github");
  const sample = github?.sample("1");
  if (!github || !sample) throw new Error("no sample");
  const body = { ...sample.body, installation: { id: 7 } };
  const signed = await signSample(github, { ...sample, body }, SECRET, { now: 0, id: "1" });
  const observations: IngestObservation[] = [];
  const pipeline = createPipeline({
    matcher: { plan: () => ({ revision: 0, events: [] }), invalidate() {} },
    commit: {
      append: async () => ({ outcome: "stored", events: [{ id: "1", seq: 1, duplicate: false }] }),
    },
    endpoints: endpoints("local"),
    tenancy: undefined,
    isGithubAddress: undefined,
    rateLimit: UNLIMITED,
    callbackTokens: { find: () => undefined },
    tokenRateLimit: UNLIMITED,
    allowUnsigned: false,
    runJob: () => Promise.reject(new Error("unexpected evaluation")),
    maxValues: 1_000_000,
    newId: () => "1",
    now: () => 0,
    observe: (observation) => observations.push(observation),
    ...options,
  });
  const outcome = await pipeline.receive({
    method: "POST",
    source: "github",
    key,
    address: "192.0.2.1",
    header: (name) => [signed.headers[name]].filter((value) => value !== undefined),
    headerNames: () => Object.keys(signed.headers),
    body: () => signed.body,
  });
  return { outcome, observations, answer: toAnswer(outcome) };
}

const endpoints = (tenant: string | undefined, findSource = fail as () => Promise<never>) =>
  createEndpoints({
    sources,
    store: { findSource },
    secrets: { github: [SECRET] },
    tenant,
    unseal: async (sealed) => sealed,
    makeHmacKey: webHmacKey,
    now: () => 0,
  });

it("returns 202 for a stored event", async () => {
  expect((await receive({})).answer.status).toBe(202);
});

it.each([
  ["the append", { commit: { append: fail } }, undefined],
  [
    "the lookup of triggers",
    {
      matcher: createMatcher({
        store: { findTriggers: fail, subscribe: () => () => {} },
        runJob: fail,
        now: () => 0,
        newId: () => "1",
        maxChain: 10,
        maxLoops: 10,
      }),
    },
    undefined,
  ],
  ["the lookup of the endpoint", {}, KEY],
  [
    "the lookup of the installation",
    {
      endpoints: endpoints(undefined),
      tenancy: createGithubTenancy({
        store: { findInstallation: fail, putInstallation: fail, renameTenant: fail },
        now: () => 0,
      }),
    },
    undefined,
  ],
])("returns 503 if %s fails", async (_, options, key) => {
  const { answer, observations } = await receive(options, key);
  expect(answer.status).toBe(503);
  expect(answer.headers["retry-after"]).toBe("5");
  expect(JSON.parse(answer.body)).toMatchObject({ code: "storage_unavailable" });
  expect(observations).toMatchObject([{ error: { message: "the disk is full" } }]);
});

it.each([
  [
    "a bug",
    {
      newId: () => {
        throw new TypeError("undefined is not a function");
      },
    },
    undefined,
  ],
  [
    "a bug in the matcher",
    {
      matcher: {
        plan: () => Promise.reject(new TypeError("undefined is not a function")),
        invalidate() {},
      },
    },
    undefined,
  ],
  [
    "a secret that cannot be decrypted",
    {
      endpoints: createEndpoints({
        sources,
        store: {
          findSource: async (key) => ({
            id: "1",
            tenant: "local",
            kind: "github",
            name: "",
            key,
            config: {},
            created_at: 0,
            secrets: [{ id: "1", sealed: "?", created_at: 0, expires_at: null }],
          }),
        },
        secrets: {},
        tenant: "local",
        unseal: () => Promise.reject(new TypeError("undefined is not a function")),
        makeHmacKey: webHmacKey,
        now: () => 0,
      }),
    },
    KEY,
  ],
] as [string, Partial<PipelineOptions>, string | undefined][])(
  "returns 500 for %s, and reports the error",
  async (_, options, key) => {
    const { answer, observations } = await receive(options, key);
    expect(answer.status).toBe(500);
    expect(answer.headers["retry-after"]).toBeDefined();
    expect(JSON.parse(answer.body)).toMatchObject({
      code: "internal",
      detail: expect.stringContaining("again"),
    });
    expect(answer.body).not.toContain("not a function");
    expect(observations).toMatchObject([{ error: expect.any(TypeError) }]);
    expect(observations[0]?.error).not.toBeInstanceOf(StoreFailed);
  },
);

it("returns 503 busy if the workers have no capacity to compare the event with triggers", async () => {
  const { answer, observations } = await receive({
    matcher: { plan: () => Promise.reject(BUSY), invalidate() {} },
  });
  expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "10" } });
  expect(JSON.parse(answer.body)).toMatchObject({ code: "busy" });
  expect(observations).toMatchObject([{ error: undefined }]);
});
