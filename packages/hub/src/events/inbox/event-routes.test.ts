import { expect, test } from "vitest";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { eventRoutes } from "./event-routes.ts";
import type { Inbox } from "./inbox.ts";

test("a bulk replay returns the ids of events that are unknown, or that the hub was too busy to replay", async () => {
  const find = async (_: readonly string[], id: string) => {
    if (id === "unknown") throw new RequestError("not_found", "ids", "no such event");
  };
  const replay = async (_: string, id: string) => {
    if (id === "large") throw new RequestError("busy", "event_id", "try again later");
    return { runs: ["run"] };
  };
  const routes = eventRoutes({ find } as unknown as Inbox, replay);
  const [, bulk] = routes;
  if (bulk?.path !== "/api/events/bulk") throw new Error("the route is missing");
  const access = { scopes: ["inbox:write", "flows:call"] };
  const body = { action: "replay", ids: ["one", "unknown", "large", "two"] };
  const { json } = (await bulk.handle({ access, tenant: "acme", body } as never)) as {
    json: object;
  };
  expect(json).toEqual({
    ids: ["one", "two"],
    unchanged: [],
    unknown: ["unknown"],
    not_replayed: ["large"],
    runs: 2,
    next_cursor: null,
  });
});
