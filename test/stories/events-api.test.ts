/** Reads and changes events, endpoints, tokens and statistics over the API of a real hub. */
import { randomUUID } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver, issueOpened, signature } from "../support/deliver.ts";
import { edge, node } from "../support/flow-samples.ts";
import { WAIT } from "../support/timeouts.ts";

const sendEvent = async (
  { hub }: Api,
  overrides: object = {},
  type = "issues",
): Promise<string> => {
  const body = JSON.stringify({ ...issueOpened, ...overrides });
  const response = await deliver(hub.url, { body, type });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
};
const idsOf = (page: { items: { id: string }[] }) => page.items.map(({ id }) => id);

/** Publishes a flow that starts on opened issues. */
async function publishTrigger(api: Api): Promise<string> {
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const flow = await api.expect(201, "POST", "/api/apps/desk/flows", {
    name: "On issue",
    nodes: [
      node("start", "Event", { source: "github", type: "issues", params: { action: "opened" } }),
      node("end", "Return", { value: "{{ trigger.data.issue.title }}" }),
    ],
    edges: [edge("start", "end")],
  });
  await api.expect(200, "POST", `/api/flows/${flow.json.id}/publish`);
  return flow.json.id;
}

describe.each<Backend>(["SQLite", "PostgreSQL", "workerd"])("events, on %s", (backend) => {
  it("are listed, searched, read and marked as processed", async () => {
    const api = await startApi(backend);
    const first = await sendEvent(api, { issue: { ...issueOpened.issue, title: "It snows" } });
    const second = await sendEvent(api);
    const third = await sendEvent(api, {}, "push");
    const list = async (query: string) =>
      idsOf((await api.expect(200, "GET", `/api/events?${query}`)).json);
    expect(await list("")).toEqual([third, second, first]);
    expect(await list("order=oldest")).toEqual([first, second, third]);
    expect(await list("type=issues")).toEqual([second, first]);
    expect(await list("source=github&repo=octo/town&limit=1")).toEqual([third]);
    expect(await list("text=snows")).toEqual([first]);
    const page = (await api.expect(200, "GET", "/api/events?limit=2")).json;
    expect(await list(`limit=2&cursor=${page.next_cursor}`)).toEqual([first]);
    expect(await list("text=snows&repo=octo/town&source=github&type=issues")).toEqual([first]);
    expect(await list("text=snows&repo=octo/other")).toEqual([]);
    const conflicting = await api.expect(400, "GET", "/api/events?text=x&order=oldest");
    expect(conflicting.json.errors).toMatchObject([{ path: "order" }]);
    await api.expect(400, "GET", "/api/events?cursor=nonsense");

    const event = (await api.expect(200, "GET", `/api/events/${second}`)).json;
    expect(event).toMatchObject({ id: second, payload: issueOpened, processed: false, seq: 2 });
    const marked = { id: second, already: false };
    const path = `/api/events/${second}/processed`;
    expect((await api.expect(200, "POST", path, { note: "seen" })).json).toEqual(marked);
    expect((await api.expect(200, "POST", path)).json).toEqual({ ...marked, already: true });
    expect((await api.expect(200, "GET", `/api/events/${second}`)).json).toMatchObject({
      processed: true,
      note: "seen",
    });
    expect(await list("pending=1")).toEqual([third, first]);
    expect(await list("pending=0")).toEqual([second]);
    expect(await list("pending=0&text=rains")).toEqual([second]);
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/processed"],
      ["POST", "/replay"],
      ["GET", "/explain"],
    ]) {
      await api.expect(404, method ?? "", `/api/events/${randomUUID()}${path}`);
      await api.expect(400, method ?? "", `/api/events/nonsense${path}`);
    }
  });

  it("are explained and replayed, and a breaker stops a flow that starts itself", async () => {
    const api = await startApi(backend, { SIGNALBOX_MAX_LOOPS: "2" });
    const beforeFlow = await sendEvent(api);
    const flow = await publishTrigger(api);
    const matching = await sendEvent(api);
    const notMatching = await sendEvent(api, { action: "closed" });
    const explain = async (id: string) =>
      (await api.expect(200, "GET", `/api/events/${id}/explain`)).json.items;
    expect(await explain(beforeFlow)).toMatchObject([
      { trigger: "On issue / start", matched: true, decided: "now", run_id: null },
    ]);
    const [fired] = await explain(matching);
    expect(fired).toMatchObject({ flow_id: flow, matched: true, decided: "on arrival" });
    const ofFlow = (id: string) => `/api/events/${matching}/explain?limit=1&flow=${id}`;
    expect((await api.expect(200, "GET", ofFlow(fired.flow_id))).json).toMatchObject({
      items: [{ run_id: fired.run_id }],
      next_cursor: null,
      total: 1,
      started: 1,
    });
    expect((await api.expect(200, "GET", ofFlow("another"))).json).toMatchObject({ total: 0 });
    expect(
      (await api.expect(400, "GET", `/api/events/${matching}/explain?cursor=far`)).json,
    ).toMatchObject({ errors: [{ path: "cursor" }] });
    const [unmatched] = await explain(notMatching);
    expect(unmatched).toMatchObject({ matched: false, run_id: null });
    expect(unmatched.reason).toContain("action");
    await vi.waitFor(async () => {
      const run = (await api.expect(200, "GET", `/api/runs/${fired.run_id}`)).json;
      expect(run).toMatchObject({ status: "succeeded", output: "It rains", event_id: matching });
    }, WAIT);

    const replayed = (await api.expect(202, "POST", `/api/events/${beforeFlow}/replay`)).json;
    expect(replayed).toEqual({
      runs: [{ run_id: expect.any(String), flow_id: flow }],
      considered: 1,
    });
    const replayedAgain = (
      await api.expect(202, "POST", `/api/events/${beforeFlow}/replay`, { flow })
    ).json;
    expect(replayedAgain.runs[0].run_id).not.toBe(replayed.runs[0].run_id);
    const replay = (status: number, body: object) =>
      api.expect(status, "POST", `/api/events/${beforeFlow}/replay`, body);
    expect((await replay(202, { flow, trigger: fired.node_id })).json.runs).toHaveLength(1);
    expect((await replay(404, { flow, trigger: "another" })).json.detail).toMatch(
      /^The published version of .* has no event trigger with the id another\.$/,
    );
    expect((await replay(400, { trigger: fired.node_id })).json.detail).toContain("flow");
    await replay(404, { flow: "none" });
    expect((await api.expect(202, "POST", `/api/events/${notMatching}/replay`)).json.runs).toEqual(
      [],
    );
    const runs = (await api.expect(200, "GET", `/api/runs?event=${beforeFlow}`)).json;
    expect(runs.items).toMatchObject(Array(3).fill({ cause: "replay" }));

    // The verdict, the warnings, the log and the metrics report the breaker.
    const loopFlow = (
      await api.expect(201, "POST", "/api/apps/desk/flows", {
        name: "Circle",
        nodes: [
          node("pushed", "Event", { source: "github", type: "push" }),
          node("rained", "Event", { source: "signalbox", type: "rain" }),
          node("rain", "EmitEvent", { type: "rain" }),
        ],
        edges: [edge("pushed", "rain"), edge("rained", "rain")],
      })
    ).json.id;
    await api.expect(200, "POST", `/api/flows/${loopFlow}/publish`);
    await sendEvent(api, {}, "push");
    const reason = "the trigger fired on its own flow's events more than 2 times a minute";
    await vi.waitFor(async () => {
      const { warnings } = (await api.expect(200, "GET", `/api/flows/${loopFlow}`)).json;
      expect(warnings).toMatchObject([{ code: "breaker_tripped", nodeId: "rained" }]);
      expect(warnings[0].message).toMatch(/^Trigger 'rained' was stopped at \d\d:\d\d UTC: /);
      expect(warnings[0].message).toContain(reason);
    }, WAIT);
    const rain = (await api.expect(200, "GET", "/api/events?type=rain")).json;
    expect(rain.items.length).toBe(3);
    const stoppedVerdict = (await explain(rain.items[0].id)).find(
      ({ trigger }: { trigger: string }) => trigger === "Circle / rained",
    );
    expect(stoppedVerdict).toMatchObject({ matched: false, decided: "on arrival", run_id: null });
    expect(stoppedVerdict.reason).toContain(reason);
    const metrics = (await api.expect(200, "GET", "/metrics")).text;
    expect(metrics).toContain('signalbox_breaker_trips_total{limit="loops"} 1\n');
    await vi.waitFor(() => {
      const lines = api.hub.output().split("\n");
      expect(
        lines.filter((line) => line.includes("a circuit breaker prevented a trigger")).length,
      ).toBe(1);
    }, WAIT);
  });

  it("are counted in the statistics, together with runs", async () => {
    const api = await startApi(backend);
    await publishTrigger(api);
    await sendEvent(api);
    const processed = await sendEvent(api, { action: "closed" });
    await api.expect(200, "POST", `/api/events/${processed}/processed`);
    await vi.waitFor(async () => {
      const stats = (await api.expect(200, "GET", "/api/stats")).json;
      expect(stats).toEqual({
        events: {
          total: 2,
          pending: 1,
          pending_by_type: { issues: 1 },
          latest_pending_at: expect.stringMatching(/Z$/),
          bytes: expect.any(Number),
          quota: null,
        },
        runs: {
          queued: 0,
          held: 0,
          running: 0,
          waiting: 0,
          succeeded: 1,
          failed: 0,
          cancelled: 0,
        },
        runs_more: [],
        runs_bytes: expect.any(Number),
      });
    }, WAIT);
  });
});

describe.each<Backend>(["SQLite", "workerd"])("endpoints, on %s", (backend) => {
  it("are created with a secret that is shown once, accept its signatures, and rotate the secret", async () => {
    const api = await startApi(backend);
    const created = await api.expect(201, "POST", "/api/sources", { kind: "github", name: "Repo" });
    expect(created.headers.get("cache-control")).toBe("no-store");
    const { id, url, secret } = created.json;
    expect(url).toMatch(new RegExp(`^${api.hub.url}/webhooks/github/[\\w-]{22}$`));
    const sendSignedWith = async (key: string) => {
      const body = JSON.stringify(issueOpened);
      const response = await deliver(api.hub.url, {
        path: new URL(url).pathname,
        body,
        headers: { "x-hub-signature-256": signature(body, key) },
      });
      return response.status;
    };
    expect(await sendSignedWith(secret)).toBe(202);
    expect(await sendSignedWith("guess")).toBe(403);
    const listed = await api.expect(200, "GET", "/api/sources");
    expect(listed.json.items).toMatchObject([{ id, name: "Repo", kind: "github", url }]);
    expect(listed.text).not.toContain(secret);
    expect(Object.keys(listed.json.items[0].secrets[0])).toEqual([
      "id",
      "created_at",
      "expires_at",
    ]);

    const base = `/api/sources/${id}`;
    const renamed = (await api.expect(200, "PATCH", base, { name: "Renamed" })).json;
    expect(renamed).toMatchObject({ name: "Renamed", secrets: [{ expires_at: null }] });
    expect(renamed).not.toHaveProperty("secret");
    const rotated = (await api.expect(200, "PATCH", base, { rotate: { grace_hours: 1 } })).json;
    expect(rotated.secrets).toMatchObject([
      { expires_at: expect.any(String) },
      { expires_at: null },
    ]);
    // The hub caches an endpoint for five seconds.
    await vi.waitFor(async () => expect(await sendSignedWith(rotated.secret)).toBe(202), WAIT);
    expect(await sendSignedWith(secret)).toBe(202);
    const chosenSecret = { rotate: { secret: "given by hand", grace_hours: 0 } };
    const last = await api.expect(200, "PATCH", base, chosenSecret);
    expect(last.json).not.toHaveProperty("secret");
    expect(last.text).not.toContain("given by hand");
    await vi.waitFor(async () => expect(await sendSignedWith("given by hand")).toBe(202), WAIT);
    expect(await sendSignedWith(secret)).toBe(403);
    await api.expect(204, "DELETE", base);
    for (const method of ["PATCH", "DELETE"]) await api.expect(404, method, base, {});
  });

  it("accept only the configuration of their kind", async () => {
    const api = await startApi(backend);
    const config = { header: "x-signature" };
    const created = (await api.expect(201, "POST", "/api/sources", { kind: "generic", config }))
      .json;
    expect(created).toMatchObject({ config, name: expect.any(String) });
    const base = `/api/sources/${created.id}`;
    const changed = { header: "x-other" };
    expect((await api.expect(200, "PATCH", base, { config: changed })).json.config).toEqual(
      changed,
    );
    await api.expect(400, "PATCH", base, { name: "Not this either", config: { header: 5 } });
    expect((await api.expect(200, "GET", "/api/sources")).json.items[0]).toMatchObject({
      name: created.name,
      config: changed,
    });
  });
});

describe.each<Backend>(["SQLite", "workerd"])("tokens, on %s", (backend) => {
  it("are created, shown once, listed without the secret, and revoked", async () => {
    const api = await startApi(backend);
    const created = await api.expect(201, "POST", "/api/tokens", {
      name: "laptop",
      scopes: ["inbox:read"],
      days: 1,
    });
    const { id, token } = created.json;
    expect(created.headers.get("cache-control")).toBe("no-store");
    expect(created.json).toMatchObject({ tenants: ["local"], scopes: ["inbox:read"] });
    const lifetime = Date.parse(created.json.expires_at) - Date.parse(created.json.created_at);
    expect(lifetime).toBe(24 * 3_600_000);
    await api.expect(200, "GET", "/api/events", undefined, { token });
    await api.expect(403, "GET", "/api/tokens", undefined, { token });
    const listed = await api.expect(200, "GET", "/api/tokens");
    expect(idsOf(listed.json)).toContain(id);
    expect(listed.text).not.toContain(token);
    expect(listed.text).not.toContain("hash");
    await api.expect(204, "DELETE", `/api/tokens/${id}`);
    await api.expect(404, "DELETE", `/api/tokens/${id}`);
    // A token is cached for at most a second.
    await vi.waitFor(async () => api.expect(401, "GET", "/api/events", undefined, { token }), WAIT);
    const withDefaults = (await api.expect(201, "POST", "/api/tokens", { name: "plain" })).json;
    const scopes = ["inbox:read", "inbox:write", "flows:call"];
    expect(withDefaults).toMatchObject({ scopes, expires_at: null });
  });
});
