import { afterEach, expect, it, vi } from "vitest";
import { api, readBytes } from "./client.ts";
import { UnreachableError } from "./problem.ts";

afterEach(() => void vi.unstubAllGlobals());

/** Browsers throw a TypeError if the connection is lost while the body is read. */
const interruptedBody = () =>
  new ReadableStream({ start: (controller) => controller.error(new TypeError("network error")) });

it.each([
  ["JSON", () => api.get("/api/runs/:run", { params: { run: "1" } })],
  ["bytes", () => readBytes("/api/runs/1/input", [0, 9], new AbortController().signal)],
])("throws an UnreachableError if the connection is lost while it reads %s", async (_, request) => {
  vi.stubGlobal("fetch", async () => new Response(interruptedBody()));
  await expect(request()).rejects.toBeInstanceOf(UnreachableError);
});
