import { createHmac, randomUUID } from "node:crypto";
import type { LoadPlan } from "./load.ts";
import { makePayloads } from "./payloads.ts";

export const SECRET = "a-secret-for-benchmarks-only";

interface SignedPayload {
  body: Buffer;
  signature: string;
}

const sign = (body: Buffer): SignedPayload => ({
  body,
  signature: createHmac("sha256", SECRET).update(body).digest("hex"),
});

/** By installation: signing all payloads takes time. */
const cache = new Map<number | undefined, SignedPayload[]>();

function signedPayloads(installation: number | undefined): SignedPayload[] {
  const cached = cache.get(installation);
  if (cached) return cached;
  const payloads = makePayloads(installation).map(sign);
  cache.set(installation, payloads);
  return payloads;
}

/** Returns signed GitHub webhooks for the load generator. */
export const signedWebhooks = (
  port: number,
  installation?: number,
  type = "issues",
): Pick<LoadPlan, "port" | "templates"> => toPlan(port, signedPayloads(installation), type);

/** The same with these bodies. A template belongs to one connection, so there must be as many as connections. */
export const webhooksOf = (
  port: number,
  bodies: readonly Buffer[],
): Pick<LoadPlan, "port" | "templates"> => toPlan(port, bodies.map(sign), "issues");

/** Delivery ids are unique for every call and every request. */
function toPlan(
  port: number,
  payloads: readonly SignedPayload[],
  type: string,
): Pick<LoadPlan, "port" | "templates"> {
  // UUID version 1, as GitHub uses: the load generator sets the time field, the rest is random per call.
  const id = `00000000-3c5e-11f0-${randomUUID().slice(19)}`;
  return {
    port,
    templates: payloads.map(({ body, signature }) => {
      const head = [
        "POST /webhooks/github HTTP/1.1",
        `Host: 127.0.0.1:${port}`,
        "User-Agent: GitHub-Hookshot/044aadd",
        "Accept: */*",
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
        `X-GitHub-Event: ${type}`,
        "X-GitHub-Hook-ID: 292430182",
        "X-GitHub-Hook-Installation-Target-ID: 79929171",
        "X-GitHub-Hook-Installation-Target-Type: repository",
        `X-Hub-Signature-256: sha256=${signature}`,
        `X-GitHub-Delivery: ${id}`,
        "",
        "",
      ].join("\r\n");
      return { request: Buffer.concat([Buffer.from(head), body]), idAt: head.indexOf(id) };
    }),
  };
}
