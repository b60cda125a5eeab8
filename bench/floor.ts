/**
 * The least that a Node server can do with a webhook: read it, answer 202. What the hub takes beyond
 * this is the price of verifying, storing and fsyncing. Forked by floor-process.ts.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const answer = JSON.stringify({ outcome: "stored", id: "01890a5d-ac96-774b-bcce-b302099a8057" });
const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(answer) };

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    Buffer.concat(chunks);
    response.writeHead(202, headers).end(answer);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
