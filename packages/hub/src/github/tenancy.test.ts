/** Tests the tenants of a GitHub App's events, with a real registry and a manual clock. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Tenancy } from "../events/admit/source.ts";
import { github } from "../events/sources/github.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import type { Store } from "../store.ts";
import { storeDefinition } from "../store.ts";
import type { LookUpInstallation } from "./look-up-installation.ts";
import { createGithubTenancy } from "./tenancy.ts";

const START = Date.UTC(2026, 0, 5);
const ACME = { id: 100, login: "acme" };
const UMBRELLA = { id: 200, login: "umbrella" };

let folder: string;
let store: Store;
let finds: number;
/** The results of the registry are delayed until this resolves. */
let delay: Promise<void>;
let now: number;
let tenancy: Tenancy;

const createTenancy = (lookUp?: LookUpInstallation) =>
  createGithubTenancy({
    store: {
      putInstallation: store.putInstallation,
      renameTenant: store.renameTenant,
      async findInstallation(id) {
        finds += 1;
        const installation = await store.findInstallation(id);
        await delay;
        return installation;
      },
    },
    now: () => now,
    lookUp,
  });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-tenancy-"));
  store = openSqlite(storeDefinition, join(folder, "hub.db"));
  finds = 0;
  delay = Promise.resolve();
  now = START;
  tenancy = createTenancy();
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** Returns the tenant, or the reason why there is none. */
async function resolve(type: string, body: JsonObject, by = tenancy): Promise<string> {
  const owner = await by.resolve(github.installation(type, body));
  return owner.tenant ?? owner.reason;
}

/** Resolves an event about the installation itself. */
const resolveInstallation = (
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
const resolveIssue = (owner?: JsonObject, by = tenancy) =>
  resolve("issues", { installation: { id: 7 }, ...(owner ? { repository: { owner } } : {}) }, by);

describe("an installation", () => {
  it("belongs to the account of the event that created it", async () => {
    expect(await resolveIssue()).toBe("unknown");
    expect(await resolve("issues", {})).toBe("none");
    expect(await resolveInstallation("created", ACME, second(1))).toBe("100");
    expect(await resolveIssue()).toBe("100");
    expect(await store.getTenant("100")).toMatchObject({ name: "acme" });
  });

  it("is registered by the first event with an owner, and keeps that owner", async () => {
    expect(await resolveIssue(ACME)).toBe("100");
    expect(await resolveIssue(UMBRELLA)).toBe("100");
    expect(await resolveIssue(UMBRELLA, createTenancy())).toBe("100");
    expect(await store.getTenant("200")).toBeUndefined();
    expect(await resolve("member", { installation: { id: 8 }, organization: UMBRELLA })).toBe(
      "200",
    );
  });

  it("is moved to another account only by a newer event about the installation itself", async () => {
    await resolveInstallation("created", ACME, second(1));
    expect(await resolveInstallation("created", UMBRELLA, second(2))).toBe("200");
    expect(await resolveIssue()).toBe("200");
    // Events that are redelivered, late, simultaneous or without a valid time do not move it.
    for (const time of [second(1), second(2), undefined, "soon", -5]) {
      expect(await resolveInstallation("created", ACME, time), String(time)).toBe("100");
      expect(await resolveIssue()).toBe("200");
      expect(await resolveIssue(undefined, createTenancy())).toBe("200");
    }
    // Events that only mention the installation do not move it, whatever their time is.
    const installation = { id: 7, account: ACME, updated_at: second(9) };
    expect(await resolve("issues", { installation })).toBe("200");
  });

  it("accepts GitHub's times as ISO strings and in seconds", async () => {
    await resolveInstallation("created", ACME, "2026-01-05T01:00:02.000+01:00");
    await resolveInstallation("created", UMBRELLA, second(1));
    expect(await resolveIssue()).toBe("100");
    await resolveInstallation("created", UMBRELLA, second(3));
    expect(await resolveIssue()).toBe("200");
  });

  it("is moved by an event about the installation itself if another event has registered it", async () => {
    await resolveIssue(UMBRELLA);
    await resolveInstallation("new_permissions_accepted", ACME, second(1));
    expect(await resolveIssue()).toBe("100");
  });
});

describe("the removal of an installation", () => {
  beforeEach(async () => {
    await resolveInstallation("created", ACME, second(1));
    expect(await resolveIssue()).toBe("100");
  });

  it("is resolved, but later events of the installation are not", async () => {
    expect(await resolveInstallation("deleted", ACME, second(1))).toBe("100");
    expect(await resolveIssue()).toBe("removed");
    expect(await resolveIssue(ACME)).toBe("removed");
    expect(await resolveIssue(ACME, createTenancy())).toBe("removed");
    expect(await resolveInstallation("deleted", ACME, second(1))).toBe("100");
    expect(await store.findInstallation("7")).toMatchObject({ removed_at: START });
  });

  it("is not undone by a redelivery, a suspension or other events", async () => {
    await resolveInstallation("deleted", ACME, second(2));
    expect(await resolveInstallation("created", ACME, second(1))).toBe("removed");
    expect(await resolveInstallation("created", ACME, second(2))).toBe("removed");
    expect(await resolveInstallation("suspend", ACME, second(3))).toBe("removed");
    expect(await resolveIssue()).toBe("removed");
  });

  it.each(["created", "unsuspend"])(
    "is undone by a later event with the action %s",
    async (action) => {
      await resolveInstallation("deleted", ACME, second(2));
      expect(await resolveInstallation(action, UMBRELLA, second(3))).toBe("200");
      expect(await resolveIssue()).toBe("200");
    },
  );

  it("has no effect if it is older than the last change", async () => {
    await resolveInstallation("created", ACME, second(5));
    await resolveInstallation("deleted", ACME, second(4));
    expect(await resolveIssue()).toBe("100");
  });

  it("takes effect in other processes within a minute", async () => {
    const other = createTenancy();
    expect(await resolveIssue(undefined, other)).toBe("100");
    await resolveInstallation("deleted", ACME, second(2));
    now = START + 59_999;
    expect(await resolveIssue(undefined, other)).toBe("100");
    now = START + 60_000;
    expect(await resolveIssue(undefined, other)).toBe("removed");
  });

  it("takes effect even if a query started before it", async () => {
    now = START + 60_000;
    const { promise, resolve } = Promise.withResolvers<void>();
    delay = promise;
    const late = resolveIssue();
    await resolveInstallation("deleted", ACME, second(2));
    resolve();
    await late;
    expect(await resolveIssue()).toBe("removed");
  });
});

describe("the registry", () => {
  it("is queried at most once a minute for an installation", async () => {
    await store.putInstallation(
      { id: "7", tenant: "100", account: null, version: 1, change: null, suspended_at: null },
      START,
    );
    for (let at = 0; at < 5; at += 1) expect(await resolveIssue(UMBRELLA)).toBe("100");
    expect(finds).toBe(1);
    now = START + 60_000;
    expect(await resolveIssue()).toBe("100");
    expect(finds).toBe(2);
  });

  it.each([0, -7, 1.5, 1e300, 2 ** 53, "7", null, [7], { id: 7 }])(
    "rejects %j as an id",
    async (id) => {
      expect(await resolve("issues", { installation: { id }, repository: { owner: ACME } })).toBe(
        "none",
      );
      for (const type of ["installation", "issues"])
        expect(
          await resolve(type, {
            action: "created",
            installation: { id: 7, account: { id }, updated_at: second(1) },
          }),
        ).toBe("unknown");
      expect(await store.listTenants("", 10)).toEqual([]);
    },
  );
});

describe("the suspension of an installation", () => {
  const suspend = (seconds: number) =>
    resolve("installation", {
      action: "suspend",
      installation: {
        id: 7,
        account: ACME,
        updated_at: second(seconds),
        suspended_at: second(seconds),
      },
    });

  beforeEach(async () => {
    await resolveInstallation("created", ACME, second(1));
  });

  it("is resolved, and other events are rejected until it ends", async () => {
    expect(await suspend(2)).toBe("100");
    expect(await resolveIssue(ACME)).toBe("suspended");
    expect(await resolveIssue(ACME, createTenancy())).toBe("suspended");
    // GitHub's own example of this event has the time of the suspension.
    expect(await resolveInstallation("unsuspend", ACME, second(2))).toBe("100");
    expect(await resolveIssue()).toBe("100");
  });

  it("is not changed by late or repeated deliveries", async () => {
    await suspend(4);
    await resolveInstallation("created", ACME, second(1));
    await resolveInstallation("unsuspend", ACME, second(3));
    expect(await resolveIssue()).toBe("suspended");
    await resolveInstallation("unsuspend", ACME, second(4));
    expect(await suspend(4)).toBe("100");
    expect(await resolveIssue()).toBe("100");
  });

  it("ends when GitHub reports the installation as active", async () => {
    await suspend(2);
    const active = { account: { id: "100", login: "acme" }, isSuspended: false };
    const lookUps = [{ ...active, isSuspended: true }, "unavailable", active] as const;
    let calls = 0;
    const other = createTenancy(async () => lookUps[calls++] ?? "unknown");
    expect(await resolveIssue(ACME, other)).toBe("suspended");
    expect(await resolveIssue(ACME, other)).toBe("suspended");
    expect(await resolveIssue(ACME, other)).toBe("100");
    expect(await resolveIssue(ACME)).toBe("100");
    expect(await suspend(2)).toBe("100");
    expect(await resolveIssue(ACME)).toBe("100");
  });
});

describe("an event about the repositories of an installation", () => {
  it("updates the account of the installation", async () => {
    await resolveInstallation("created", ACME, second(1));
    const moved = { installation: { id: 7, account: UMBRELLA, updated_at: second(2) } };
    expect(await resolve("installation_repositories", { action: "added", ...moved })).toBe("200");
    expect(await resolveIssue()).toBe("200");
  });
});

describe("a renamed account", () => {
  const rename = (login: string, updated: number, id = ACME.id) =>
    resolve("installation_target", {
      action: "renamed",
      account: { id, login, updated_at: second(updated) },
      installation: { id: 7 },
    });
  const name = async () => (await store.getTenant("100"))?.name;

  it("keeps its tenant, under the newest name", async () => {
    await resolveInstallation("created", ACME, second(1));
    expect(await rename("acme-inc", 5)).toBe("100");
    expect(await name()).toBe("acme-inc");
    await rename("acme", 4);
    await resolve("installation", {
      action: "deleted",
      installation: { id: 6, account: ACME, updated_at: second(3) },
    });
    expect(await name()).toBe("acme-inc");
    await rename("acme-corp", 6);
    expect(await name()).toBe("acme-corp");
    // The account of another installation.
    await rename("umbrella", 7, UMBRELLA.id);
    expect(await name()).toBe("acme-corp");
    await resolveInstallation(
      "new_permissions_accepted",
      { ...ACME, login: "acme-ltd" },
      second(8),
    );
    expect(await name()).toBe("acme-ltd");
  });

  it("registers an unknown installation", async () => {
    expect(await rename("acme-inc", 5)).toBe("100");
    expect(await name()).toBe("acme-inc");
  });
});

describe("an unknown installation", () => {
  const acme = { account: { id: "100", login: "acme" }, isSuspended: false };

  it("is looked up at GitHub once", async () => {
    let calls = 0;
    const withLookUp = createTenancy(async () => {
      calls += 1;
      return acme;
    });
    expect(await resolveIssue(undefined, withLookUp)).toBe("100");
    // The answer of GitHub has precedence over the payload.
    expect(await resolveIssue(UMBRELLA, withLookUp)).toBe("100");
    expect(await resolveIssue(UMBRELLA, createTenancy())).toBe("100");
    expect(calls).toBe(1);
    expect(await store.getTenant("100")).toMatchObject({ name: "acme" });
  });

  it("is rejected if GitHub does not know it", async () => {
    const withLookUp = createTenancy(async () => "unknown");
    expect(await resolveIssue(ACME, withLookUp)).toBe("unknown");
    expect(await store.listTenants("", 10)).toEqual([]);
  });

  it("is rejected if GitHub reports it as suspended", async () => {
    const withLookUp = createTenancy(async () => ({ ...acme, isSuspended: true }));
    expect(await resolveIssue(ACME, withLookUp)).toBe("suspended");
  });

  it("belongs to the payload's owner if GitHub is unavailable", async () => {
    const withLookUp = createTenancy(async () => "unavailable");
    expect(await resolveIssue(undefined, withLookUp)).toBe("unavailable");
    expect(await resolveIssue(ACME, withLookUp)).toBe("100");
  });

  it("stays removed if it was removed during the look-up", async () => {
    const { promise, resolve: answer } = Promise.withResolvers<typeof acme>();
    const withLookUp = createTenancy(() => promise);
    const event = resolveIssue(ACME, withLookUp);
    await resolveInstallation("deleted", ACME, second(1));
    answer(acme);
    expect(await event).toBe("removed");
    expect(await resolveIssue(ACME)).toBe("removed");
  });
});
