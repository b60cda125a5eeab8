/** The parts of the API that pages of the web UI use, except the inbox and the editor of flows. */
import { describe, expect, it, vi } from "vitest";
import { ADMIN, type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { edge, node } from "../support/flow-samples.ts";
import { runCli } from "../support/hub-process.ts";
import { WAIT } from "../support/timeouts.ts";

const getJson = async (api: Api, path: string) => (await api.expect(200, "GET", path)).json;

async function createFlow(api: Api, app: string, name: string): Promise<string> {
  const flow = await api.expect(201, "POST", `/api/apps/${app}/flows`, {
    name,
    nodes: [
      node("ask", "UserIntent", { toolDescription: "Asks." }),
      node("end", "Return", { value: "yes" }),
    ],
    edges: [edge("ask", "end")],
  });
  return flow.json.id;
}

describe.each<Backend>(["SQLite", "PostgreSQL", "workerd"])(
  "the pages of the web UI, on %s",
  (backend) => {
    it("list the flows of all apps, runs without values, and counts over time", async () => {
      const api = await startApi(backend);
      for (const slug of ["desk", "shop"])
        await api.expect(201, "POST", "/api/apps", { slug, name: slug });
      const desk = await createFlow(api, "desk", "Desk flow");
      const shop = await createFlow(api, "shop", "Shop flow");
      await api.expect(200, "POST", `/api/flows/${desk}/publish`);
      const runs = `/api/flows/${desk}/runs?wait=1`;
      for (let count = 0; count < 2; count += 1)
        await api.expect(200, "POST", runs, { trigger: "ask", input: {} });
      const listed = await getJson(api, "/api/flows");
      expect(listed.items).toMatchObject([
        {
          id: desk,
          app: "desk",
          draft: "published",
          exposedTools: [{ name: "ask" }],
          last_run: { status: "succeeded", cause: "api", flow_name: "Desk flow" },
        },
        { id: shop, app: "shop", draft: "unpublished", last_run: null },
      ]);
      expect(listed.items[0]).not.toHaveProperty("nodes");
      const firstPage = await getJson(api, "/api/flows?limit=1");
      const secondPage = await getJson(api, `/api/flows?limit=1&cursor=${firstPage.next_cursor}`);
      expect([firstPage.items[0].id, secondPage.items[0].id]).toEqual([desk, shop]);
      await api.expect(200, "PATCH", `/api/flows/${desk}`, { nodes: [], edges: [] });
      expect((await getJson(api, `/api/flows/${desk}`)).draft).toBe("changed");

      const page = await getJson(api, "/api/runs?limit=1");
      expect(page.items).toMatchObject([
        { flow_id: desk, flow_name: "Desk flow", cause: "api", finished_at: expect.any(String) },
      ]);
      expect(page.items[0]).not.toHaveProperty("output");
      const withValues = await getJson(api, `/api/runs?values=1&cursor=${page.next_cursor}`);
      expect(withValues.items).toMatchObject([{ output: "yes" }]);
      expect((await getJson(api, "/api/runs?cause=event")).items).toEqual([]);
      const now = new Date().toISOString();
      expect((await getJson(api, `/api/runs?until=${now}`)).items).toHaveLength(2);
      expect((await getJson(api, `/api/runs?since=${now}`)).items).toHaveLength(0);
      const ids = [page.items[0].id, "none"];
      const bulk = await api.expect(200, "POST", "/api/runs/bulk", { action: "retry", ids });
      expect(bulk.json).toEqual({ ids: [], unchanged: ids });

      await deliver(api.hub.url, { body: JSON.stringify(issueOpened) });
      const { series } = await getJson(api, "/api/stats?window=1h");
      const total = (name: string) =>
        series.points.reduce(
          (sum: number, point: Record<string, number>) => sum + (point[name] ?? 0),
          0,
        );
      expect([total("events"), total("runs"), total("failed")]).toEqual([1, 2, 0]);
      expect(series.p95_ms).toBeGreaterThanOrEqual(0);
      expect(await getJson(api, "/api/stats")).not.toHaveProperty("series");
      await api.expect(400, "GET", "/api/stats?window=1y");
    });

    it("check tool names, send test events, and list source kinds, event types, settings and rejections", async () => {
      const api = await startApi(backend, { SIGNALBOX_KEEP_RUNS_DAYS: "7" });
      await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
      const flow = await createFlow(api, "desk", "One");
      const checkName = (query: string) => getJson(api, `/api/apps/desk/tool-name?${query}`);
      expect(await checkName("name=Ask")).toEqual({
        name: "ask",
        available: false,
        suggestion: "ask_2",
      });
      expect(await checkName(`name=Ask&flow=${flow}`)).toMatchObject({ available: true });
      expect(await checkName("name=Gr%C3%BC%C3%9Fe!")).toMatchObject({ available: true });
      await api.expect(404, "GET", "/api/apps/none/tool-name?name=x");
      expect(await checkName("")).toMatchObject({ name: "tool" });

      const kinds = (await getJson(api, "/api/source-kinds")).items;
      expect(kinds[0]).toMatchObject({
        id: "github",
        title: "GitHub",
        secret: { issued_by: "you", variable: "GITHUB_WEBHOOK_SECRET" },
        verification: "signed",
      });
      expect(kinds.find(({ id }: { id: string }) => id === "generic").config).toMatchObject({
        type: "object",
      });

      const testEvent = { source: "github", type: "issues", action: "opened" };
      const sent = (await api.expect(202, "POST", "/api/events/test", testEvent)).json;
      expect(sent).toMatchObject({ outcome: "stored" });
      expect(await getJson(api, `/api/events/${sent.id}`)).toMatchObject({ type: "issues" });
      const endpoint = (
        await api.expect(201, "POST", "/api/sources", { kind: "stripe", name: "Shop" })
      ).json;
      await api.expect(202, "POST", "/api/events/test", { source: endpoint.id });
      await api.expect(400, "POST", "/api/events/test", { source: "none" });
      await api.expect(400, "POST", "/api/events/test", { source: "github", data: {} });
      expect((await getJson(api, "/api/event-types")).items).toMatchObject([
        { source: "github", type: "issues", count: 1, last_received_at: expect.any(String) },
        { source: "stripe", source_id: endpoint.id, count: 1 },
      ]);

      const settings = (await getJson(api, "/api/settings")).items;
      const findSetting = (name: string) =>
        settings.find((setting: { name: string }) => setting.name === name);
      expect(findSetting("keepRunsDays")).toMatchObject({
        value: "7",
        from: "environment",
        variable: "SIGNALBOX_KEEP_RUNS_DAYS",
        flag: "keep-runs-days",
      });
      expect(findSetting("token")).toMatchObject({ value: "(set)" });
      expect(JSON.stringify(settings)).not.toContain(ADMIN);

      const unsigned = await fetch(`${api.hub.url}/webhooks/github`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      expect(unsigned.status).toBe(403);
      await vi.waitFor(async () => {
        expect((await getJson(api, "/api/refusals")).items).toMatchObject([
          { source: "github", count: 1, reason: expect.any(String) },
        ]);
      }, WAIT);
      const tenantToken = await api.token("--scope", "admin", "--tenant", "local");
      for (const path of ["/api/settings", "/api/refusals"])
        expect((await api.call("GET", path, undefined, { token: tenantToken })).status).toBe(403);
      await vi.waitFor(async () => {
        const tokens = (await getJson(api, "/api/tokens")).items;
        expect(
          tokens.find(({ name }: { name: string }) => name === "x").last_used_at,
        ).not.toBeNull();
      }, WAIT);
    });

    it("follow events, changes and drafts over one stream", async () => {
      const api = await startApi(backend);
      await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
      const flow = await createFlow(api, "desk", "Desk flow");
      const headers = { authorization: `Bearer ${ADMIN}` };
      const abort = new AbortController();
      const response = await fetch(`${api.hub.url}/api/live?topics=events,changes,flows:${flow}`, {
        headers,
        signal: abort.signal,
      });
      expect(response.status).toBe(200);
      let text = "";
      const reading = (async () => {
        for await (const chunk of response.body ?? []) text += new TextDecoder().decode(chunk);
      })().catch(() => {});
      const waitForText = (pattern: RegExp) =>
        vi.waitFor(() => expect(text).toMatch(pattern), WAIT);
      await waitForText(/event: connected/);
      const sent = await deliver(api.hub.url, { body: JSON.stringify(issueOpened) });
      const { id } = (await sent.json()) as { id: string };
      await waitForText(new RegExp(`id: 1\nevent: event\ndata: .*"id":"${id}"`));
      await api.expect(200, "POST", `/api/events/${id}/processed`, {});
      await waitForText(new RegExp(`event: change\ndata: {"topic":"events","ids":\\["${id}"\\]}`));
      await api.expect(200, "PATCH", `/api/flows/${flow}`, { name: "New name" });
      await waitForText(new RegExp(`event: draft\ndata: {"flow":"${flow}","revision":2}`));
      abort.abort();
      await reading;

      const reader = await api.token("--scope", "inbox:read");
      for (const [status, query, token] of [
        [400, "topics=odd", ADMIN],
        [400, "topics=events&after=x", ADMIN],
        [401, "topics=events", "sbx_none"],
        [403, `topics=flows:${flow}`, reader],
      ] as const)
        expect((await api.call("GET", `/api/live?${query}`, undefined, { token })).status).toBe(
          status,
        );
    });

    it("can be opened with a link that signs in once", async () => {
      const api = await startApi(backend);
      const printedCode = /Sign in +http:\S+#code=(\S+)/.exec(api.hub.output())?.[1];
      // A Worker does not print a link.
      expect(printedCode === undefined).toBe(backend === "workerd");
      const { stdout } = await runCli(["open"], { env: api.env });
      expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/sign-in#code=[\w-]+\n$/);
      const origin = api.hub.url;
      const signIn = (code = "") =>
        fetch(`${origin}/api/session`, {
          method: "POST",
          headers: { origin },
          body: JSON.stringify({ code }),
        });
      for (const code of [
        ...(printedCode ? [printedCode] : []),
        stdout.trim().split("#code=")[1],
      ]) {
        const response = await signIn(code);
        expect(response.status).toBe(204);
        const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
        const call = (path: string, init: RequestInit = {}) =>
          fetch(`${origin}${path}`, { ...init, headers: { cookie, ...init.headers } });
        expect(await (await call("/api/session")).json()).toMatchObject({
          tenant: "local",
          scopes: ["admin"],
          hub: { url: origin },
        });
        const sessions = (await (await call("/api/tokens?kind=session")).json()) as {
          items: { name: string }[];
        };
        expect(sessions.items.map(({ name }) => name)).toContain("web UI");
        const createApp = (headers: Record<string, string>) =>
          call("/api/apps", {
            method: "POST",
            headers,
            body: JSON.stringify({ name: "An app" }),
          });
        expect((await createApp({})).status).toBe(403);
        expect((await createApp({ origin: "http://evil.example" })).status).toBe(403);
        expect((await createApp({ origin })).status).toBe(201);
        const signedOut = await call("/api/session", { method: "DELETE", headers: { origin } });
        expect(signedOut.status).toBe(204);
        await vi.waitFor(async () => expect((await call("/api/hub")).status).toBe(401), WAIT);
        expect((await signIn(code)).status).toBe(401);
      }
    });
  },
);
