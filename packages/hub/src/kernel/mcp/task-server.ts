import { type Handler, HubServer, inBatch } from "./hub-server.ts";

/** A server whose `tools/call` may return a task; the SDK's own check of the result rejects tasks. */
export class TaskServer extends HubServer {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    return method === "tools/call" ? inBatch(handler) : super._wrapHandler(method, handler);
  }
}
