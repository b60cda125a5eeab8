import { afterEach, expect, it, vi } from "vitest";
import { api } from "./client.ts";
import { UnreachableError } from "./problem.ts";

afterEach(() => void vi.unstubAllGlobals());

/** Browsers throw a TypeError if the connection is lost while the body is read. */
const interruptedBody = () =>
  new ReadableStream({ start: (controller) => controller.error(new TypeError("network error")) });

it.each([
  ["JSON", () => api.get("/api/runs/1")],
  ["bytes", () => api.bytes("/api/runs/1/input", [0, 9])],
])("throws an UnreachableError if the connection is lost while it reads %s", async (_, request) => {
  vi.stubGlobal("fetch", async () => new Response(interruptedBody()));
  await expect(request()).rejects.toBeInstanceOf(UnreachableError);
});
