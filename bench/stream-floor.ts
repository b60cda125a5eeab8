/**
 * The least that a Node server can do for those who follow a stream: on a POST, write a frame to each
 * of them and answer 202. What the hub takes beyond this is the price of storing first, of cursors
 * and of filters. Forked by floor-process.ts.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const followers = new Set<ServerResponse>();
let seq = 0;

/** As large as the hub's. */
const frameOf = (id: string) => {
  const summary = {
    id,
    type: "issues",
    received_at: "2026-01-01T12:00:00.000Z",
    processed: false,
    trigger_status: null,
    last_triggered_at: null,
    action: "edited",
    repo: "signal-lamp/train-switch",
    sender: "track-platform",
    number: 1234,
    title: "whistle engine carriage junction tunnel bridge",
    url: "https://github.com/signal-lamp/train-switch/issues/1234",
  };
  return `id: ${seq}\ndata: ${JSON.stringify({ event_id: id, type: "issues", source: "github", seq, summary })}\n\n`;
};

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write(`id: ${seq}\ndata: {"status":"connected"}\n\n`);
    followers.add(response);
    response.on("close", () => followers.delete(response));
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    Buffer.concat(chunks);
    seq += 1;
    const id = `01890a5d-ac96-774b-bcce-${String(seq).padStart(12, "0")}`;
    const frame = frameOf(id);
    for (const follower of followers) follower.write(frame);
    const answer = JSON.stringify({ outcome: "stored", id });
    response
      .writeHead(202, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(answer),
      })
      .end(answer);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
