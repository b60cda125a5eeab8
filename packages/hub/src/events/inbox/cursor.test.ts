import { tenantsError } from "@signalbox/contract/scopes.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { MAX_TENANTS } from "../../kernel/access/scopes.ts";
import { pollParams } from "../mcp-events/protocol.ts";
import { decodeCursor, encodeCursor, predatesFailover } from "./cursor.ts";
import { inboxTools } from "./inbox-tools.ts";

const anySeq = fc.nat(1_000_000_000);

it("encodes the cursor of a single tenant as its seq", () => {
  expect(encodeCursor(new Map([["acme", 7]]), ["acme"])).toBe("7");
  expect(decodeCursor("7", ["acme"])).toEqual(new Map([["acme", 7]]));
  expect(decodeCursor("7", ["acme", "umbrella"])).toBeUndefined();
});

it("decodes a cursor to the same positions, for any tenant ids", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(
        fc.tuple(
          fc.string({ minLength: 1 }).filter((tenant) => tenant.isWellFormed()),
          anySeq,
        ),
        {
          selector: ([tenant]) => tenant,
          minLength: 2,
          maxLength: 5,
        },
      ),
      (positions) => {
        const tenants = positions.map(([tenant]) => tenant);
        expect(decodeCursor(encodeCursor(new Map(positions), tenants), tenants)).toEqual(
          new Map(positions),
        );
      },
    ),
  );
});

it("decodes 0 as the beginning of all logs", () => {
  expect(decodeCursor("0", ["acme"])).toEqual(new Map([["acme", 0]]));
  expect(decodeCursor("0", ["acme", "umbrella"])).toEqual(
    new Map([
      ["acme", 0],
      ["umbrella", 0],
    ]),
  );
});

it("decodes a cursor of another database to infinite positions", () => {
  const [ours, theirs] = ["a".repeat(32), "b".repeat(32)];
  for (const tenants of [["acme", "a@aaaaaaaa"], ["acme"]]) {
    const positions = new Map(tenants.map((tenant) => [tenant, 7]));
    const cursor = encodeCursor(positions, tenants, ours);
    expect(decodeCursor(cursor, tenants, ours)).toEqual(positions);
    expect(decodeCursor(cursor, tenants)).toEqual(positions);
    expect(decodeCursor(encodeCursor(positions, tenants), tenants, ours)).toEqual(positions);
    expect([...(decodeCursor(cursor, tenants, theirs)?.values() ?? [])]).toEqual(
      tenants.map(() => Number.POSITIVE_INFINITY),
    );
  }
  for (const text of ["7@", "7@aaaaaaaa@aaaaaaaa", "@aaaaaaaa", "7@AAAAAAAA", "x@aaaaaaaa"])
    expect(decodeCursor(text, ["acme"], ours), text).toBeUndefined();
});

it("keeps the positions of a cursor from before a failover, which changes two digits of the log id", () => {
  const [before, after] = ["a".repeat(32), `${"a".repeat(6)}02${"a".repeat(24)}`];
  const cursor = encodeCursor(new Map([["acme", 7]]), ["acme"], before);
  expect(decodeCursor(cursor, ["acme"], after)).toEqual(new Map([["acme", 7]]));
  expect(predatesFailover(cursor, after)).toBe(true);
  for (const other of [before, "b".repeat(32)]) expect(predatesFailover(cursor, other)).toBe(false);
  expect(predatesFailover("7", after)).toBe(false);
});

it("decodes any text without throwing, and never returns a tenant that is not in the list", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.stringMatching(/^(%?[0-9a-g]{0,3}:?\d?[,@]?)+$/)),
      (text) => {
        const cursor = decodeCursor(text, ["acme", "umbrella"]);
        for (const tenant of cursor?.keys() ?? []) expect(["acme", "umbrella"]).toContain(tenant);
      },
    ),
  );
  expect(decodeCursor("%zz:1", ["acme"])).toBeUndefined();
  expect(decodeCursor("stranger:5,acme:1", ["acme", "umbrella"])).toEqual(new Map([["acme", 1]]));
});

it("encodes no cursor that is too long for a `cursor` parameter, for any tenants that a token may have", () => {
  /** Whether each `cursor` parameter accepts the cursor: that of `events/poll`, and those of tools. */
  const areAccepted = (cursor: string) => [
    pollParams.safeParse({ name: "github.issues", cursor }).success,
    ...inboxTools({} as never)
      .map(({ listed }) => listed.inputSchema.properties as Record<string, { maxLength?: number }>)
      // The other cursors do not have a position for each tenant.
      .filter((properties) => "limit" in properties)
      .flatMap((properties) => properties.cursor ?? [])
      .map(({ maxLength = 0 }) => cursor.length <= maxLength),
  ];
  const manyTenants = Array.from({ length: MAX_TENANTS }, (_, index) =>
    `${index}`.padStart(20, "0"),
  );
  for (const tenants of [manyTenants, ["❤".repeat(440), "umbrella"]]) {
    expect(tenantsError(tenants)).toBeUndefined();
    const positions = new Map(tenants.map((tenant) => [tenant, 10 ** 15 - 1]));
    expect(areAccepted(encodeCursor(positions, tenants, "a".repeat(32)))).toEqual([
      true,
      true,
      true,
      true,
    ]);
  }
  expect(tenantsError(Array.from({ length: MAX_TENANTS + 1 }, () => "a"))).toContain("at most 200");
  expect(tenantsError(["❤".repeat(445)])).toContain("4000 characters");
  expect(tenantsError(["\ud800"])).toBe("must be tenant ids");
});
