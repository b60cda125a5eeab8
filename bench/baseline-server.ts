/**
 * The minimal Node server for webhooks: it reads the body and returns 202. It shows the cost of HTTP
 * alone. Forked by baseline-process.ts.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const responseBody = JSON.stringify({
  outcome: "stored",
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
});
const headers = {
  "content-type": "application/json",
  "content-length": Buffer.byteLength(responseBody),
};

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    Buffer.concat(chunks); // counted too, because every handler needs the whole body
    response.writeHead(202, headers).end(responseBody);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
