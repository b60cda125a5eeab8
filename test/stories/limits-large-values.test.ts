/** The hub keeps large values of runs as JSON text. Only its worker processes parse them. */
import { describe, expect, it, vi } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import {
  conditionOnLongList,
  eventOfManyValues,
  flowOf750000References,
  inputOf30References,
  inputOf468Megabytes,
  nodesWithLargeValue,
  TRIGGER,
  textOf468Megabytes,
} from "../support/attacks/large-runs.ts";
import { probeHealth } from "../support/health-probe.ts";
import { WAIT } from "../support/timeouts.ts";

async function publish(api: Api, flow: object): Promise<string> {
  await api.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
  const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
  await api.expect(200, "POST", `/api/flows/${id}/publish`);
  return id;
}

async function runFlow(api: Api, flow: object) {
  const id = await publish(api, flow);
  const started = await api.expect(202, "POST", `/api/flows/${id}/runs`, { trigger: TRIGGER });
  return vi.waitFor(async () => {
    const { json } = await api.expect(200, "GET", `/api/runs/${started.json.id}`);
    expect(json.finished_at).not.toBeNull();
    return json;
  }, WAIT);
}

describe.each<Backend>(["SQLite", "PostgreSQL"])("a large value in a run, on %s", (backend) => {
  it("is compared without blocking the hub, until a time limit", async () => {
    const api = await startApi(backend);
    const probe = probeHealth(api.hub, `a condition on a list of 950,000 on ${backend}`);
    const run = await runFlow(api, conditionOnLongList());
    // A fast machine finishes the comparison within the limit.
    expect(run.error ?? { code: "comparison_timeout" }).toMatchObject({
      code: "comparison_timeout",
    });
    await probe.expectHealthy();
  });

  it.each([
    ["list", inputOf468Megabytes],
    ["text", textOf468Megabytes],
  ])("cannot be referenced 120 times in one %s", async (kind, createFlow) => {
    const api = await startApi(backend);
    const probe = probeHealth(api.hub, `120 references to 3.9 MB in one ${kind} on ${backend}`);
    expect(await runFlow(api, createFlow())).toMatchObject({
      status: "failed",
      error: { code: "input_too_large", node_id: "end" },
    });
    await probe.expectHealthy();
  });

  it.each([
    ["long text", "return { v: 'x'.repeat(250 * 1024) }"],
    ["list of 85,000 items", "return { v: Array.from({ length: 85_000 }, () => []) }"],
  ])("can consist of 30 references to a %s", async (kind, code) => {
    const api = await startApi(backend);
    const probe = probeHealth(api.hub, `30 references to a ${kind} on ${backend}`);
    expect(await runFlow(api, inputOf30References(code))).toMatchObject({ status: "succeeded" });
    await probe.expectHealthy();
  });

  it("can be emitted as an event, which the list of events contains", async () => {
    const api = await startApi(backend);
    const probe = probeHealth(api.hub, `an event of 300,000 values on ${backend}`);
    expect(await runFlow(api, eventOfManyValues())).toMatchObject({
      status: "succeeded",
      output: "name 99999",
    });
    const { items } = (await api.expect(200, "GET", "/api/events")).json;
    expect(items).toMatchObject([{ type: "large", title: "Large" }]);
    await probe.expectHealthy();
  });

  it("is read and passed on by Code, Transform, Merge and Return nodes", async () => {
    const api = await startApi(backend);
    const probe = probeHealth(api.hub, `nodes with a value of 3.1 MB on ${backend}`);
    const id = await publish(api, nodesWithLargeValue());
    const start = { trigger: TRIGGER };
    const response = await api.expect(200, "POST", `/api/flows/${id}/runs?wait=1`, start);
    const { error, output } = response.json;
    expect(error).toBeNull();
    expect(output).toMatchObject({ count: 100_000, sum: 200_000, text: "name 99999" });
    expect(output.all).toHaveLength(100_000);
    await probe.expectHealthy();
  });
});

it("a flow with 750,000 references is rejected before its templates are parsed", async () => {
  const api = await startApi("SQLite");
  await api.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
  const probe = probeHealth(api.hub, "a flow of 750,000 references");
  const flow = flowOf750000References();
  const { text } = await api.expect(400, "POST", "/api/apps/desk/flows", flow);
  expect(text).toContain("must have at most 10000 references {{ … }}, but have 750000");
  await probe.expectHealthy();
});
