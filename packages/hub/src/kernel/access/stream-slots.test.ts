import { expect, it } from "vitest";
import type { Access } from "./authorizer.ts";
import { createStreamSlots } from "./stream-slots.ts";

const access = (token: string, tenant: string): Access => ({
  token,
  name: token,
  scopes: ["admin"],
  tenants: [tenant],
});

function setUp(max: number) {
  const watched = new Map<() => void, string>();
  const ended: string[] = [];
  const slots = createStreamSlots({
    authorizer: {
      watch({ token }, onRevoked) {
        watched.set(onRevoked, token);
        return () => watched.delete(onRevoked);
      },
    },
    max,
  });
  const openStream = (token: string, tenant: string) =>
    slots.open(access(token, tenant), (reason) => ended.push(`${token} ${reason}`));
  return { slots, watched, ended, openStream };
}

it("gives a slot of the largest tenant to a tenant with fewer streams, whatever the number of tokens", () => {
  const { slots, watched, ended, openStream } = setUp(17);
  for (let at = 0; at < 17; at += 1) expect(openStream(`many ${at}`, "many")).toBeDefined();
  expect(slots.hasCapacity(access("many 17", "many"))).toBe(false);
  expect(openStream("many 17", "many")).toBeUndefined();
  expect(ended).toEqual([]);
  for (let at = 0; at < 9; at += 1) {
    expect(slots.hasCapacity(access(`few ${at}`, "few"))).toBe(at < 8);
    expect(openStream(`few ${at}`, "few") !== undefined).toBe(at < 8);
  }
  expect(ended).toEqual(Array.from({ length: 8 }, (_, at) => `many ${at} evicted`));
  expect(watched.size).toBe(17);
});

it("ends a stream when its token is revoked, and releases its slot", () => {
  const { slots, watched, ended, openStream } = setUp(1);
  openStream("a", "acme");
  expect(slots.hasCapacity(access("b", "acme"))).toBe(false);
  for (const revoke of watched.keys()) revoke();
  expect(ended).toEqual(["a revoked"]);
  const release = openStream("b", "acme");
  release?.();
  expect(watched.size).toBe(0);
  expect(ended).toEqual(["a revoked"]);
  expect(openStream("c", "acme")).toBeDefined();
});
