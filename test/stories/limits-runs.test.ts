/** No run freezes or kills the hub: what it stores is limited, and what others read of it is short. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ADMIN, type Api, type Backend, startApi } from "../support/api-client.ts";
import {
  eventOf468Megabytes,
  runBeyondItsBudget,
  runOf58Megabytes,
  TRIGGER,
} from "../support/attacks/large-runs.ts";
import { probeHealth } from "../support/health-probe.ts";
import { WAIT } from "../support/timeouts.ts";

const publish = async (api: Api, flow: object): Promise<string> => {
  await api.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
  const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
  await api.expect(200, "POST", `/api/flows/${id}/publish`);
  return id;
};
const start = async (api: Api, flow: string): Promise<string> =>
  (await api.expect(202, "POST", `/api/flows/${flow}/runs`, { trigger: TRIGGER })).json.id;
const waitForEnd = (api: Api, id: string) =>
  vi.waitFor(async () => {
    const response = await api.expect(200, "GET", `/api/runs/${id}`);
    expect(response.json.finished_at).not.toBeNull();
    return response;
  }, WAIT);

describe.each<Backend>(["SQLite", "PostgreSQL"])("a run with large values, on %s", (backend) => {
  it("fails at the step that exceeds its budget", async () => {
    const api = await startApi(backend);
    const flow = await publish(api, runBeyondItsBudget());
    const probe = probeHealth(api.hub, `60 outputs of 3.9 MB on ${backend}`);
    const { json } = await waitForEnd(api, await start(api, flow));
    expect(json).toMatchObject({ status: "failed", error: { code: "run_too_large" } });
    expect(json.error.message).toContain("SIGNALBOX_RUN_BYTES");
    expect(json.steps.length).toBeLessThan(20);
    await probe.expectHealthy();
  });

  it("is returned as previews, and each value as a whole or in ranges", async () => {
    const api = await startApi(backend);
    const id = await start(api, await publish(api, runOf58Megabytes()));
    await waitForEnd(api, id);
    const probe = probeHealth(api.hub, `reads of a run of 58 MB on ${backend}`);
    // Ten streams that are never read.
    const abort = new AbortController();
    onTestFinished(() => abort.abort());
    const headers = { authorization: `Bearer ${ADMIN}` };
    for (let count = 0; count < 10; count += 1)
      await fetch(`${api.hub.url}/api/runs/${id}/stream`, { headers, signal: abort.signal });
    const { json, text } = await api.expect(200, "GET", `/api/runs/${id}`);
    expect(text.length).toBeLessThan(100_000);
    expect(json).toMatchObject({ status: "succeeded", output: "short" });
    const step = json.steps.find(({ node_id }: { node_id: string }) => node_id === "n3");
    expect(step.output).toEqual({ $preview: expect.stringMatching(/^"x+$/), bytes: 3_900_002 });
    const path = `/api/runs/${id}/steps/${step.nth}/output`;
    expect((await api.expect(200, "GET", path)).json).toHaveLength(3_900_000);
    const range = { range: "bytes=3900000-" };
    const part = await fetch(api.hub.url + path, { headers: { ...headers, ...range } });
    expect([part.status, await part.text()]).toEqual([206, 'x"']);
    await probe.expectHealthy();
  });

  it("cannot emit an event that is too large to be read", async () => {
    const api = await startApi(backend);
    const flow = await publish(api, eventOf468Megabytes());
    const probe = probeHealth(api.hub, `an event of 468 MB on ${backend}`);
    const { json } = await waitForEnd(api, await start(api, flow));
    expect(json).toMatchObject({
      status: "failed",
      error: { code: "input_too_large", node_id: "emit" },
    });
    expect((await api.expect(200, "GET", "/api/events")).json.items).toEqual([]);
    await probe.expectHealthy();
  });
});
