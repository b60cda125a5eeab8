/** The baseline of `npm run bench -- workerd`: stores each body as a row in a Durable Object, and does nothing else. */
import { DurableObject } from "cloudflare:workers";

export class Rows extends DurableObject {
  constructor(state, env) {
    super(state, env);
    state.storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS rows (id TEXT PRIMARY KEY, type TEXT, received_at INTEGER, body BLOB)",
    );
  }

  async fetch(request) {
    const id = request.headers.get("x-github-delivery");
    const type = request.headers.get("x-github-event");
    const body = await request.arrayBuffer();
    this.ctx.storage.sql.exec("INSERT INTO rows VALUES (?, ?, ?, ?)", id, type, Date.now(), body);
    return Response.json({ outcome: "stored", id }, { status: 202 });
  }
}

export default {
  fetch: (request, env) => env.ROWS.getByName("local").fetch(request),
};
