import { expect, test } from "vitest";
import { createOutboundLimits, outboundOrigin } from "./outbound-limits.ts";

const flow = ["tenant", "app", "flow"];
const { signal } = new AbortController();

test("limits the requests of each origin, and lists what waits for which", async () => {
  const limits = createOutboundLimits(6);
  const releases = [];
  for (let index = 0; index < 4; index += 1)
    releases.push(await limits.enter("https://dead.example", flow, { signal }));
  const events: string[] = [];
  const waiting = limits.enter("https://dead.example", flow, {
    signal,
    onQueued() {
      events.push("queued");
      return () => events.push("entered");
    },
  });
  // Other origins, and other flows at this origin, do not wait.
  (await limits.enter("https://alive.example", flow, { signal }))();
  (await limits.enter("https://dead.example", ["other"], { signal }))();
  expect(limits.list()).toEqual([
    { origin: "https://dead.example", open: 4, waiting: [{ path: flow, count: 1 }] },
  ]);
  releases[0]?.();
  const release = await waiting;
  expect(events).toEqual(["queued", "entered"]);
  for (const leave of [release, ...releases]) leave();
  expect(limits.list()).toEqual([]);
});

test("rejects a request that is aborted while it waits, and keeps no place for it", async () => {
  const limits = createOutboundLimits(1);
  const release = await limits.enter("o", flow, { signal });
  const controller = new AbortController();
  const waiting = limits.enter("o", flow, { signal: controller.signal });
  controller.abort(new Error("cancelled"));
  await expect(waiting).rejects.toThrow("cancelled");
  await expect(limits.enter("o", flow, { signal: controller.signal })).rejects.toThrow("cancelled");
  release();
  expect(limits.list()).toEqual([]);
});

test("applies the limit to the origin of a URL", () => {
  expect(outboundOrigin("https://user@x.example:8443/path?query")).toBe("https://x.example:8443");
  expect(outboundOrigin("not a URL")).toBe("invalid URL");
});
