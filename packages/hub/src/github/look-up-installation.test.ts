import { expect, it } from "vitest";
import { createLookUpInstallation, type FoundInstallation } from "./look-up-installation.ts";

const acme: FoundInstallation = { account: { id: "100", login: "acme" }, isSuspended: false };

it("sends one request for concurrent look-ups of the same installation", async () => {
  const requestedIds: string[] = [];
  const { promise, resolve } = Promise.withResolvers<FoundInstallation>();
  const lookUp = createLookUpInstallation(
    (id) => {
      requestedIds.push(id);
      return promise;
    },
    () => 0,
  );
  const results = ["7", "7", "8", "7"].map(lookUp);
  resolve(acme);
  expect(await Promise.all(results)).toEqual([acme, acme, acme, acme]);
  expect(requestedIds).toEqual(["7", "8"]);
});

it("caches an unknown installation for a minute, and an outage for five seconds", async () => {
  let now = 0;
  let calls = 0;
  let result: "unknown" | "unavailable" = "unknown";
  const lookUp = createLookUpInstallation(
    async () => {
      calls += 1;
      return result;
    },
    () => now,
  );
  const callsAt = async (time: number) => {
    now = time;
    await lookUp("7");
    return calls;
  };
  expect([await callsAt(0), await callsAt(59_999), await callsAt(60_000)]).toEqual([1, 1, 2]);
  result = "unavailable";
  expect([await callsAt(120_000), await callsAt(124_999), await callsAt(125_000)]).toEqual([
    3, 3, 4,
  ]);
});

it("sends another request after one that failed", async () => {
  let calls = 0;
  const lookUp = createLookUpInstallation(
    async () => {
      calls += 1;
      if (calls === 1) throw new Error("no");
      return acme;
    },
    () => 0,
  );
  await expect(lookUp("7")).rejects.toThrow("no");
  expect(await lookUp("7")).toBe(acme);
});
