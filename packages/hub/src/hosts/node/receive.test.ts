import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createBodyBudget } from "../../kernel/http/byte-budgets.ts";
import { rejection } from "../../kernel/http/ingest-outcome.ts";
import { createReceiver } from "./receive.ts";

it("keeps the bytes of a large body reserved until it was processed, even if its sender disconnects", async () => {
  const bodyBudget = createBodyBudget(200_000);
  const bodyRead = Promise.withResolvers<void>();
  const processed = Promise.withResolvers<void>();
  const receive = createReceiver({
    bodyBudget,
    isStopping: () => false,
    lingerMs: 0,
    async receive({ body }) {
      await body(200_000);
      bodyRead.resolve();
      await processed.promise;
      return rejection("busy", "Later.");
    },
  });
  const closed = Promise.withResolvers<void>();
  const server = createServer((incoming, response) => {
    response.once("close", closed.resolve);
    void receive(incoming, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const sender = request({ port, host: "127.0.0.1", method: "POST" });
  sender.on("error", () => {});
  sender.end("x".repeat(150_000));
  await bodyRead.promise;
  sender.destroy();
  await closed.promise;
  expect(bodyBudget.reserve(60_000, 0)).toMatchObject({ reason: "busy" });
  processed.resolve();
  await expect.poll(() => bodyBudget.reserve(200_000, 0)).toBeUndefined();
});
