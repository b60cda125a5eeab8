/** People sign in with GitHub, and may do what their role allows, as long as they have it. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Backend, startApi } from "../support/api-client.ts";
import { type FakeGithub, startFakeGithub } from "../support/fake-github.ts";
import { signInWithGithub } from "../support/github-sign-in.ts";
import { connectClient, createOAuthBrowser } from "../support/oauth-browser.ts";
import { openSse } from "../support/sse.ts";
import { WAIT } from "../support/timeouts.ts";

interface Page {
  id: string;
  title: string;
}

async function start(backend: Backend) {
  const github = await startFakeGithub();
  onTestFinished(() => github.close());
  const { hub } = await startApi(backend, {
    ...github.env,
    SIGNALBOX_TENANCY: "github",
    SIGNALBOX_MEMBERSHIP_RECHECK: "1",
  });
  github.webhook.url = `${hub.url}/webhooks/github`;
  return { github, url: hub.url };
}

async function signIn(url: string, github: FakeGithub, login: string) {
  const headers = await signInWithGithub(url, github, login);
  return {
    headers,
    async call(method: string, path: string, body?: unknown) {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await fetch(`${url}${path}`, { method, headers, ...sent });
      const text = await answer.text();
      return { status: answer.status, json: text === "" ? undefined : JSON.parse(text) };
    },
    async titles() {
      const answer = await fetch(`${url}/pending-events`, { headers });
      return ((await answer.json()) as Page[]).map(({ title }) => title).sort();
    },
    async agent(path = "/mcp") {
      const client = new Client({ name: "agent", version: "1" });
      const transport = new StreamableHTTPClientTransport(new URL(`${url}${path}`), {
        requestInit: { headers },
      });
      await client.connect(transport);
      onTestFinished(() => client.close());
      return {
        tools: async () => (await client.listTools()).tools.map(({ name }) => name),
        call: (name: string, args: Record<string, unknown> = {}) =>
          client.callTool({ name, arguments: args }),
      };
    },
  };
}

/** An admin and two members of one organization, of whom bob has installed the App too, and a collaborator. */
async function setup(backend: Backend) {
  const { github, url } = await start(backend);
  for (const login of ["ada", "carl", "eve"]) github.addUser(login);
  const bob = github.addUser("bob");
  const acme = github.addOrganization("acme");
  github.setMember("acme", "ada", { role: "admin" });
  github.setMember("acme", "bob");
  github.setMember("acme", "carl");
  const installations = { acme: github.install("acme"), bob: github.install("bob") };
  github.addCollaborator(installations.acme.id, "eve");
  const send = (login: "acme" | "bob", title: string) =>
    github.sendWebhook("issues", {
      action: "opened",
      issue: { number: 1, title },
      installation: { id: installations[login].id },
      repository: {
        full_name: `${login}/web`,
        owner: { login, id: installations[login].account.id },
      },
      sender: { login: "ada" },
    });
  expect(await send("acme", "of acme")).toMatchObject({ statusCode: 202 });
  expect(await send("bob", "of bob")).toMatchObject({ statusCode: 202 });
  const tenants = { acme: String(acme.id), bob: String(bob.id) };
  return { github, url, tenants, send, signIn: (login: string) => signIn(url, github, login) };
}

it.each<Backend>(["SQLite", "workerd"])(
  "shows members the inbox and runs of their organization, and admins everything, on %s",
  async (backend) => {
    const { signIn, tenants } = await setup(backend);
    const [ada, bob, eve] = [await signIn("ada"), await signIn("bob"), await signIn("eve")];
    expect(await ada.titles()).toEqual(["of acme"]);
    expect(await bob.titles()).toEqual(["of acme", "of bob"]);

    const statuses = async ({ call }: typeof ada, tenant: string) => {
      const routes = ["events", "runs", "flows", "connections", "tokens", "sources", "settings"];
      const answers = routes.map((route) => call("GET", `/api/${route}?tenant=${tenant}`));
      return (await Promise.all(answers)).map(({ status }) => status).join(" ");
    };
    // The settings of the hub are for its operator.
    expect(await statuses(ada, tenants.acme)).toBe("200 200 200 200 200 200 403");
    expect(await statuses(bob, tenants.acme)).toBe("200 200 403 403 403 403 403");
    expect(await statuses(bob, tenants.bob)).toBe("200 200 200 200 200 200 403");
    expect(await statuses(ada, tenants.bob)).toBe("403 403 403 403 403 403 403");

    // A collaborator of one repository sees nothing of its organization.
    expect((await eve.call("GET", "/api/session")).json).toMatchObject({ tenants: [] });
    expect(await statuses(eve, tenants.acme)).toBe("403 403 403 403 403 403 403");
    for (const path of ["/pending-events", "/events", `/events?tenant=${tenants.acme}`, "/mcp"])
      expect((await eve.call("GET", path)).status, path).toBe(403);

    // Tools for admins work in the tenants of which the person is admin.
    for (const agent of [await ada.agent(), await bob.agent()]) {
      expect(await agent.tools()).toContain("AUTOMATION_LIST");
      expect((await agent.call("AUTOMATION_LIST")).isError).toBeFalsy();
    }
    const member = await bob.agent(`/mcp?tenant=${tenants.acme}`);
    expect(await member.tools()).not.toContain("AUTOMATION_LIST");
    expect((await member.call("AUTOMATION_LIST")).isError).toBe(true);

    // A change concerns the tenant that owns the event.
    const agent = await bob.agent();
    const { content } = await agent.call("list_pending_events");
    const [{ text }] = content as unknown as [{ text: string }];
    const own = (JSON.parse(text) as Page[]).find(({ title }) => title === "of bob");
    await agent.call("mark_processed", { event_id: own?.id });
    expect(await bob.titles()).toEqual(["of acme"]);
    expect(await ada.titles()).toEqual(["of acme"]);
  },
);

it.each<Backend>(["SQLite", "workerd"])(
  "ends the streams, tools and pages of a removed member, on %s",
  async (backend) => {
    const { github, url, signIn, tenants, send } = await setup(backend);
    const carl = await signIn("carl");
    const ada = await signIn("ada");
    const { headers } = carl;
    const events = await openSse(`${url}/events`, headers);
    const tab = await openSse(`${url}/api/live?tenant=${tenants.acme}`, headers);
    const kept = await openSse(`${url}/events`, ada.headers);
    const client = await connectClient(url, createOAuthBrowser(url, headers.cookie), "Editor");
    const bearer = { authorization: `Bearer ${client.access_token}` };
    const statusOfClient = async () =>
      (await fetch(`${url}/pending-events`, { headers: bearer })).status;
    expect(await statusOfClient()).toBe(200);
    const agent = await carl.agent();
    const waiting = agent.call("wait_for_event", { type: "push", timeout_seconds: 55 });
    await send("acme", "while carl is a member");
    await vi.waitFor(() => expect(events.messages.length).toBeGreaterThan(1), WAIT);

    github.removeMember("acme", "carl");
    await Promise.all([events.ended, tab.ended]);
    await send("acme", "after carl was removed");
    await vi.waitFor(
      () => expect(JSON.stringify(kept.messages)).toContain("after carl was removed"),
      WAIT,
    );
    expect(JSON.stringify([events.messages, tab.messages])).not.toContain("after carl was removed");
    expect(
      await waiting.then(
        ({ isError }) => isError,
        () => true,
      ),
    ).toBe(true);
    await expect(agent.call("get_pending_status")).rejects.toThrow();
    expect((await carl.call("GET", "/pending-events")).status).toBe(403);
    expect(await statusOfClient()).toBe(403);
    expect((await carl.call("GET", "/api/session")).json).toMatchObject({
      tenants: [],
      person: { login: "carl", roles: {} },
    });
    kept.close();

    // GitHub no longer accepts the tokens of the other person.
    github.revokeTokens("ada");
    await vi.waitFor(
      async () => expect((await ada.call("GET", "/api/session")).json.code).toBe("session_ended"),
      WAIT,
    );
  },
);
