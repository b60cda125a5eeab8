import { expect, it } from "vitest";
import { connectionId } from "./connection-id.ts";

const random = (bytes: Uint8Array<ArrayBuffer>) => bytes.map((_, index) => index * 40);

it("creates a readable id that ends with six random characters", () => {
  expect(connectionId("Weather", random)).toBe("weather-ais2ai");
  expect(connectionId("Grüße an  Æsop!", random)).toBe("grusse-an-aesop-ais2ai");
  expect(connectionId("天気", random)).toBe("connection-ais2ai");
  expect(connectionId("7 days", random)).toBe("connection-7-days-ais2ai");
  expect(connectionId("x".repeat(500), random)).toBe(`${"x".repeat(40)}-ais2ai`);
  expect(connectionId(`${"x".repeat(39)} y`, random)).toBe(`${"x".repeat(39)}-ais2ai`);
});

it("creates different ids for the same name", () => {
  const ids = new Set(Array.from({ length: 200 }, () => connectionId("Weather")));
  expect(ids.size).toBe(200);
  for (const id of ids) expect(id).toMatch(/^weather-[a-km-np-z2-9]{6}$/);
});
