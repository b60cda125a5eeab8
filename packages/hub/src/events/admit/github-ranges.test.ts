import { describe, expect, it } from "vitest";
import { createGithubRanges } from "./github-ranges.ts";

/** Uses a fake of GitHub's API that returns the responses in order, and repeats the last one. */
function setup(responses: (() => Response | Promise<Response>)[]) {
  let at = 1_000_000;
  let calls = 0;
  const errors: unknown[] = [];
  const ranges = createGithubRanges({
    apiUrl: "https://api.github.test/",
    now: () => at,
    onError: (error) => errors.push(error),
    fetch: async (url) => {
      expect(String(url)).toBe("https://api.github.test/meta");
      const respond = responses[Math.min(calls, responses.length - 1)];
      calls += 1;
      return (respond as () => Response | Promise<Response>)();
    },
  });
  return { ranges, errors, calls: () => calls, advance: (ms: number) => (at += ms) };
}

const hooks =
  (...list: string[]) =>
  () =>
    Response.json({ hooks: list });
const outage = () => new Response("unicorn", { status: 503 });
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("createGithubRanges", () => {
  it("starts from the snapshot, for IPv4 and IPv6, without waiting for GitHub", () => {
    const { ranges } = setup([() => new Promise<Response>(() => {})]);
    expect(ranges.includes("140.82.115.10")).toBe(true);
    expect(ranges.includes("2606:50c0:8000::153")).toBe(true);
    expect(ranges.includes("::ffff:140.82.115.10")).toBe(true);
    expect(ranges.includes("192.0.2.1")).toBe(false);
    expect(ranges.includes("2001:db8::1")).toBe(false);
  });

  it("uses the published list and refreshes it after an hour", async () => {
    const { ranges, advance, calls } = setup([hooks("192.0.2.0/24"), hooks("198.51.100.0/24")]);
    await ranges.refresh();
    expect(ranges.includes("192.0.2.1")).toBe(true);
    expect(ranges.includes("140.82.115.10")).toBe(false);
    advance(HOUR - 1);
    await ranges.refresh();
    expect(calls()).toBe(1);
    advance(1);
    await ranges.refresh();
    expect(calls()).toBe(2);
    expect(ranges.includes("198.51.100.1")).toBe(true);
  });

  it("keeps the last list during an outage and retries with a backoff", async () => {
    const { ranges, advance, calls, errors } = setup([hooks("192.0.2.0/24"), outage]);
    await ranges.refresh();
    advance(HOUR);
    await ranges.refresh();
    for (let request = 0; request < 1000; request += 1)
      expect(ranges.includes("192.0.2.1")).toBe(true);
    expect(calls()).toBe(2);
    advance(MINUTE);
    await ranges.refresh();
    advance(MINUTE); // the second failure doubles the backoff
    await ranges.refresh();
    expect(calls()).toBe(3);
    expect(errors).toHaveLength(2);
  });

  it.each([
    ["is not JSON", () => new Response("<html>")],
    ["has no list", () => Response.json({})],
    ["has an empty list", () => Response.json({ hooks: [] })],
    ["has an invalid network", () => Response.json({ hooks: ["everything"] })],
    ["never arrives", () => Promise.reject(new Error("ECONNRESET"))],
  ])("uses the snapshot if the response %s", async (_, response) => {
    const { ranges, errors } = setup([response]);
    await ranges.refresh();
    expect(errors).toHaveLength(1);
    expect(ranges.includes("140.82.115.10")).toBe(true);
    expect(ranges.includes("192.0.2.1")).toBe(false);
  });
});
