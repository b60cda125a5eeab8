import { expect } from "vitest";
import { DAY, SECOND, START } from "../events/store/contract/sample.ts";
import type { It } from "../kernel/store/contract/subject.ts";
import type { Store } from "../store.ts";
import type { GrantQuery, NewOAuthGrant, OAuthClient, Redemption, Rotation } from "./model.ts";

const MINUTE = 60 * SECOND;

const client = (overrides: Partial<OAuthClient> = {}): OAuthClient => ({
  id: "client 1",
  name: "Editor",
  redirect_uris: ["http://127.0.0.1/callback"],
  grant_types: ["authorization_code", "refresh_token"],
  created_at: START,
  expires_at: START + DAY,
  ...overrides,
});

const newGrant = (overrides: Partial<NewOAuthGrant> = {}): NewOAuthGrant => ({
  id: "grant 1",
  client_id: "client 1",
  client_name: "Editor",
  status: "approved",
  code_hash: "hash of code 1",
  user_code: null,
  redirect_uri: "http://127.0.0.1/callback",
  challenge: "challenge",
  resource: "https://hub.example/mcp",
  scopes: ["inbox:read"],
  tenants: ["acme"],
  person: "github:7",
  parent: null,
  salt: "salt",
  created_at: START,
  expires_at: START + MINUTE,
  ...overrides,
});

let issuedCount = 0;
const newAccess = (at: number) => {
  issuedCount += 1;
  return {
    id: `access ${issuedCount}`,
    hash: `hash of access ${issuedCount}`,
    scopes: null,
    expires_at: at + 60 * MINUTE,
  };
};

const redemption = (overrides: Partial<Redemption> = {}): Redemption => ({
  code_hash: "hash of code 1",
  client_id: "client 1",
  redirect_uri: "http://127.0.0.1/callback",
  challenge: "challenge",
  resource: "https://hub.example/mcp",
  access: newAccess(START),
  family_hash: "family 1",
  refresh_hash: "refresh 0",
  refresh_expires_at: START + 30 * DAY,
  at: START,
  ...overrides,
});

const rotation = (presented: number, overrides: Partial<Rotation> = {}): Rotation => ({
  family_hash: "family 1",
  presented_hash: `refresh ${presented}`,
  next_hash: `refresh ${presented + 1}`,
  client_id: "client 1",
  access: newAccess(START),
  refresh_expires_at: START + 30 * DAY,
  at: START + MINUTE,
  graceMs: 30 * SECOND,
  ...overrides,
});

/** Returns "valid" or "revoked" for each access token of the grant. */
const tokenStatesOf = async (store: Store, grant = "grant 1") =>
  (await store.listTokens({ kind: "oauth", limit: 100 }))
    .filter(({ parent }) => parent === grant)
    .map(({ revoked_at }) => (revoked_at === null ? "valid" : "revoked"));

export function oauthContract(it: It): void {
  it("stores clients, and replaces them", async ({ store, reopen }) => {
    expect(await store.getOAuthClient("client 1")).toBeUndefined();
    await store.putOAuthClient(client());
    const changed = client({ name: "Editor 2", redirect_uris: [], expires_at: START + 2 * DAY });
    await store.putOAuthClient(changed);
    expect(await (await reopen()).getOAuthClient("client 1")).toEqual(changed);
  });

  it("removes the oldest unused registrations beyond the maximum, except recent ones", async ({
    store,
  }) => {
    const register = (number: number, minute: number) =>
      store.registerOAuthClient(
        client({ id: `client ${number}`, created_at: START + minute * MINUTE }),
        {
          maxUnused: 3,
          removableBefore: START + (minute - 10) * MINUTE,
        },
      );
    const isRegistered = async (number: number) =>
      Boolean(await store.getOAuthClient(`client ${number}`));
    await store.putOAuthClient(client({ id: "https://app.example/client.json" }));
    // A pending grant does not make its client used, because no person has approved it.
    for (const number of [1, 2, 3, 4]) {
      expect(await register(number, number)).toEqual({ outcome: "registered" });
      const grant = {
        id: `grant ${number}`,
        client_id: `client ${number}`,
        code_hash: `${number}`,
      };
      if (number !== 2) await store.createOAuthGrant(newGrant({ ...grant, status: "pending" }));
      else await store.createOAuthGrant(newGrant(grant));
    }
    expect(await register(5, 5)).toEqual({ outcome: "full", oldest: START + MINUTE });
    expect(await store.getOAuthClient("client 5")).toBeUndefined();
    expect(await register(5, 11)).toEqual({ outcome: "full", oldest: START + MINUTE });
    expect(await register(5, 12)).toEqual({ outcome: "registered" });
    expect(await Promise.all([1, 2, 3, 4, 5].map(isRegistered))).toEqual([
      false,
      true,
      true,
      true,
      true,
    ]);

    // The approval of a pending grant makes its client used.
    const approved = { status: "approved" as const, scopes: [], tenants: [], person: null };
    expect(await store.decideOAuthGrant("grant 3", { ...approved, parent: null }, START)).toBe(
      true,
    );
    expect(await store.decideOAuthGrant("grant 4", { status: "denied" }, START)).toBe(true);
    expect(await register(6, 20)).toEqual({ outcome: "registered" });
    expect(await register(7, 21)).toEqual({ outcome: "registered" });
    expect(await Promise.all([2, 3, 4, 5, 6, 7].map(isRegistered))).toEqual([
      ...[true, true, false, true, true, true],
    ]);
    expect(await store.getOAuthClient("https://app.example/client.json")).toBeDefined();
  });

  it("creates a grant once per id, code and user code", async ({ store }) => {
    expect(await store.createOAuthGrant(newGrant({ user_code: "ABCD" }))).toBe(true);
    for (const other of [
      newGrant({ code_hash: "other", user_code: "other" }),
      newGrant({ id: "other", user_code: "other" }),
      newGrant({ id: "other", code_hash: "other", user_code: "ABCD" }),
    ])
      expect(await store.createOAuthGrant(other)).toBe(false);
    expect(await store.getOAuthGrant("grant 1")).toMatchObject({ tenants: ["acme"] });
    expect(await store.getOAuthGrant("other")).toBeUndefined();
  });

  it("redeems a code for an access token of the grant", async ({ store }) => {
    await store.createOAuthGrant(newGrant());
    const access = newAccess(START);
    expect(await store.redeemOAuthGrant(redemption({ access }))).toMatchObject({
      outcome: "redeemed",
      grant: { id: "grant 1", status: "active", expires_at: START + 30 * DAY },
    });
    expect(await store.findToken(access.hash)).toMatchObject({
      kind: "oauth",
      parent: "grant 1",
      name: "Editor",
      scopes: ["inbox:read"],
      tenants: ["acme"],
      person: "github:7",
      resource: "https://hub.example/mcp",
      expires_at: START + 60 * MINUTE,
      revoked_at: null,
    });
  });

  it("redeems a code once, even in five concurrent requests, and revokes the grant on reuse", async ({
    store,
  }) => {
    await store.createOAuthGrant(newGrant());
    const results = await Promise.all(
      [1, 2, 3, 4, 5].map((number) =>
        store.redeemOAuthGrant(redemption({ family_hash: `family ${number}` })),
      ),
    );
    expect(results.map(({ outcome }) => outcome).sort()).toEqual([
      "redeemed",
      "reused",
      "reused",
      "reused",
      "reused",
    ]);
    expect(await tokenStatesOf(store)).toEqual(["revoked"]);
    expect(await store.rotateOAuthGrant(rotation(0))).toEqual({ outcome: "invalid" });
  });

  it("does not consume a code that is presented with another client, redirect URI or resource", async ({
    store,
  }) => {
    await store.createOAuthGrant(newGrant());
    const wrongValue = "something else";
    for (const [overrides, field] of [
      [{ client_id: wrongValue }, "client_id"],
      [{ redirect_uri: wrongValue }, "redirect_uri"],
      [{ resource: wrongValue }, "resource"],
    ] as const)
      expect(await store.redeemOAuthGrant(redemption(overrides))).toEqual({
        outcome: "mismatch",
        field,
      });
    expect(await store.redeemOAuthGrant(redemption({ code_hash: wrongValue }))).toEqual({
      outcome: "unknown",
    });
    const unspecified = redemption({ redirect_uri: undefined, resource: undefined });
    expect(await store.redeemOAuthGrant(unspecified)).toMatchObject({ outcome: "redeemed" });
    // Another client cannot revoke the grant.
    expect(await store.redeemOAuthGrant(redemption({ client_id: wrongValue }))).toEqual({
      outcome: "reused",
    });
    expect(await tokenStatesOf(store)).toEqual(["valid"]);
  });

  for (const challenge of ["something else", null])
    it(`ends a code that its client presents with the challenge ${challenge}`, async ({
      store,
    }) => {
      await store.createOAuthGrant(newGrant());
      // Another client cannot end it.
      const ofOther = redemption({ challenge, client_id: "other" });
      expect(await store.redeemOAuthGrant(ofOther)).toMatchObject({ field: "client_id" });
      expect(await store.redeemOAuthGrant(redemption({ challenge }))).toEqual({
        outcome: "mismatch",
        field: "code_verifier",
      });
      expect(await store.redeemOAuthGrant(redemption())).toEqual({ outcome: "reused" });
      expect(await tokenStatesOf(store)).toEqual([]);
    });

  it("does not redeem an expired code", async ({ store }) => {
    await store.createOAuthGrant(newGrant());
    expect(await store.redeemOAuthGrant(redemption({ at: START + MINUTE }))).toEqual({
      outcome: "expired",
    });
  });

  it("redeems a device code after a person has approved it, once", async ({ store }) => {
    await store.createOAuthGrant(
      newGrant({ status: "pending", user_code: "BCDF-GHJK", tenants: [], challenge: null }),
    );
    const device = redemption({ challenge: null, redirect_uri: undefined });
    expect(await store.redeemOAuthGrant(device)).toEqual({ outcome: "pending" });
    expect(await store.findPendingGrant("BCDF-GHJK", START + MINUTE)).toBeUndefined();
    expect(await store.findPendingGrant("BCDF-GHJK", START)).toMatchObject({ id: "grant 1" });
    const granted = { scopes: [], tenants: ["acme"], person: null, parent: null };
    const approve = () =>
      store.decideOAuthGrant("grant 1", { status: "approved", ...granted }, START);
    const approved = await Promise.all([approve(), approve(), approve()]);
    expect(approved.filter(Boolean)).toHaveLength(1);
    expect(await store.decideOAuthGrant("grant 1", { status: "denied" }, START)).toBe(false);
    expect(await store.findPendingGrant("BCDF-GHJK", START)).toBeUndefined();
    expect(await store.redeemOAuthGrant(device)).toMatchObject({
      outcome: "redeemed",
      grant: { tenants: ["acme"], person: null },
    });
  });

  it("reports a denied device code", async ({ store }) => {
    await store.createOAuthGrant(newGrant({ status: "pending", user_code: "A", challenge: null }));
    expect(await store.decideOAuthGrant("grant 1", { status: "denied" }, START + MINUTE)).toBe(
      false,
    );
    expect(await store.decideOAuthGrant("grant 1", { status: "denied" }, START)).toBe(true);
    expect(await store.redeemOAuthGrant(redemption({ challenge: null }))).toEqual({
      outcome: "denied",
    });
  });

  it("rotates refresh tokens, and accepts the former token within the grace period", async ({
    store,
  }) => {
    await store.createOAuthGrant(newGrant());
    await store.redeemOAuthGrant(redemption());
    expect(await store.findGrantByFamily("family 1")).toMatchObject({ id: "grant 1" });
    const first = await Promise.all(
      [0, 0, 0].map((presented) => store.rotateOAuthGrant(rotation(presented))),
    );
    expect(first.map(({ outcome }) => outcome)).toEqual(["rotated", "rotated", "rotated"]);
    const later = { at: START + 10 * MINUTE };
    expect(await store.rotateOAuthGrant(rotation(1, later))).toMatchObject({ outcome: "rotated" });
    expect(await store.rotateOAuthGrant(rotation(1, { at: later.at + 30 * SECOND }))).toMatchObject(
      { outcome: "rotated" },
    );
    expect(new Set(await tokenStatesOf(store))).toEqual(new Set(["valid"]));
  });

  for (const [title, presented, at] of [
    ["the former token after the grace period", 1, START + 3 * MINUTE],
    ["an older token", 0, START + 2 * MINUTE],
    ["an unknown token of the family", 99, START + 2 * MINUTE],
  ] as const)
    it(`revokes the grant when ${title} is presented`, async ({ store }) => {
      await store.createOAuthGrant(newGrant());
      await store.redeemOAuthGrant(redemption());
      await store.rotateOAuthGrant(rotation(0));
      await store.rotateOAuthGrant(rotation(1, { at: START + 2 * MINUTE }));
      expect(await store.rotateOAuthGrant(rotation(presented, { at }))).toEqual({
        outcome: "reused",
      });
      expect(new Set(await tokenStatesOf(store))).toEqual(new Set(["revoked"]));
      expect(await store.rotateOAuthGrant(rotation(2, { at }))).toEqual({ outcome: "invalid" });
    });

  it("does not rotate a refresh token for another client, or after the expiry", async ({
    store,
  }) => {
    await store.createOAuthGrant(newGrant());
    await store.redeemOAuthGrant(redemption());
    const invalid = { outcome: "invalid" };
    expect(await store.rotateOAuthGrant(rotation(0, { client_id: "other" }))).toEqual(invalid);
    expect(await store.rotateOAuthGrant(rotation(0, { family_hash: "x" }))).toEqual(invalid);
    expect(await store.rotateOAuthGrant(rotation(0, { at: START + 30 * DAY }))).toEqual(invalid);
    expect(await tokenStatesOf(store)).toEqual(["valid"]);
  });

  it("ends a grant when its parent token is revoked or expires", async ({ store }) => {
    const parent = {
      name: "laptop",
      scopes: ["admin" as const],
      tenants: ["acme"],
      created_at: START,
    };
    for (const [id, expires_at] of [["parent 1", null] as const, ["parent 2", START + 5] as const])
      await store.putToken({ ...parent, id, hash: `hash of ${id}`, expires_at });
    await store.createOAuthGrant(newGrant({ parent: "parent 1" }));
    await store.redeemOAuthGrant(redemption());
    await store.createOAuthGrant(newGrant({ id: "grant 2", code_hash: "c", parent: "parent 1" }));
    await store.createOAuthGrant(newGrant({ id: "grant 3", code_hash: "d", parent: "parent 2" }));
    const third = redemption({ code_hash: "d", family_hash: "family 3" });
    await store.redeemOAuthGrant(third);
    expect(await store.findToken(third.access.hash)).toMatchObject({ expires_at: START + 5 });
    const refreshed = await store.rotateOAuthGrant(rotation(0, { family_hash: "family 3" }));
    expect(refreshed).toEqual({ outcome: "invalid" });

    await store.revokeToken("parent 1", START + 1);
    expect(await tokenStatesOf(store)).toEqual(["revoked"]);
    expect(await store.rotateOAuthGrant(rotation(0))).toEqual({ outcome: "invalid" });
    expect(await store.redeemOAuthGrant(redemption({ code_hash: "c" }))).toEqual({
      outcome: "reused",
    });
  });

  it("lists active grants with their last use, until they are revoked", async ({ store }) => {
    await store.createOAuthGrant(newGrant());
    expect(await store.listOAuthGrants({ now: START, limit: 10 })).toEqual([]);
    const redeemed = redemption();
    await store.redeemOAuthGrant(redeemed);
    await store.touchTokens([redeemed.access.id], START + MINUTE);
    expect(await store.listOAuthGrants({ now: START, limit: 10 })).toMatchObject([
      { id: "grant 1", client_name: "Editor", last_used_at: START + MINUTE },
    ]);
    expect(await store.listOAuthGrants({ now: START + 30 * DAY, limit: 10 })).toEqual([]);
    expect(await store.revokeOAuthGrant("grant 1", START)).toBe(true);
    expect(await store.revokeOAuthGrant("grant 1", START)).toBe(false);
    expect(await store.listOAuthGrants({ now: START, limit: 10 })).toEqual([]);
    expect(await tokenStatesOf(store)).toEqual(["revoked"]);
  });

  it("lists grants in pages, sorted by id in descending order", async ({ store }) => {
    for (const number of [2, 1, 4, 3]) {
      const id = `grant ${number}`;
      const person = number === 3 ? "github:8" : "github:7";
      await store.createOAuthGrant(newGrant({ id, person, code_hash: id }));
      const secrets = { code_hash: id, family_hash: `family ${number}` };
      await store.redeemOAuthGrant(redemption(secrets));
    }
    const ids = async (list: Partial<GrantQuery>) =>
      (await store.listOAuthGrants({ now: START, limit: 2, ...list })).map(({ id }) => id);
    expect(await ids({})).toEqual(["grant 4", "grant 3"]);
    expect(await ids({ before: "grant 3" })).toEqual(["grant 2", "grant 1"]);
    expect(await ids({ before: "grant 1" })).toEqual([]);
    expect(await ids({ person: "github:7" })).toEqual(["grant 4", "grant 2"]);
    expect(await ids({ person: "github:7", before: "grant 2" })).toEqual(["grant 1"]);
    expect(await ids({ person: "github:9" })).toEqual([]);
  });

  it("removes expired grants, and expired clients without grants", async ({ store }) => {
    await store.putOAuthClient(client());
    await store.putOAuthClient(client({ id: "client 2" }));
    await store.createOAuthGrant(newGrant({ expires_at: START + 3 * DAY }));
    await store.createOAuthGrant(newGrant({ id: "grant 2", code_hash: "b" }));
    expect(await store.sweepOAuth(START, 10)).toBe(0);
    expect(await store.sweepOAuth(START + 2 * DAY, 10)).toBe(2);
    expect(await store.getOAuthGrant("grant 1")).toBeDefined();
    expect(await store.getOAuthGrant("grant 2")).toBeUndefined();
    expect(await store.getOAuthClient("client 1")).toBeDefined();
    expect(await store.getOAuthClient("client 2")).toBeUndefined();
    expect(await store.sweepOAuth(START + 4 * DAY, 10)).toBe(2);
    expect(await store.getOAuthClient("client 1")).toBeUndefined();
  });
}
