import { createHmac, randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import type { LoadPlan } from "./load.ts";

export const SECRET = "a-secret-for-benchmarks-only";
const WANTED_BYTES = 10_240;

/** A real payload of an `issues` event, of the size that GitHub's are on average. */
export const body: Buffer = nearest(WANTED_BYTES);

function nearest(size: number): Buffer {
  // The examples belong to the hub's tests.
  const hub = createRequire(new URL("../packages/hub/package.json", import.meta.url));
  const examples = hub("@octokit/webhooks-examples") as { name: string; examples: object[] }[];
  const issues = examples.find(({ name }) => name === "issues")?.examples ?? [];
  const bodies = issues.map((example) => Buffer.from(JSON.stringify(example)));
  const [first] = bodies.sort((a, b) => Math.abs(a.length - size) - Math.abs(b.length - size));
  if (!first) throw new Error("@octokit/webhooks-examples has no issues event");
  return first;
}

/** A signed GitHub delivery. Runs have ids of their own, and so has each request of a run. */
export function signedDelivery(port: number): Pick<LoadPlan, "port" | "request" | "uniqueAt"> {
  // Version 1, as GitHub's are: the load generator fills in the time, the rest tells runs apart.
  const id = `00000000-3c5e-11f0-${randomUUID().slice(19)}`;
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  const head = [
    "POST /webhooks/github HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "User-Agent: GitHub-Hookshot/044aadd",
    "Accept: */*",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "X-GitHub-Event: issues",
    "X-GitHub-Hook-ID: 292430182",
    "X-GitHub-Hook-Installation-Target-ID: 79929171",
    "X-GitHub-Hook-Installation-Target-Type: repository",
    `X-Hub-Signature-256: sha256=${signature}`,
    `X-GitHub-Delivery: ${id}`,
    "",
    "",
  ].join("\r\n");
  return {
    port,
    request: Buffer.concat([Buffer.from(head), body]),
    uniqueAt: head.indexOf(id),
  };
}
