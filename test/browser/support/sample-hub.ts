/** Sample data of a small team's hub: apps, flows in every state, and events of several senders. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { deliver } from "../../support/deliver.ts";

export type Call = (method: string, path: string, body?: unknown) => Promise<{ json: unknown }>;

const trigger = (name: string, parameters: Record<string, unknown>) => ({
  id: "trigger",
  type: "Event",
  name,
  position: { x: 80, y: 100 },
  parameters: { source: "github", ...parameters },
});
const intent = (name: string, parameters: string[], y: number) => ({
  id: `intent-${name}`,
  type: "UserIntent",
  name,
  position: { x: 80, y },
  parameters: {
    toolDescription: `${name}, and report what was done.`,
    parameters: parameters.map((name) => ({ name, type: "string" })),
  },
});
const step = (id: string, type: string, name: string, parameters: unknown, x: number, y = 100) => ({
  id,
  type,
  name,
  position: { x, y },
  parameters,
});
const edge = (source: string, target: string, sourceHandle = "out") => ({
  source,
  target,
  sourceHandle,
  targetHandle: "in",
});

/**
 * Starts the API that the flows call. `/slow` never responds, and `/broken` responds with 502. `/labels`
 * responds with 502 to the first attempt of a step, and never to later attempts.
 */
export async function startExternalApi(): Promise<{ url: string; stop: () => void }> {
  const attemptedSteps = new Set<string>();
  const server = createServer((request, response) => {
    const { url = "", headers } = request;
    const step = String(headers["idempotency-key"]);
    if (url.startsWith("/slow") || (url.startsWith("/labels") && attemptedSteps.has(step))) return;
    attemptedSteps.add(step);
    const isBroken = /^\/(broken|labels)/.test(url);
    response.writeHead(isBroken ? 502 : 200, { "content-type": "application/json" });
    response.end(
      JSON.stringify(isBroken ? { error: "no relay" } : { ok: true, labels: ["bug"], url }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const createFlows = (apiUrl: string) => ({
  desk: [
    {
      name: "Issue triage",
      description: "Labels new issues, and answers the person who opened them.",
      nodes: [
        trigger("Issue opened", { type: "issues", params: { action: "opened" } }),
        intent("Triage issue", ["repo", "number"], 280),
        step("fetch", "HttpRequest", "Fetch the issue", { url: `${apiUrl}/issue` }, 380),
        step(
          "isbug",
          "Condition",
          "Is it a bug?",
          {
            conditions: [
              { left: "{{ fetch_the_issue.body.labels }}", op: "contains", right: "bug" },
            ],
          },
          680,
        ),
        step(
          "label",
          "HttpRequest",
          "Add the label",
          {
            method: "POST",
            url: `${apiUrl}/labels`,
            timeoutMs: 300_000,
            settings: { timeoutMs: 300_000, retries: { attempts: 3, backoffMs: 1_000 } },
          },
          980,
          40,
        ),
        step("word", "Transform", "Word a kind reply", { expression: '"Thanks!"' }, 980, 220),
        step("answer", "Return", "Answer", { value: { labelled: true } }, 1280, 130),
      ],
      edges: [
        edge("trigger", "fetch"),
        edge("intent-Triage issue", "fetch"),
        edge("fetch", "isbug"),
        edge("isbug", "label", "true"),
        edge("isbug", "word", "false"),
        edge("label", "answer"),
        edge("word", "answer"),
      ],
      publish: true,
    },
    {
      name: "Bug hotline",
      description: "Wakes the person on duty.",
      nodes: [
        trigger("New bug", {
          type: "issues",
          params: { action: "opened", "issue.labels[].name": "bug" },
        }),
        step("call", "HttpRequest", "Call", { url: `${apiUrl}/ok` }, 380),
      ],
      edges: [edge("trigger", "call")],
      publish: true,
    },
    {
      name: "Failed build",
      description: "Asks the build server what went wrong.",
      nodes: [
        trigger("Build failed", { type: "workflow_run", params: { action: "completed" } }),
        step("ask", "HttpRequest", "Ask the server", { url: `${apiUrl}/broken` }, 380),
      ],
      edges: [edge("trigger", "ask")],
      publish: true,
    },
    {
      name: "Thank you",
      description: "",
      nodes: [
        trigger("Starred", { type: "star" }),
        step("thank", "HttpRequest", "Thank", { url: `${apiUrl}/ok` }, 380),
      ],
      edges: [edge("trigger", "thank")],
      publish: true,
    },
    {
      name: "Digest",
      description: "What happened this week.",
      nodes: [
        trigger("Any issue", { type: "issues", isActive: false }),
        intent("Weekly digest", ["since"], 260),
        step("shape", "Transform", "Shape the digest", { expression: "$count([1,2,3])" }, 380, 260),
        step("done", "Return", "Done", { value: "{{ shape_the_digest }}" }, 680, 260),
      ],
      edges: [
        edge("trigger", "shape"),
        edge("intent-Weekly digest", "shape"),
        edge("shape", "done"),
      ],
      publish: true,
      edit: { node: "shape", parameters: { expression: "$count([1,2,3,4])" } },
    },
  ],
  billing: [
    {
      name: "Book payment",
      description: "Writes paid invoices to the ledger.",
      nodes: [
        trigger("Invoice paid", { source: "stripe", type: "invoice.paid" }),
        step("book", "HttpRequest", "Book", { url: `${apiUrl}/ok` }, 380),
      ],
      edges: [edge("trigger", "book")],
      publish: true,
    },
    {
      name: "Greet customer",
      description: "",
      nodes: [step("greet", "HttpRequest", "Greet", { url: `${apiUrl}/ok` }, 380)],
      edges: [],
      publish: false,
    },
  ],
});

const repositoryAndSender = (full_name: string, sender: string) => ({
  repository: { full_name, owner: { id: 42, login: full_name.split("/")[0] }, private: false },
  sender: { login: sender, id: 583231, type: "User" },
});

/** The events in the order in which they are sent. */
const EVENTS: readonly { source: string; type: string; body: Record<string, unknown> }[] = [
  {
    source: "github",
    type: "push",
    body: {
      ref: "refs/heads/main",
      head_commit: { message: "Fix the bell", id: "a1b2c3" },
      ...repositoryAndSender("octocat/hello-world", "octocat"),
    },
  },
  {
    source: "github",
    type: "star",
    body: { action: "created", ...repositoryAndSender("octocat/hello-world", "marta") },
  },
  {
    source: "github",
    type: "issues",
    body: {
      action: "labeled",
      issue: { number: 6, title: "Add a night mode to the desk", labels: [{ name: "idea" }] },
      ...repositoryAndSender("octocat/hello-world", "octocat"),
    },
  },
  {
    source: "gitlab",
    type: "Pipeline Hook",
    body: {
      object_kind: "pipeline",
      object_attributes: { id: 9913, ref: "release/4", status: "failed" },
      project: { path_with_namespace: "rail/core" },
      user: { username: "jun" },
    },
  },
  {
    source: "generic",
    type: "box.sensor.changed",
    body: { type: "box.sensor.changed", title: "Point 12 set to reverse", sender: "sensor-12" },
  },
  {
    source: "github",
    type: "pull_request",
    body: {
      action: "opened",
      number: 41,
      pull_request: { number: 41, title: "Clear the block when the axle counter says so" },
      ...repositoryAndSender("octocat/signals", "ines"),
    },
  },
  {
    source: "stripe",
    type: "customer.created",
    body: {
      id: "evt_1",
      object: "event",
      type: "customer.created",
      data: {
        object: { id: "cus_1", object: "customer", description: "New customer: Kobayashi Rail" },
      },
    },
  },
  {
    source: "linear",
    type: "Issue",
    body: {
      action: "update",
      type: "Issue",
      data: {
        title: "Relay room door sensor",
        identifier: "BOX-88",
        number: 88,
        team: { name: "Signals" },
      },
      actor: { name: "ines" },
      webhookTimestamp: Date.now(),
    },
  },
  {
    source: "github",
    type: "issue_comment",
    body: {
      action: "created",
      issue: { number: 5, title: "Bell rings twice at the level crossing" },
      comment: { body: "Same here." },
      ...repositoryAndSender("octocat/hello-world", "hubot"),
    },
  },
  {
    source: "github",
    type: "push",
    body: {
      ref: "refs/heads/main",
      head_commit: { message: "Merge branch “lamps” into main", id: "d4e5f6" },
      ...repositoryAndSender("octocat/signals", "octocat"),
    },
  },
  {
    source: "github",
    type: "workflow_run",
    body: {
      action: "completed",
      workflow_run: {
        name: "nightly",
        run_number: 312,
        display_title: "nightly on main: failure",
        conclusion: "failure",
        head_branch: "main",
      },
      ...repositoryAndSender("octocat/signals", "octobot"),
    },
  },
  {
    source: "stripe",
    type: "invoice.paid",
    body: {
      id: "evt_2",
      object: "event",
      type: "invoice.paid",
      data: {
        object: { id: "in_2", object: "invoice", description: "Invoice 2026-0412, €1,240.00" },
      },
    },
  },
  {
    source: "github",
    type: "issues",
    body: {
      action: "opened",
      issue: {
        number: 7,
        title: "The lamp stays red after the train has passed",
        labels: [{ id: 3, name: "question", color: "d876e3" }],
        user: { login: "octocat" },
        state: "open",
        body: "Seen at signal 12, twice this week.",
        html_url: "https://github.com/octocat/hello-world/issues/7",
      },
      ...repositoryAndSender("octocat/hello-world", "octocat"),
    },
  },
];

/** Creates and publishes the flows. `apiUrl` is the URL of the API that they call. */
export async function setUpFlows(call: Call, apiUrl: string): Promise<void> {
  await call("POST", "/api/apps", { slug: "desk", name: "Desk" });
  await call("POST", "/api/apps", { slug: "billing", name: "Billing" });
  for (const [app, flows] of Object.entries(createFlows(apiUrl)))
    for (const { publish, edit, ...flow } of flows as (Record<string, unknown> & {
      publish: boolean;
      edit?: { node: string; parameters: unknown };
    })[]) {
      const { json } = await call("POST", `/api/apps/${app}/flows`, flow);
      const { id } = json as { id: string };
      if (publish) await call("POST", `/api/flows/${id}/publish`, { note: "First version" });
      if (edit)
        await call("PATCH", `/api/flows/${id}/nodes/${edit.node}`, { parameters: edit.parameters });
    }
}

export async function sendEvents(url: string): Promise<void> {
  for (const { source, type, body } of EVENTS) {
    const response =
      source === "github"
        ? await deliver(url, { type, body: JSON.stringify(body) })
        : await fetch(`${url}/webhooks/${source}`, {
            method: "POST",
            headers: {
              "content-type": "application/json",
              "x-gitlab-event": type,
              "linear-event": type,
              "linear-delivery": randomUUID(),
            },
            body: JSON.stringify(body),
          });
    if (!response.ok)
      throw new Error(`${source} ${type}: ${response.status} ${await response.text()}`);
  }
}
