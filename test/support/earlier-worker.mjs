/**
 * Stands for the earlier Worker: objects with the names of the hub's. A request is a list of
 * `[binding, name of the object, SQL statements]`.
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
