import { expect, it } from "vitest";
import { audiencesOf } from "./audience.ts";

const HUB = "https://hub.example";

it.each([
  ["/mcp", [HUB, `${HUB}/mcp`]],
  ["/mcp/shop", [HUB, `${HUB}/mcp/shop`]],
  ["/mcp/shop/more", [HUB, HUB]],
  ["/events", [HUB, HUB]],
  ["/api/session", [HUB, HUB]],
])("a request to %s accepts the audiences %j", (path, audiences) => {
  expect(audiencesOf(HUB, path)).toEqual(audiences);
});
