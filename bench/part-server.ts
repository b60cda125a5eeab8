/**
 * The floor, with one after another of the parts that no hub can leave out, and nothing else: the
 * signature, parsing and the summary, the store. Forked by parts.ts, with how many of them.
 */
import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { decodeObject } from "../packages/hub/src/ingest/decode.ts";
import { sanitizeSummary } from "../packages/hub/src/ingest/sanitize-summary.ts";
import { summarizeGithub } from "../packages/hub/src/ingest/sources/github-summary.ts";
import { createIds } from "../packages/hub/src/lib/ids.ts";
import { openSqlite } from "../packages/hub/src/store/backends/sqlite.ts";
import { createGroupCommit } from "../packages/hub/src/store/group-commit.ts";
import { SECRET } from "./delivery.ts";
import { TENANT } from "./seed.ts";

const [count = "0", folder = ""] = process.argv.slice(2);
const parts = Number(count);
const key = createSecretKey(Buffer.from(SECRET));
const newId = createIds();
const group = createGroupCommit({
  store: openSqlite(join(folder, "parts.db")),
  quota: null,
  defer: setImmediate,
});
const answer = JSON.stringify({ outcome: "stored", id: "01890a5d-ac96-774b-bcce-b302099a8057" });
const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(answer) };

async function take({ headers: sent }: IncomingMessage, body: Buffer): Promise<number> {
  const told = (name: string) => String(sent[name]);
  if (parts < 1) return 202;
  const signature = createHmac("sha256", key).update(body).digest();
  const given = Buffer.from(told("x-hub-signature-256").slice("sha256=".length), "hex");
  if (!timingSafeEqual(signature, given)) return 401;
  if (parts < 2) return 202;
  const decoded = decodeObject("application/json", body);
  if (!("object" in decoded)) return 400;
  const type = told("x-github-event");
  const summary = sanitizeSummary(summarizeGithub(type, decoded.object));
  if (parts < 3) return 202;
  const kept = ["x-github-event", "x-github-delivery", "x-hub-signature-256"];
  const event = {
    id: newId(),
    source: "github",
    source_id: "github",
    external_id: told("x-github-delivery"),
    type,
    received_at: Date.now(),
    ...summary,
    content_type: "application/json",
    headers: Object.fromEntries(kept.map((name) => [name, told(name)])),
    body,
  };
  await group.append({ tenant: TENANT, events: [event] });
  return 202;
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", async () => {
    const status = await take(request, Buffer.concat(chunks));
    response.writeHead(status, headers).end(answer);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
