/**
 * The minimal Node server for live streams: on a POST it writes a frame to every client and returns
 * 202. The hub's additional cost is storage, cursors and filters. Forked by
 * baseline-process.ts.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const clients = new Set<ServerResponse>();
let seq = 0;

/** A frame of the same size as the hub's. */
const makeFrame = (id: string) => {
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
    clients.add(response);
    response.on("close", () => clients.delete(response));
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    Buffer.concat(chunks); // counted too, because every handler needs the whole body
    seq += 1;
    const id = `01890a5d-ac96-774b-bcce-${String(seq).padStart(12, "0")}`;
    const frame = makeFrame(id);
    for (const client of clients) client.write(frame);
    const responseBody = JSON.stringify({ outcome: "stored", id });
    response
      .writeHead(202, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(responseBody),
      })
      .end(responseBody);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
