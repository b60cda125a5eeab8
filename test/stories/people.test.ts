/** A person who has signed in with GitHub has the access of their role, until they lose the role. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Backend, startApi } from "../support/api-client.ts";
import { type FakeGithub, startFakeGithub } from "../support/fake-github.ts";
import { signInWithGithub } from "../support/github-sign-in.ts";
import { connectClient, createOAuthBrowser } from "../support/oauth-browser.ts";
import { openSse } from "../support/sse.ts";
import { WAIT } from "../support/timeouts.ts";

interface PendingEvent {
  id: string;
  title: string;
}

async function startHub(backend: Backend) {
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
      const init = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(`${url}${path}`, { method, headers, ...init });
      const text = await response.text();
      return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
    },
    async pendingTitles() {
      const response = await fetch(`${url}/pending-events`, { headers });
      return ((await response.json()) as PendingEvent[]).map(({ title }) => title).sort();
    },
    async connectAgent(path = "/mcp") {
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

/**
 * Starts a hub for the organization acme: ada is an admin, bob and carl are members, and eve is
 * a collaborator. Bob has also installed the App in his own account.
 */
async function setUp(backend: Backend) {
  const { github, url } = await startHub(backend);
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
  "members can read the inbox and runs of their organization, and admins can also manage it, on %s",
  async (backend) => {
    const { signIn, tenants } = await setUp(backend);
    const [ada, bob, eve] = [await signIn("ada"), await signIn("bob"), await signIn("eve")];
    expect(await ada.pendingTitles()).toEqual(["of acme"]);
    expect(await bob.pendingTitles()).toEqual(["of acme", "of bob"]);

    const readStatuses = async ({ call }: typeof ada, tenant: string) => {
      const routes = ["events", "runs", "flows", "connections", "tokens", "sources", "settings"];
      const responses = routes.map((route) => call("GET", `/api/${route}?tenant=${tenant}`));
      return (await Promise.all(responses)).map(({ status }) => status).join(" ");
    };
    // Only the operator may read the settings of the hub.
    expect(await readStatuses(ada, tenants.acme)).toBe("200 200 200 200 200 200 403");
    expect(await readStatuses(bob, tenants.acme)).toBe("200 200 403 403 403 403 403");
    expect(await readStatuses(bob, tenants.bob)).toBe("200 200 200 200 200 200 403");
    expect(await readStatuses(ada, tenants.bob)).toBe("403 403 403 403 403 403 403");

    // A collaborator of a repository has no access to its organization.
    expect((await eve.call("GET", "/api/session")).json).toMatchObject({ tenants: [] });
    expect(await readStatuses(eve, tenants.acme)).toBe("403 403 403 403 403 403 403");
    for (const path of ["/pending-events", "/events", `/events?tenant=${tenants.acme}`, "/mcp"])
      expect((await eve.call("GET", path)).status, path).toBe(403);

    // Without a tenant in the path, tools for admins use the tenants of which the person is an admin.
    for (const agent of [await ada.connectAgent(), await bob.connectAgent()]) {
      expect(await agent.tools()).toContain("AUTOMATION_LIST");
      expect((await agent.call("AUTOMATION_LIST")).isError).toBeFalsy();
    }
    const member = await bob.connectAgent(`/mcp?tenant=${tenants.acme}`);
    expect(await member.tools()).not.toContain("AUTOMATION_LIST");
    expect((await member.call("AUTOMATION_LIST")).isError).toBe(true);

    // A tool changes an event in the tenant that owns it.
    const agent = await bob.connectAgent();
    const { content } = await agent.call("list_pending_events");
    const [{ text }] = content as unknown as [{ text: string }];
    const ownEvent = (JSON.parse(text) as PendingEvent[]).find(({ title }) => title === "of bob");
    await agent.call("mark_processed", { event_id: ownEvent?.id });
    expect(await bob.pendingTitles()).toEqual(["of acme"]);
    expect(await ada.pendingTitles()).toEqual(["of acme"]);
  },
);

it.each<Backend>(["SQLite", "workerd"])(
  "a removed member loses access to streams, tools and pages, on %s",
  async (backend) => {
    const { github, url, signIn, tenants, send } = await setUp(backend);
    const carl = await signIn("carl");
    const ada = await signIn("ada");
    const { headers } = carl;
    const events = await openSse(`${url}/events`, headers);
    const liveStream = await openSse(`${url}/api/live?tenant=${tenants.acme}`, headers);
    const adaEvents = await openSse(`${url}/events`, ada.headers);
    const client = await connectClient(url, createOAuthBrowser(url, headers.cookie), "Editor");
    const bearer = { authorization: `Bearer ${client.access_token}` };
    const readClientStatus = async () =>
      (await fetch(`${url}/pending-events`, { headers: bearer })).status;
    expect(await readClientStatus()).toBe(200);
    const agent = await carl.connectAgent();
    const waiting = agent.call("wait_for_event", { type: "push", timeout_seconds: 55 }).then(
      ({ isError }) => isError,
      () => true,
    );
    await send("acme", "while carl is a member");
    await vi.waitFor(() => expect(events.messages.length).toBeGreaterThan(1), WAIT);

    github.removeMember("acme", "carl");
    await Promise.all([events.ended, liveStream.ended]);
    await send("acme", "after carl was removed");
    await vi.waitFor(
      () => expect(JSON.stringify(adaEvents.messages)).toContain("after carl was removed"),
      WAIT,
    );
    expect(JSON.stringify([events.messages, liveStream.messages])).not.toContain(
      "after carl was removed",
    );
    expect(await waiting).toBe(true);
    await expect(agent.call("get_pending_status")).rejects.toThrow();
    expect((await carl.call("GET", "/pending-events")).status).toBe(403);
    expect(await readClientStatus()).toBe(403);
    expect((await carl.call("GET", "/api/session")).json).toMatchObject({
      tenants: [],
      person: { login: "carl", roles: {} },
    });
    adaEvents.close();

    // When GitHub no longer accepts the tokens of a person, their session ends.
    github.revokeTokens("ada");
    await vi.waitFor(
      async () => expect((await ada.call("GET", "/api/session")).json.code).toBe("session_ended"),
      WAIT,
    );
  },
);
