/** Whose a delivery of the GitHub App is, on a real registry and with a clock that is driven by hand. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Tenancy } from "../ingest/source.ts";
import { github } from "../ingest/sources/github.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import type { Store } from "../store/store.ts";
import { createGithubTenancy } from "./tenancy.ts";

const START = Date.UTC(2026, 0, 5);
const ACME = { id: 100, login: "acme" };
const UMBRELLA = { id: 200, login: "umbrella" };

let folder: string;
let store: Store;
let finds: number;
/** The registry's results wait for this. */
let blocked: Promise<void>;
let now: number;
let tenancy: Tenancy;

const createTenancy = () =>
  createGithubTenancy(
    {
      putInstallation: store.putInstallation,
      async findInstallation(id) {
        finds += 1;
        const found = await store.findInstallation(id);
        await blocked;
        return found;
      },
    },
    () => now,
  );

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-tenancy-"));
  store = openSqlite(join(folder, "hub.db"));
  finds = 0;
  blocked = Promise.resolve();
  now = START;
  tenancy = createTenancy();
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const resolve = (type: string, body: JsonObject, by = tenancy) =>
  by.resolve(github.installation(type, body));

/** An event about the installation itself; GitHub writes times as texts, or in seconds. */
const about = (
  action: string,
  account: JsonObject,
  updated: number | string | undefined,
  by = tenancy,
) =>
  resolve(
    "installation",
    { action, installation: { id: 7, account, ...(updated ? { updated_at: updated } : {}) } },
    by,
  );
const second = (seconds: number) => START / 1000 + seconds;
const issue = (owner?: JsonObject, by = tenancy) =>
  resolve("issues", { installation: { id: 7 }, ...(owner ? { repository: { owner } } : {}) }, by);

describe("an installation", () => {
  it("belongs to the account of the event that created it", async () => {
    expect(await issue()).toBeUndefined();
    expect(await about("created", ACME, second(1))).toBe("100");
    expect(await issue()).toBe("100");
    expect(await store.getTenant("100")).toMatchObject({ name: "acme" });
  });

  it("is registered by the first event with an owner, and keeps that owner", async () => {
    expect(await issue(ACME)).toBe("100");
    expect(await issue(UMBRELLA)).toBe("100");
    expect(await issue(UMBRELLA, createTenancy())).toBe("100");
    expect(await store.getTenant("200")).toBeUndefined();
    expect(await resolve("member", { installation: { id: 8 }, organization: UMBRELLA })).toBe(
      "200",
    );
  });

  it("moves to another account only by a newer event about it", async () => {
    await about("created", ACME, second(1));
    expect(await about("created", UMBRELLA, second(2))).toBe("200");
    expect(await issue()).toBe("200");
    // Redelivered, late, simultaneous or without a time: it belongs to its own account, and moves nothing.
    for (const time of [second(1), second(2), undefined, "soon", -5]) {
      expect(await about("created", ACME, time), String(time)).toBe("100");
      expect(await issue()).toBe("200");
      expect(await issue(undefined, createTenancy())).toBe("200");
    }
    // Nor do events that only mention it, whatever time they carry.
    const installation = { id: 7, account: ACME, updated_at: second(9) };
    expect(await resolve("installation_repositories", { installation })).toBe("200");
  });

  it("accepts GitHub's times as ISO strings and in seconds", async () => {
    await about("created", ACME, "2026-01-05T01:00:02.000+01:00");
    await about("created", UMBRELLA, second(1));
    expect(await issue()).toBe("100");
    await about("created", UMBRELLA, second(3));
    expect(await issue()).toBe("200");
  });

  it("is corrected by an event about it", async () => {
    await issue(UMBRELLA);
    await about("new_permissions_accepted", ACME, second(1));
    expect(await issue()).toBe("100");
  });
});

describe("a removed installation", () => {
  beforeEach(async () => {
    await about("created", ACME, second(1));
    expect(await issue()).toBe("100");
  });

  it("resolves its removal event, and no later event in this process", async () => {
    expect(await about("deleted", ACME, second(1))).toBe("100");
    expect(await issue()).toBeUndefined();
    expect(await issue(ACME)).toBeUndefined();
    expect(await issue(ACME, createTenancy())).toBeUndefined();
    expect(await about("deleted", ACME, second(1))).toBe("100");
    expect(await store.findInstallation("7")).toMatchObject({ removed_at: START });
  });

  it("is not restored by a redelivery or by events other than its creation", async () => {
    await about("deleted", ACME, second(2));
    expect(await about("created", ACME, second(1))).toBeUndefined();
    expect(await about("created", ACME, second(2))).toBeUndefined();
    expect(await about("suspend", ACME, second(3))).toBeUndefined();
    expect(await issue()).toBeUndefined();
  });

  it.each(["created", "unsuspend"])("is restored when it is %s later", async (action) => {
    await about("deleted", ACME, second(2));
    expect(await about(action, UMBRELLA, second(3))).toBe("200");
    expect(await issue()).toBe("200");
  });

  it("is not removed by an event older than its last change", async () => {
    await about("created", ACME, second(5));
    await about("deleted", ACME, second(4));
    expect(await issue()).toBe("100");
  });

  it("is removed from another process's cache within a minute", async () => {
    const other = createTenancy();
    expect(await issue(undefined, other)).toBe("100");
    await about("deleted", ACME, second(2));
    now = START + 59_999;
    expect(await issue(undefined, other)).toBe("100");
    now = START + 60_000;
    expect(await issue(undefined, other)).toBeUndefined();
  });

  it("is not cached by a query that started before the removal", async () => {
    now = START + 60_000;
    const { promise, resolve } = Promise.withResolvers<void>();
    blocked = promise;
    const late = issue();
    await about("deleted", ACME, second(2));
    resolve();
    await late;
    expect(await issue()).toBeUndefined();
  });
});

describe("the registry", () => {
  it("is queried once a minute", async () => {
    await store.putInstallation(
      { id: "7", tenant: "100", account: null, version: 1, change: null },
      START,
    );
    for (let at = 0; at < 5; at += 1) expect(await issue(UMBRELLA)).toBe("100");
    expect(finds).toBe(1);
    now = START + 60_000;
    expect(await issue()).toBe("100");
    expect(finds).toBe(2);
  });

  it.each([0, -7, 1.5, 1e300, 2 ** 53, "7", null, [7], { id: 7 }])(
    "rejects %j as an id",
    async (id) => {
      expect(await resolve("issues", { installation: { id }, repository: { owner: ACME } })).toBe(
        undefined,
      );
      for (const type of ["installation", "issues"])
        expect(
          await resolve(type, {
            action: "created",
            installation: { id: 7, account: { id }, updated_at: second(1) },
          }),
        ).toBeUndefined();
      expect(await store.listTenants("", 10)).toEqual([]);
    },
  );
});
