/** A GitHub issue is opened. A flow classifies and labels it through GitHub's API, which is a fake server here. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openHub, readFlow, waitFor } from "../hub.ts";

interface ApiCall {
  url: string | undefined;
  authorization: string | undefined;
  idempotencyKey: string | string[] | undefined;
  body: unknown;
}

const calls: ApiCall[] = [];
const github = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  calls.push({
    url: request.url,
    authorization: request.headers.authorization,
    idempotencyKey: request.headers["idempotency-key"],
    body: JSON.parse(Buffer.concat(chunks).toString()),
  });
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify([{ name: "bug" }]));
}).listen(0, "127.0.0.1");
await once(github, "listening");
const githubUrl = `http://127.0.0.1:${(github.address() as AddressInfo).port}`;

const hub = await openHub({ SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
try {
  await hub.api("PUT", "/api/secrets/GITHUB_TOKEN", { value: "ghp_example_secret" });
  await hub.install("github", readFlow(import.meta.url, { "https://api.github.com": githubUrl }));

  const issue = readFileSync(new URL("issue-opened.json", import.meta.url));
  const response = await fetch(`${hub.url}/webhooks/github`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-event": "issues",
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    },
    body: issue,
  });
  assert.equal(response.status, 202);

  const run = await waitFor(async () => {
    const { items } = await hub.api<{ items: { id: string; status: string }[] }>(
      "GET",
      "/api/runs",
    );
    return items.find(({ status }) => status === "succeeded");
  });
  assert.equal(calls.length, 1);
  assert.equal(calls[0]?.url, "/repos/octocat/hello-world/issues/7/labels");
  assert.equal(calls[0]?.authorization, "Bearer ghp_example_secret");
  assert.equal(calls[0]?.idempotencyKey, `${run.id}:label`);
  assert.deepEqual(calls[0]?.body, { labels: ["bug"] });

  // The record of the run does not contain the secret.
  const record = JSON.stringify(await hub.api("GET", `/api/runs/${run.id}`));
  assert.ok(!record.includes("ghp_example_secret"));
  console.log("✓ the issue was labelled once, and the record contains no secret");
} finally {
  await hub.stop();
  github.close();
}
