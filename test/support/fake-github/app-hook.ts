/** The webhook of the GitHub App: sends signed events, records every attempt, and redelivers on request. */
import { createHmac, randomBytes, randomUUID } from "node:crypto";
import type { Context, Hono } from "hono";
import type { AppKey } from "./app-key.ts";

interface Attempt {
  /** GitHub's ids exceed the safe integers of JavaScript. */
  id: bigint;
  guid: string;
  deliveredAt: number;
  redelivery: boolean;
  status: string;
  statusCode: number;
  event: string;
  payload: Record<string, unknown>;
}

export interface AppHook {
  /** The settings of the webhook: `url` is the hub's endpoint. Without a URL, every attempt fails. */
  webhook: { url: string; secret: string };
  /** Sends an event once, as GitHub does. Resolves when the hub has responded or is unreachable. */
  sendWebhook(event: string, payload: Record<string, unknown>): Promise<Attempt>;
  /** All attempts, oldest first. */
  attempts: Attempt[];
  /** Resolves when the requested redeliveries have been sent. */
  settled(): Promise<void>;
  /** Starts to send the event of an earlier attempt again. */
  redeliver(attempt: Attempt): void;
}

/** GitHub lists attempts for three days. */
const RETENTION_MS = 3 * 24 * 60 * 60 * 1000;

export function createAppHook(): AppHook {
  const webhook = { url: "", secret: randomBytes(20).toString("hex") };
  const attempts: Attempt[] = [];
  const redeliveries = new Set<Promise<unknown>>();
  // 2^53 + 1. From there on, JavaScript numbers cannot represent odd integers.
  let nextId = 9_007_199_254_740_993n;

  const send = async (guid: string, event: string, payload: Record<string, unknown>) => {
    const isRedelivery = attempts.some((attempt) => attempt.guid === guid);
    const deliveredAt = Date.now();
    const [status, statusCode] = await post(webhook, guid, event, JSON.stringify(payload));
    const attempt = {
      id: nextId,
      guid,
      deliveredAt,
      redelivery: isRedelivery,
      status,
      statusCode,
      event,
      payload,
    };
    nextId += 2n;
    attempts.push(attempt);
    return attempt;
  };

  return {
    webhook,
    attempts,
    sendWebhook: (event, payload) => send(randomUUID(), event, payload),
    redeliver({ guid, event, payload }) {
      const sending = send(guid, event, payload).finally(() => redeliveries.delete(sending));
      redeliveries.add(sending);
    },
    async settled() {
      while (redeliveries.size > 0) await Promise.all(redeliveries);
    },
  };
}

/** Returns the status and the status code that GitHub shows for the attempt. */
async function post(
  { url, secret }: AppHook["webhook"],
  guid: string,
  event: string,
  body: string,
): Promise<[string, number]> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "GitHub-Hookshot/fake",
        "x-github-delivery": guid,
        "x-github-event": event,
        "x-github-hook-id": "1",
        "x-github-hook-installation-target-type": "integration",
        "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
      },
      body,
    });
    await response.arrayBuffer();
    return [response.ok ? "OK" : `Invalid HTTP Response: ${response.status}`, response.status];
  } catch {
    return ["failed to connect to host", 0];
  }
}

export function addHookRoutes(api: Hono, { app, hook }: { app: AppKey; hook: AppHook }): void {
  const listAttempts = () =>
    hook.attempts.filter(({ deliveredAt }) => deliveredAt > Date.now() - RETENTION_MS).reverse();

  api.get(
    "/app/hook/config",
    (context) =>
      app.reject(context) ??
      context.json({
        url: hook.webhook.url,
        content_type: "json",
        insecure_ssl: "0",
        secret: "********",
      }),
  );
  api.get("/app/hook/deliveries", (context) => {
    const rejected = app.reject(context);
    if (rejected) return rejected;
    const size = Math.min(100, Number(context.req.query("per_page") ?? 30));
    const cursor = context.req.query("cursor");
    const attempts = listAttempts();
    const from = cursor === undefined ? 0 : attempts.findIndex(({ id }) => `v1_${id}` === cursor);
    if (from < 0) return context.json({ message: "Invalid cursor" }, 422);
    const next = attempts[from + size];
    const link = new URL(context.req.url);
    link.searchParams.set("cursor", `v1_${next?.id}`);
    const headers: Record<string, string> = next ? { link: `<${link}>; rel="next"` } : {};
    const body = `[${attempts
      .slice(from, from + size)
      .map(showAttempt)
      .join(",")}]`;
    return context.body(body, { headers: { ...headers, "content-type": "application/json" } });
  });
  api.post("/app/hook/deliveries/:id/attempts", (context: Context) => {
    const rejected = app.reject(context);
    if (rejected) return rejected;
    const attempt = listAttempts().find(({ id }) => String(id) === context.req.param("id"));
    if (!attempt) return context.json({ message: "Not Found", status: "404" }, 404);
    hook.redeliver(attempt);
    return context.json({}, 202);
  });
}

/** Adds the id as text, because JSON.stringify cannot serialize a bigint as a number. */
function showAttempt({ id, deliveredAt, statusCode, payload, ...attempt }: Attempt): string {
  const { guid, redelivery, status, event } = attempt;
  const json = JSON.stringify({
    guid,
    delivered_at: new Date(deliveredAt).toISOString(),
    redelivery,
    duration: 0.1,
    status,
    status_code: statusCode,
    event,
    action: typeof payload.action === "string" ? payload.action : null,
    installation_id: (payload.installation as { id?: number } | undefined)?.id ?? null,
    repository_id: (payload.repository as { id?: number } | undefined)?.id ?? null,
    throttled_at: null,
  });
  return `{"id":${id},${json.slice(1)}`;
}
