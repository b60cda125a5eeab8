/** The inbox, endpoints, tokens and statistics over the API of the built hub. */
import { randomUUID } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver, issueOpened, signature } from "../support/deliver.ts";
import { edge, node } from "../support/flow-samples.ts";
import { WAIT } from "../support/timeouts.ts";

const sendEvent = async ({ hub }: Api, change: object = {}, type = "issues"): Promise<string> => {
  const body = JSON.stringify({ ...issueOpened, ...change });
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
    const both = await api.expect(400, "GET", "/api/events?text=x&order=oldest");
    expect(both.json.errors).toMatchObject([{ path: "order" }]);
    await api.expect(400, "GET", "/api/events?cursor=nonsense");

    const one = (await api.expect(200, "GET", `/api/events/${second}`)).json;
    expect(one).toMatchObject({ id: second, payload: issueOpened, processed: false, seq: 2 });
    const done = { id: second, already: false };
    const path = `/api/events/${second}/processed`;
    expect((await api.expect(200, "POST", path, { note: "seen" })).json).toEqual(done);
    expect((await api.expect(200, "POST", path)).json).toEqual({ ...done, already: true });
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

  it("are explained and replayed", async () => {
    const api = await startApi(backend, { SIGNALBOX_MAX_LOOPS: "2" });
    const before = await sendEvent(api);
    const flow = await publishTrigger(api);
    const matching = await sendEvent(api);
    const other = await sendEvent(api, { action: "closed" });
    const explain = async (id: string) =>
      (await api.expect(200, "GET", `/api/events/${id}/explain`)).json.items;
    expect(await explain(before)).toMatchObject([
      { trigger: "On issue / start", matched: true, decided: "now", run_id: null },
    ]);
    const [fired] = await explain(matching);
    expect(fired).toMatchObject({ flow_id: flow, matched: true, decided: "on arrival" });
    const [unmatched] = await explain(other);
    expect(unmatched).toMatchObject({ matched: false, run_id: null });
    expect(unmatched.reason).toContain("action");
    await vi.waitFor(async () => {
      const run = (await api.expect(200, "GET", `/api/runs/${fired.run_id}`)).json;
      expect(run).toMatchObject({ status: "succeeded", output: "It rains", event_id: matching });
    }, WAIT);

    const replayed = (await api.expect(202, "POST", `/api/events/${before}/replay`)).json;
    expect(replayed).toEqual({
      runs: [{ run_id: expect.any(String), flow_id: flow }],
      considered: 1,
    });
    const again = (await api.expect(202, "POST", `/api/events/${before}/replay`, { flow })).json;
    expect(again.runs[0].run_id).not.toBe(replayed.runs[0].run_id);
    await api.expect(404, "POST", `/api/events/${before}/replay`, { flow: "none" });
    expect((await api.expect(202, "POST", `/api/events/${other}/replay`)).json.runs).toEqual([]);
    const runs = (await api.expect(200, "GET", `/api/runs?event=${before}`)).json;
    expect(runs.items).toMatchObject([{ cause: "replay" }, { cause: "replay" }]);

    // The breaker stops a flow that starts itself; explain, warnings, log and metrics report it.
    const circle = (
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
    await api.expect(200, "POST", `/api/flows/${circle}/publish`);
    await sendEvent(api, {}, "push");
    const reason = "the trigger fired on its own flow's events more than 2 times a minute";
    await vi.waitFor(async () => {
      const { warnings } = (await api.expect(200, "GET", `/api/flows/${circle}`)).json;
      expect(warnings).toMatchObject([{ code: "breaker_tripped", nodeId: "rained" }]);
      expect(warnings[0].message).toMatch(/^Trigger 'rained' was stopped at \d\d:\d\d UTC: /);
      expect(warnings[0].message).toContain(reason);
    }, WAIT);
    const rain = (await api.expect(200, "GET", "/api/events?type=rain")).json;
    expect(rain.items.length).toBe(3);
    const stopped = (await explain(rain.items[0].id)).find(
      ({ trigger }: { trigger: string }) => trigger === "Circle / rained",
    );
    expect(stopped).toMatchObject({ matched: false, decided: "on arrival", run_id: null });
    expect(stopped.reason).toContain(reason);
    const metrics = (await api.expect(200, "GET", "/metrics")).text;
    expect(metrics).toContain('signalbox_breaker_trips_total{limit="loops"} 1\n');
    await vi.waitFor(() => {
      const lines = api.hub.output().split("\n");
      expect(
        lines.filter((line) => line.includes("a circuit breaker prevented a trigger")).length,
      ).toBe(1);
    }, WAIT);
  });

  it("are counted in the statistics, as are runs", async () => {
    const api = await startApi(backend);
    await publishTrigger(api);
    await sendEvent(api);
    const done = await sendEvent(api, { action: "closed" });
    await api.expect(200, "POST", `/api/events/${done}/processed`);
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
      });
    }, WAIT);
  });
});

describe.each<Backend>(["SQLite", "workerd"])("endpoints, on %s", (backend) => {
  it("are created with a secret that is shown once, accept its signatures, and rotate the secret", async () => {
    const api = await startApi(backend);
    const made = await api.expect(201, "POST", "/api/sources", { kind: "github", name: "Repo" });
    expect(made.headers.get("cache-control")).toBe("no-store");
    const { id, url, secret } = made.json;
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
    const given = { rotate: { secret: "given by hand", grace_hours: 0 } };
    const last = await api.expect(200, "PATCH", base, given);
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
    const made = (await api.expect(201, "POST", "/api/sources", { kind: "generic", config })).json;
    expect(made).toMatchObject({ config, name: expect.any(String) });
    const base = `/api/sources/${made.id}`;
    const changed = { header: "x-other" };
    expect((await api.expect(200, "PATCH", base, { config: changed })).json.config).toEqual(
      changed,
    );
    await api.expect(400, "PATCH", base, { name: "Not this either", config: { header: 5 } });
    expect((await api.expect(200, "GET", "/api/sources")).json.items[0]).toMatchObject({
      name: made.name,
      config: changed,
    });
  });
});

describe.each<Backend>(["SQLite", "workerd"])("tokens, on %s", (backend) => {
  it("are created, shown once, listed without the secret, and revoked", async () => {
    const api = await startApi(backend);
    const made = await api.expect(201, "POST", "/api/tokens", {
      name: "laptop",
      scopes: ["inbox:read"],
      days: 1,
    });
    const { id, token } = made.json;
    expect(made.headers.get("cache-control")).toBe("no-store");
    expect(made.json).toMatchObject({ tenants: ["local"], scopes: ["inbox:read"] });
    const lifetime = Date.parse(made.json.expires_at) - Date.parse(made.json.created_at);
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
    const plain = (await api.expect(201, "POST", "/api/tokens", { name: "plain" })).json;
    const scopes = ["inbox:read", "inbox:write", "flows:call"];
    expect(plain).toMatchObject({ scopes, expires_at: null });
  });
});
