import { expect, it } from "vitest";
import { describeSecrets } from "./doctor-findings.ts";

it("reports the webhook secrets, and whether they are from a running hub or from this terminal", () => {
  const shared = { signed: ["github"], unsigned: false };
  expect(describeSecrets(shared, 0)).toEqual({
    check: "secrets",
    state: "ok",
    says: "set for github",
  });
  expect(describeSecrets(shared, 2).says).toBe("set for github, and 2 for endpoints with a key");
  expect(describeSecrets({ signed: [], unsigned: true }, 0)).toMatchObject({
    state: "warning",
    says: expect.stringMatching(/^none; unsigned webhooks .* accepted from this machine$/),
  });
  expect(describeSecrets({ ...shared, unsigned: true }, 0).state).toBe("warning");
  expect(describeSecrets({ signed: [], unsigned: false, isFromTerminal: true }, 0).says).toBe(
    "none (settings of this terminal; a running hub has its own)",
  );
});
