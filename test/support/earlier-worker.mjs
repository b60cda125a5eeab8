/**
 * A stand-in for the earlier Worker, whose Durable Objects have the same class names as the hub's. Tests
 * fill their databases: the body of a request is a list of `[binding, object name, SQL statements]`.
 */
import { DurableObject } from "cloudflare:workers";

class SqlObject extends DurableObject {
  run(statements) {
    for (const statement of statements) this.ctx.storage.sql.exec(statement);
  }
}

export class TenantRegistry extends SqlObject {}
export class WebhookStore extends SqlObject {}
export class WebhookMcpAgent extends SqlObject {}

export default {
  async fetch(request, env) {
    for (const [binding, name, statements] of await request.json())
      await env[binding].getByName(name).run(statements);
    return new Response();
  },
};
