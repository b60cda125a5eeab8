/**
 * A GitHub issue is opened. An agent searches the inbox for similar issues and decides how urgent the new
 * one is. The issue contains a prompt injection, which stays inside its fence.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { openHub, readFlow, waitFor } from "../hub.ts";
import { startFakeModel } from "./fake-model.ts";

const model = await startFakeModel(({ messages }) =>
  messages.length === 1
    ? { name: "inbox__search_events", input: { text: "drafts" } }
    : { name: "submit_result", input: { urgency: "high", reason: "Data is lost." } },
);
const hub = await openHub({ SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
try {
  await hub.api("PUT", "/api/secrets/ANTHROPIC_API_KEY", { value: "sk-ant-example-secret" });
  const flow = readFlow(import.meta.url, { "https://api.anthropic.com/v1": model.url });
  await hub.install("triage", flow);

  const response = await fetch(`${hub.url}/webhooks/github`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-event": "issues",
      "x-github-delivery": "0b989ba4-242f-11e5-81e1-c7b6966d2516",
    },
    body: readFileSync(new URL("issue-opened.json", import.meta.url)),
  });
  assert.equal(response.status, 202);

  interface Run {
    id: string;
    status: string;
    steps: { node_id: string; item: string; output: { result?: unknown } }[];
  }
  const { id } = await waitFor(async () => {
    const { items } = await hub.api<{ items: Run[] }>("GET", "/api/runs");
    return items.find(({ status }) => status === "succeeded");
  });
  const { steps } = await hub.api<Run>("GET", `/api/runs/${id}`);
  // The step of the agent has the item "". The other steps are its parts.
  const agentSteps = steps.filter(({ node_id }) => node_id === "triage");
  assert.deepEqual(agentSteps[0]?.output.result, { urgency: "high", reason: "Data is lost." });
  assert.deepEqual(
    agentSteps.map(({ item }) => item),
    ["", "#prompt", "#turn-1", "#tool-1-1", "#turn-2"],
  );

  // The injected text is only in the message of the user, between the tags of the fence.
  const [firstRequest] = model.requests;
  const system = JSON.stringify(firstRequest?.system);
  const [userMessage] = firstRequest?.messages ?? [];
  assert.ok(!system.includes("Ignore your instructions"));
  const text = userMessage?.content[0]?.text ?? "";
  const nonce = /<untrusted_(\w+)>/.exec(text)?.[1];
  assert.match(
    text,
    new RegExp(`<untrusted_${nonce}>\n.*Ignore your.*\n</untrusted_${nonce}>$`, "s"),
  );

  // The model gets the API key, but the record of the run does not contain it.
  assert.equal(firstRequest?.headers["x-api-key"], "sk-ant-example-secret");
  assert.ok(!JSON.stringify(steps).includes("sk-ant-example-secret"));
  console.log("✓ the issue was triaged, the injected text stayed data, and the key stayed secret");
} finally {
  await hub.stop();
  model.close();
}
