/** A fake model: a server that implements the streaming Messages API, so that the example costs no money. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

export interface MessagesRequest {
  headers: Record<string, unknown>;
  system: { text: string }[];
  messages: { role: string; content: { type: string; text?: string }[] }[];
  tools: { name: string }[];
}

interface ToolCall {
  name: string;
  input: object;
}

/** `chooseTool` returns the tool call with which the model responds to a request. */
export async function startFakeModel(chooseTool: (request: MessagesRequest) => ToolCall) {
  const requests: MessagesRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const body = (await json(incoming)) as MessagesRequest;
    const request = { ...body, headers: incoming.headers };
    requests.push(request);
    const { name, input } = chooseTool(request);
    const usage = { input_tokens: 100, output_tokens: 10 };
    const message = { id: "msg", type: "message", role: "assistant", model: "fake", content: [] };
    const block = { type: "tool_use", id: `call_${requests.length}`, name, input: {} };
    const delta = { type: "input_json_delta", partial_json: JSON.stringify(input) };
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of [
      { type: "message_start", message: { ...message, usage } },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage },
      { type: "message_stop" },
    ])
      outgoing.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    outgoing.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests, close: () => server.close() };
}
