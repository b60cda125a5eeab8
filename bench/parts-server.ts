/**
 * A server that does the necessary work of a webhook and nothing else. The work has three parts: (1)
 * check the HMAC, (2) parse and summarize the body, (3) store the event with fsync. The first argument,
 * 0 to 3, is the number of parts that the server does. It has no rate limit, address checks, metrics
 * or log. Forked by parts-process.ts.
 */
import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { summarizeGithub } from "../packages/hub/src/events/sources/github.ts";
import { sanitizeSummary } from "../packages/hub/src/events/sources/summary.ts";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import { decodeObject } from "../packages/hub/src/kernel/http/decode.ts";
import { createIds } from "../packages/hub/src/kernel/lib/ids.ts";
import { createGroupCommit } from "../packages/hub/src/kernel/store/group-commit.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import { TENANT } from "./seed.ts";
import { SECRET } from "./signed-webhooks.ts";

const [count = "0", folder = ""] = process.argv.slice(2);
const parts = Number(count);
const key = createSecretKey(Buffer.from(SECRET));
const newId = createIds();
const group = createGroupCommit({
  store: openSqlite(storeDefinition, join(folder, "parts.db")),
  quota: null,
  defer: setImmediate,
});
const responseBody = JSON.stringify({
  outcome: "stored",
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
});
const headers = {
  "content-type": "application/json",
  "content-length": Buffer.byteLength(responseBody),
};

async function handle(request: IncomingMessage, body: Buffer): Promise<number> {
  const header = (name: string) => String(request.headers[name]);
  if (parts < 1) return 202;
  const expected = createHmac("sha256", key).update(body).digest();
  const received = Buffer.from(header("x-hub-signature-256").slice("sha256=".length), "hex");
  if (!timingSafeEqual(expected, received)) return 401;
  if (parts < 2) return 202;
  const decoded = decodeObject("application/json", body);
  if (!("object" in decoded)) return 400;
  const type = header("x-github-event");
  const summary = sanitizeSummary(summarizeGithub(type, decoded.object));
  if (parts < 3) return 202;
  const storedHeaders = ["x-github-event", "x-github-delivery", "x-hub-signature-256"];
  const event = {
    id: newId(),
    source: "github",
    source_id: "github",
    external_id: header("x-github-delivery"),
    type,
    received_at: Date.now(),
    ...summary,
    content_type: "application/json",
    headers: Object.fromEntries(storedHeaders.map((name) => [name, header(name)])),
    body,
  };
  await group.append({ tenant: TENANT, events: [event] });
  return 202;
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", async () => {
    const status = await handle(request, Buffer.concat(chunks));
    response.writeHead(status, headers).end(responseBody);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
