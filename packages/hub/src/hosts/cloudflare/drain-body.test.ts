import { expect, it } from "vitest";
import { drainBody } from "./client-connection.ts";

/** A request whose body has `chunks` chunks of 64 KB. */
function upload(chunks: number) {
  let sent = 0;
  let isCanceled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sent === chunks) return controller.close();
        sent += 1;
        controller.enqueue(new Uint8Array(64 * 1024));
      },
      cancel() {
        isCanceled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request("https://hub.example/mcp", { method: "POST", body, duplex: "half" });
  return { request, state: () => ({ sent, isCanceled }) };
}

it("reads an unread body to its end", async () => {
  const { request, state } = upload(3);
  await drainBody(request);
  expect(state()).toEqual({ sent: 3, isCanceled: false });
});

it("cancels a body of more than 1 MB", async () => {
  const { request, state } = upload(1_000);
  await drainBody(request);
  expect(state()).toEqual({ sent: 17, isCanceled: true });
});

it("ignores a body that was already read, and a request without a body", async () => {
  const { request } = upload(1);
  await request.arrayBuffer();
  await drainBody(request);
  await drainBody(new Request("https://hub.example/mcp"));
});
