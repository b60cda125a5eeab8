import { expect, it, vi } from "vitest";
import { createOpenStreams, isStream } from "./open-streams.ts";

const access = { token: "ada", name: "Ada", scopes: ["inbox:read" as const], tenants: ["acme"] };

it("ends a stream when its token is revoked, and all streams on close", () => {
  const revoke: (() => void)[] = [];
  const streams = createOpenStreams({
    watch(_, onRevoked) {
      revoke.push(onRevoked);
      return () => {};
    },
  });
  const openStream = () => {
    const end = vi.fn();
    streams.track(new Response(new ReadableStream()), {
      request: new Request("http://hub/mcp"),
      access,
      end,
      onDrain: () => {},
      onEnd: () => {},
    });
    return end;
  };
  const [first, second] = [openStream(), openStream()];
  revoke[0]?.();
  expect([first, second].map((end) => end.mock.calls.length)).toEqual([1, 0]);
  streams.close();
  expect(second).toHaveBeenCalledTimes(1);
});

it("recognizes a stream by its type, and reads `body` of no other response", () => {
  const headers = { "content-type": "text/event-stream; charset=utf-8" };
  expect(isStream(new Response(new ReadableStream(), { headers }))).toBe(true);
  expect(isStream(new Response(null, { headers }))).toBe(false);
  const json = Response.json({});
  const readBody = vi.spyOn(json, "body", "get");
  expect(isStream(json)).toBe(false);
  expect(readBody).not.toHaveBeenCalled();
});
