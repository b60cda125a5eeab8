import { describe, expect, it, onTestFinished, vi } from "vitest";
import { sha256Hex } from "../lib/hmac.ts";
import {
  type Access,
  type AuthorizerOptions,
  createAuthorizer,
  narrowTo,
  type Requirement,
} from "./authorizer.ts";
import type { GrantedToken, Token } from "./scopes.ts";

async function setup(options: Partial<AuthorizerOptions> = {}) {
  const tokens = new Map<string, GrantedToken>();
  let queries = 0;
  let at = 1_000;
  const errors: unknown[] = [];
  const find = async (match: (token: GrantedToken) => boolean) => {
    queries += 1;
    const token = [...tokens.values()].find(match);
    return token && { ...token };
  };
  const authorizer = createAuthorizer({
    store: {
      findToken: (hash) => find((token) => token.hash === hash),
      getToken: (id) => find((token) => token.id === id),
    },
    now: () => at,
    everyTenant: undefined,
    onError: (error) => errors.push(error),
    ...options,
  });
  const add = async (id: string, overrides: Partial<GrantedToken> = {}) => {
    tokens.set(id, {
      id,
      kind: "token",
      parent: null,
      last_used_at: null,
      person: null,
      resource: null,
      name: id,
      hash: await sha256Hex(id),
      scopes: ["inbox:read"],
      tenants: ["acme"],
      created_at: 0,
      expires_at: null,
      revoked_at: null,
      ...overrides,
    });
  };
  const revoke = (id: string) => {
    const token = tokens.get(id);
    if (token) token.revoked_at = at;
  };
  return {
    ...authorizer,
    add,
    revoke,
    errors,
    queries: () => queries,
    advance: (ms: number) => (at += ms),
  };
}

const access = (token: string, overrides: Partial<Access> = {}): Access => ({
  token,
  name: token,
  scopes: ["inbox:read"],
  tenants: ["acme"],
  ...overrides,
});

describe("authorize", () => {
  it("returns the access that the token grants", async () => {
    const { authorize, add } = await setup();
    await add("ada", { tenants: ["acme", "umbrella"] });
    const expected = access("ada", { tenants: ["acme", "umbrella"] });
    expect(await authorize("Bearer ada")).toEqual(expected);
    expect(await authorize("bearer  ada", { scope: "inbox:read" })).toEqual(expected);
    expect(await authorize("Bearer ada", { tenant: "umbrella" })).toMatchObject({
      tenants: ["umbrella"],
    });
  });

  it("accepts an OAuth token for its audience only", async () => {
    const { authorize, add } = await setup();
    await add("app", { kind: "oauth", resource: "https://hub.example/mcp" });
    await add("unbound", { kind: "oauth", resource: null });
    const audiences = ["https://hub.example", "https://hub.example/mcp"];
    expect(await authorize("Bearer app", { audiences })).toEqual(access("app"));
    for (const other of [undefined, [], ["https://hub.example"], ["https://hub.example/mcp/shop"]])
      expect(await authorize("Bearer app", { audiences: other })).toMatchObject({
        status: 401,
        code: "token_audience",
      });
    expect(await authorize("Bearer unbound", { audiences })).toMatchObject({ status: 401 });
    expect(await authorize(null, { audiences, session: "app" })).toMatchObject({ status: 401 });
  });

  it.each([
    [undefined, 401, "token_missing"],
    ["Basic ada", 401, "token_missing"],
    ["Bearer stranger", 401, "token_unknown"],
    ["Bearer revoked", 401, "token_revoked"],
    ["Bearer expired", 401, "token_expired"],
    ["Bearer other", 403, "no_tenant"],
    ["Bearer every", 403, "insufficient_scope"],
  ] as const)("denies the header %s with %s %s", async (authorization, status, code) => {
    const { authorize, add } = await setup();
    await add("revoked", { revoked_at: 1 });
    await add("expired", { expires_at: 1_000 });
    await add("other", { tenants: ["umbrella"] });
    await add("every", { tenants: ["*"] });
    const denied = await authorize(authorization, { tenant: "acme", scope: "inbox:write" });
    expect(denied).toMatchObject({ status, code });
  });

  it("requires a tenant if the token is for all tenants (`*`), except for shared data", async () => {
    const { authorize, add } = await setup();
    await add("every", { tenants: ["*"], scopes: ["admin"] });
    expect(await authorize("Bearer every")).toMatchObject({ code: "no_tenant", missing: "tenant" });
    expect(await authorize("Bearer every", { needsTenant: false })).toMatchObject({ tenants: [] });
    expect(await authorize("Bearer every", { tenant: "acme" })).toMatchObject({
      tenants: ["acme"],
    });
    const later = { mayChooseTenantLater: true };
    expect(await authorize("Bearer every", later)).toMatchObject({ tenants: [] });
    expect(await authorize("Bearer every", { ...later, tenant: "acme" })).toMatchObject({
      tenants: ["acme"],
    });
    await add("named", { tenants: ["acme"] });
    expect(await authorize("Bearer named", { ...later, tenant: "umbrella" })).toMatchObject({
      code: "no_tenant",
      missing: undefined,
    });
    const singleTenant = await setup({ everyTenant: ["local"] });
    await singleTenant.add("every", { tenants: ["*"] });
    expect(await singleTenant.authorize("Bearer every")).toMatchObject({ tenants: ["local"] });
  });

  it("caches a token for one second", async () => {
    const { authorize, add, revoke, queries, advance } = await setup();
    await add("ada");
    await Promise.all([authorize("Bearer ada"), authorize("Bearer ada")]);
    revoke("ada");
    advance(999);
    expect(await authorize("Bearer ada")).toMatchObject({ token: "ada" });
    expect(queries()).toBe(1);
    advance(1);
    expect(await authorize("Bearer ada")).toMatchObject({ code: "token_revoked" });
  });

  it("does not cache a failed query", async () => {
    let isDown = true;
    const { authorize } = await setup({
      store: {
        findToken: async () => {
          if (isDown) throw new Error("the database is unavailable");
          return undefined;
        },
        getToken: async () => undefined,
      },
    });
    await expect(authorize("Bearer ada")).rejects.toThrow("the database is unavailable");
    isDown = false;
    expect(await authorize("Bearer ada")).toMatchObject({ code: "token_unknown" });
  });
});

it("recheck returns whether the token still grants the whole access", async () => {
  const { recheck, add, revoke, advance } = await setup();
  await add("ada", { expires_at: 2_000 });
  expect(await recheck(access("ada"))).toBe(true);
  expect(await recheck(access("bob"))).toBe(false);
  expect(await recheck(access("ada", { tenants: ["acme", "umbrella"] }))).toBe(false);
  expect(await recheck(access("ada", { scopes: ["inbox:write"] }))).toBe(false);
  advance(1_000);
  expect(await recheck(access("ada"))).toBe(false);
  await add("eve", { tenants: ["*"], scopes: ["admin"] });
  expect(await recheck(access("eve"))).toBe(true);
  revoke("eve");
  expect(await recheck(access("eve"))).toBe(false);
});

describe("watch", () => {
  const useFakeTimers = () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
  };

  it("calls each callback of a revoked token once, with one query per token", async () => {
    useFakeTimers();
    const { watch, add, revoke, queries } = await setup();
    await add("ada");
    await add("bob");
    const revoked = { ada: vi.fn(), bob: vi.fn() };
    const stops = [
      watch(access("ada"), revoked.ada),
      watch(access("ada"), revoked.ada),
      watch(access("bob"), revoked.bob),
    ];
    await vi.advanceTimersByTimeAsync(2_000);
    expect(queries()).toBe(2);
    revoke("ada");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(revoked.ada).toHaveBeenCalledTimes(2);
    expect(revoked.bob).not.toHaveBeenCalled();
    for (const stop of stops) stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not call the callback of a watch that was stopped", async () => {
    useFakeTimers();
    const { watch, add, revoke } = await setup();
    await add("ada");
    const onRevoked = vi.fn();
    watch(access("ada"), onRevoked)();
    revoke("ada");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(onRevoked).not.toHaveBeenCalled();
  });

  it("calls the callbacks of all access to a deleted tenant, and does not use cached tokens", async () => {
    const { watch, endTenant, authorize, add, revoke } = await setup();
    await add("ada");
    await authorize("Bearer ada");
    const called: string[] = [];
    const open = (name: string, tenants: string[]) =>
      watch(access(name, { tenants }), () => called.push(`${name} ${tenants}`));
    open("ada", ["acme"]);
    open("operator", ["acme"]);
    const stops = [open("operator", ["umbrella"])];
    open("bob", ["umbrella", "acme"]);
    revoke("ada");
    endTenant("acme");
    endTenant("acme");
    expect(called).toEqual(["ada acme", "operator acme", "bob umbrella,acme"]);
    expect(await authorize("Bearer ada")).toMatchObject({ status: 401 });
    for (const stop of stops) stop();
  });

  it("waits for a slow query before it sends the next one", async () => {
    useFakeTimers();
    const results: ((token: Token | undefined) => void)[] = [];
    const { watch } = await setup({
      store: {
        findToken: async () => undefined,
        getToken: () => new Promise((resolve) => results.push(resolve)),
      },
    });
    const onRevoked = vi.fn();
    watch(access("ada"), onRevoked);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(results).toHaveLength(1);
    results[0]?.(undefined);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(onRevoked).toHaveBeenCalledTimes(1);
  });

  it("continues after failures of the store", async () => {
    useFakeTimers();
    let isDown = true;
    const { watch, errors } = await setup({
      store: {
        findToken: async () => undefined,
        getToken: async () => {
          if (isDown) throw new Error("the database is unavailable");
          return undefined;
        },
      },
    });
    const onRevoked = vi.fn();
    watch(access("ada"), onRevoked);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(errors).toHaveLength(1);
    expect(onRevoked).not.toHaveBeenCalled();
    isDown = false;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(onRevoked).toHaveBeenCalledTimes(1);
  });
});

it("rejects a token that is too long without a query, and without caching it", async () => {
  const { authorize, add, queries } = await setup();
  const long = "x".repeat(15_000);
  await add(long);
  expect(await authorize(`Bearer ${long}`)).toMatchObject({
    status: 401,
    code: "token_unknown",
    detail: "The token exceeds the limit of 512 characters.",
  });
  expect(queries()).toBe(0);
});

it("keeps valid tokens in the cache while other tokens are guessed", async () => {
  const { authorize, add, queries } = await setup();
  await add("good");
  await authorize("Bearer good");
  for (let at = 0; at < 10_001; at += 1) await authorize(`Bearer guess-${at}`);
  const before = queries();
  expect(await authorize("Bearer good")).toMatchObject({ token: "good" });
  expect(queries()).toBe(before);
});

it("rejects a revoked token within a second of real time, although the clock is set back", async () => {
  let elapsed = 0;
  const { authorize, add, revoke, advance } = await setup({ monotonic: () => elapsed });
  await add("ada");
  expect(await authorize("Bearer ada")).toMatchObject({ token: "ada" });
  revoke("ada");
  advance(-3_600_000);
  elapsed += 1_001;
  expect(await authorize("Bearer ada")).toMatchObject({ code: "token_revoked" });
});

describe("a token of a person", () => {
  const roles = new Map([
    ["acme", "admin"],
    ["umbrella", "member"],
  ] as const);
  const ada = { person: "github:7", tenants: [...roles.keys()], roles, scopes: ["admin"] } as const;
  const granted = ada as unknown as Partial<GrantedToken>;
  const MEMBER = ["inbox:read", "inbox:write", "flows:call", "runs:read"];

  it("allows in each tenant what the role allows", async () => {
    const { authorize, add } = await setup();
    await add("ada", granted);
    const authorizeFor = (requirement: Requirement) => authorize("Bearer ada", requirement);
    expect(await authorizeFor({ scope: "inbox:read" })).toEqual({
      ...access("ada", { tenants: ["acme", "umbrella"] }),
      person: "github:7",
      scopes: MEMBER,
      adminTenants: ["acme"],
    });
    expect(await authorizeFor({ scope: "admin" })).toMatchObject({
      scopes: ["admin"],
      tenants: ["acme"],
    });
    expect(await authorizeFor({ scope: "admin", tenant: "acme" })).toMatchObject({
      scopes: ["admin"],
      tenants: ["acme"],
    });
    expect(await authorizeFor({ scope: "runs:read", tenant: "umbrella" })).toMatchObject({
      scopes: MEMBER,
      tenants: ["umbrella"],
      adminTenants: [],
    });
    expect(await authorizeFor({ scope: "admin", tenant: "umbrella" })).toMatchObject({
      status: 403,
      code: "insufficient_scope",
    });
    for (const tenant of ["*", "other", "constructor"])
      expect(await authorizeFor({ tenant })).toMatchObject({ code: "no_tenant" });
  });

  it("allows at most its own scopes", async () => {
    const { authorize, add } = await setup();
    await add("app", { ...granted, scopes: ["inbox:read"] });
    expect(await authorize("Bearer app")).toMatchObject({
      scopes: ["inbox:read"],
      tenants: ["acme", "umbrella"],
      adminTenants: [],
    });
    for (const scope of ["inbox:write", "admin"] as const)
      expect(await authorize("Bearer app", { scope })).toMatchObject({
        code: "insufficient_scope",
      });
  });

  it("allows nothing if it has no tenants, or if its person was not looked up or is unconfirmed", async () => {
    const { authorize, recheck, add } = await setup();
    await add("alone", { ...granted, tenants: [], roles: new Map() });
    await add("raw", { person: "github:7", tenants: ["*", "acme"], scopes: ["admin"] });
    await add("old", { ...granted, tenants: [], roles: "unconfirmed" });
    for (const token of ["alone", "raw"]) {
      expect(await authorize(`Bearer ${token}`)).toMatchObject({ code: "no_tenant" });
      expect(await authorize(`Bearer ${token}`, { needsTenant: false })).toMatchObject({
        scopes: [],
        tenants: [],
      });
      for (const scope of ["inbox:read", "admin"] as const)
        expect(await authorize(`Bearer ${token}`, { scope, needsTenant: false })).toMatchObject({
          code: "insufficient_scope",
        });
      for (const tenant of ["acme", "*"])
        expect(await authorize(`Bearer ${token}`, { tenant })).toMatchObject({ code: "no_tenant" });
      expect(await recheck(access(token))).toBe(false);
    }
    expect(await authorize("Bearer old", { needsTenant: false })).toMatchObject({
      status: 503,
      code: "memberships_unconfirmed",
    });
    expect(await recheck(access("old"))).toBe(false);
  });

  it("no longer grants an access after the role has changed", async () => {
    const { recheck, add } = await setup();
    await add("ada", granted);
    const both = access("ada", { tenants: ["acme", "umbrella"] });
    expect(await recheck(both)).toBe(true);
    expect(await recheck({ ...both, scopes: ["admin"] })).toBe(false);
    expect(await recheck(access("ada", { scopes: ["admin"] }))).toBe(true);
    await add("ada", {
      ...granted,
      tenants: ["umbrella"],
      roles: new Map([["umbrella", "member"]]),
    });
    expect(await recheck(both)).toBe(false);
    expect(await recheck(access("ada", { scopes: ["admin"] }))).toBe(false);
  });

  it("is narrowed to the tenants of which the person is admin", async () => {
    const { authorize, add } = await setup();
    await add("ada", granted);
    const fullAccess = (await authorize("Bearer ada")) as Access;
    expect(narrowTo(fullAccess, "inbox:read")).toBe(fullAccess);
    expect(narrowTo(fullAccess, "admin")).toMatchObject({ scopes: ["admin"], tenants: ["acme"] });
    const member = (await authorize("Bearer ada", { tenant: "umbrella" })) as Access;
    expect(narrowTo(member, "admin")).toBeUndefined();
  });
});
