/** Endpoints on a real store with a manual clock. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { webHmacKey } from "../../kernel/lib/hmac.ts";
import { StoreFailed } from "../../kernel/store/availability.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import { sources } from "../sources/index.ts";
import { createEndpoints, type Endpoints } from "./endpoints.ts";

const START = Date.UTC(2026, 0, 5);
const KEY = "0123456789abcdefghi_-X";

let folder: string;
let store: Store;
let queries: string[];
let now: number;
let endpoints: Endpoints;

const create = (tenant: string | undefined) =>
  createEndpoints({
    sources,
    store: {
      findSource(key) {
        queries.push(key);
        return store.findSource(key);
      },
    },
    secrets: { github: ["one", "two"] },
    tenant,
    unseal: async (sealed) => sealed,
    makeHmacKey: webHmacKey,
    now: () => now,
  });

const add = (key = KEY, kind = "stripe") =>
  store.putSource({
    id: `id of ${key}`,
    tenant: "acme",
    kind,
    name: "",
    key,
    config: {},
    created_at: START,
  });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-endpoints-"));
  store = openSqlite(storeDefinition, join(folder, "hub.db"));
  queries = [];
  now = START;
  endpoints = create("local");
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

describe("a shared endpoint", () => {
  it("has the secrets from the settings and needs no query", async () => {
    expect(await endpoints.find("github", undefined)).toMatchObject({
      id: "github",
      tenant: "local",
      signingKeys: [{ expiresAt: null }, { expiresAt: null }],
    });
    expect(await endpoints.find("stripe", undefined)).toMatchObject({ signingKeys: [] });
    expect(await endpoints.find("unknown", undefined)).toBeUndefined();
    expect(queries).toEqual([]);
  });

  it("serves several tenants only if the payload identifies them", async () => {
    const shared = create(undefined);
    expect(await shared.find("github", undefined)).toMatchObject({ tenant: undefined });
    expect(await shared.find("stripe", undefined)).toBeUndefined();
    expect(shared.source("stripe")?.title).toBe("Stripe");
    expect(shared.source("unknown")).toBeUndefined();
  });
});

describe("an endpoint with a key", () => {
  it("belongs to its tenant and is found under its source only", async () => {
    await add();
    expect(await endpoints.find("stripe", KEY)).toMatchObject({
      id: `id of ${KEY}`,
      tenant: "acme",
    });
    expect(await endpoints.find("github", KEY)).toBeUndefined();
    expect(await endpoints.find("unknown", KEY)).toBeUndefined();
  });

  it("has the stored secrets with their expiry", async () => {
    await add();
    for (const [id, expires_at] of [
      ["a", START + 1],
      ["b", null],
    ] as const)
      await store.addSourceSecret(`id of ${KEY}`, {
        id,
        sealed: id,
        created_at: START,
        expires_at,
      });
    expect(await endpoints.find("stripe", KEY)).toMatchObject({
      signingKeys: [{ expiresAt: START + 1 }, { expiresAt: null }],
    });
  });

  it("is cached for five seconds, whether it exists or not", async () => {
    for (let time = 0; time < 3; time += 1)
      expect(await endpoints.find("stripe", KEY)).toBeUndefined();
    expect(queries).toEqual([KEY]);
    await add();
    now = START + 4_999;
    expect(await endpoints.find("stripe", KEY)).toBeUndefined();
    now = START + 5_000;
    expect(await endpoints.find("stripe", KEY)).toBeDefined();
    expect(queries).toEqual([KEY, KEY]);

    await store.deleteSource(`id of ${KEY}`);
    now = START + 9_999;
    expect(await endpoints.find("stripe", KEY)).toBeDefined();
    now = START + 10_000;
    expect(await endpoints.find("stripe", KEY)).toBeUndefined();
    expect(queries).toHaveLength(3);
  });

  it.each([
    "",
    "short",
    `${KEY}x`,
    "x".repeat(100_000),
    `${KEY.slice(1)}.`,
    `${KEY.slice(1)}é`,
    `${KEY}\n`,
  ])("is not looked up in the store if its key is invalid: case %#", async (key) => {
    expect(await endpoints.find("stripe", key)).toBeUndefined();
    expect(queries).toEqual([]);
  });

  it("is not evicted by guessed keys", async () => {
    await add();
    await endpoints.find("stripe", KEY);
    for (let at = 0; at < 1_500; at += 1)
      await endpoints.find("stripe", String(at).padStart(22, "0"));
    queries = [];
    await endpoints.find("stripe", KEY);
    expect(queries).toEqual([]);
    // The first guesses have been evicted, the last have not.
    await endpoints.find("stripe", "1499".padStart(22, "0"));
    expect(queries).toEqual([]);
    await endpoints.find("stripe", "0".padStart(22, "0"));
    expect(queries).toHaveLength(1);
  });

  it("is queried again after the store has failed", async () => {
    await store.close();
    await expect(endpoints.find("stripe", KEY)).rejects.toBeInstanceOf(StoreFailed);
    await expect(endpoints.find("stripe", KEY)).rejects.toBeInstanceOf(StoreFailed);
    store = openSqlite(storeDefinition, join(folder, "hub.db"));
    expect(await endpoints.find("stripe", KEY)).toBeUndefined();
  });
});
