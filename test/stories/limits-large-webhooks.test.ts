/** Large webhooks do not block or crash the hub, which parses and compares them outside its main thread. */
import { describe, expect, it, vi } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import { emptyObjects } from "../support/attacks/webhooks.ts";
import { deliver } from "../support/deliver.ts";
import { edge, node } from "../support/flow-samples.ts";
import { probeHealth } from "../support/health-probe.ts";
import { WAIT } from "../support/timeouts.ts";

/** Publishes a flow whose `Event` trigger has these parameters, and which returns `value`. */
const publish = async (api: Api, parameters: object, value: unknown = "done"): Promise<string> => {
  await api.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
  const flow = {
    name: "Large",
    nodes: [
      node("on", "Event", { source: "github", ...parameters }),
      node("end", "Return", { value }),
    ],
    edges: [edge("on", "end")],
  };
  const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
  await api.expect(200, "POST", `/api/flows/${id}/publish`);
  return id;
};
const idOf = async (response: Response) => ((await response.json()) as { id: string }).id;
const explainEvent = async (api: Api, id: string) =>
  (await api.expect(200, "GET", `/api/events/${id}/explain`)).text;
const waitForRun = (api: Api) =>
  vi.waitFor(async () => {
    const [run] = (await api.expect(200, "GET", "/api/runs")).json.items;
    expect(run?.finished_at ?? null).not.toBeNull();
    return (await api.expect(200, "GET", `/api/runs/${run.id}`)).json;
  }, WAIT);

it("the hub rejects ten concurrent webhooks with eight million values each", async () => {
  const api = await startApi();
  const body = emptyObjects(24_000_000);
  const probe = probeHealth(api.hub, "ten webhooks of 24 MB");
  const responses = await Promise.all(
    Array.from({ length: 10 }, () => deliver(api.hub.url, { body })),
  );
  const rejections = await Promise.all(
    responses.map(async (response) => `${response.status} ${await response.text()}`),
  );
  // With 503, the hub rejects a body because it is reading too many large bodies already.
  for (const rejection of rejections)
    expect(rejection).toMatch(/^(413 .*SIGNALBOX_MAX_WEBHOOK_VALUES|503 .*too many large bodies)/);
  expect(rejections.some((rejection) => rejection.startsWith("413 "))).toBe(true);
  expect((await api.expect(200, "GET", "/api/events")).json.items).toEqual([]);
  await probe.expectHealthy({ maxMegabytes: 1000 });
});

it.each([
  ["one text", { text: "ab".repeat(500_000) }, "text"],
  ["a list of texts", { text: Array.from({ length: 900 }, () => "ab".repeat(550)) }, "text[]"],
  ["a list of short texts", { text: Array.from({ length: 120_000 }, () => "abcd") }, "text[]"],
])(
  "a trigger compares %s in a webhook of 1 MB with a glob of 1,000 characters",
  async (name, body, path) => {
    const api = await startApi();
    const glob = `*${"?b".repeat(498)}c*`;
    await publish(api, { params: { [path]: { op: "glob", value: glob } } });
    const probe = probeHealth(api.hub, `a glob on ${name}`);
    const response = await deliver(api.hub.url, { body: JSON.stringify(body) });
    expect(response.status).toBe(202);
    const id = await idOf(response);
    await vi.waitFor(
      async () => expect(await explainEvent(api, id)).toContain("wanted glob"),
      WAIT,
    );
    await probe.expectHealthy();
  },
);

/** Returns the body of a push with more than 500,000 values in about 20 MB. */
function largePush(): Buffer {
  const commits = Array.from({ length: 62_500 }, (_, index) => ({
    id: `${index}`.padStart(40, "0"),
    message: `Repaint the lamp ${index} on track ${index % 97}, and oil its bearings`,
    author: { name: "Mona Lisa", email: "mona@example.com" },
    url: `https://github.com/octo/town/commit/${`${index}`.padStart(40, "0")}`,
    distinct: index % 2 === 0,
    added: `tracks/${index % 97}/lamps/${index}.json ${"·".repeat(12)}`,
  }));
  return Buffer.from(
    JSON.stringify({ ref: "refs/heads/main", repository: { full_name: "octo/town" }, commits }),
  );
}

describe.each<Backend>(["SQLite", "PostgreSQL"])(
  "a realistic webhook of 20 MB, on %s",
  (backend) => {
    it("is accepted, and its trigger and its flow read it", async () => {
      const api = await startApi(backend);
      await publish(
        api,
        {
          type: "push",
          params: { "commits[].author.name": "Mona Lisa" },
          filter: "data.ref = 'refs/heads/main'",
        },
        "{{ trigger.data.commits[62499].message }}",
      );
      const body = largePush();
      expect(body.byteLength).toBeGreaterThan(18_000_000);
      const probe = probeHealth(api.hub, `a webhook of 20 MB on ${backend}`);
      const response = await deliver(api.hub.url, { body, type: "push" });
      expect(response.status).toBe(202);
      const id = await idOf(response);
      expect(await waitForRun(api)).toMatchObject({
        status: "succeeded",
        output: expect.stringContaining("the lamp 62499 on"),
      });
      const [event] = (await api.expect(200, "GET", "/api/events")).json.items;
      expect(event).toMatchObject({ id, type: "push", repo: "octo/town" });
      await probe.expectHealthy({ maxMegabytes: 1000 });
    });
  },
);
