import { expect, it } from "vitest";
import { testFlow, testNode, testTool } from "../test-flow.ts";
import { validateFlow } from "../validate.ts";
import { nodeTypes } from "./index.ts";

const errorsWith = (maxBytes: number) => {
  const fetch = testNode("HttpRequest", "Fetch", { url: "https://example.com", maxBytes });
  const flow = testFlow([testTool("Start"), fetch], ["start → fetch"]);
  return validateFlow(flow, nodeTypes).errors;
};

it("rejects a `maxBytes` above the maximum size of a step's output", () => {
  expect(errorsWith(8_000_000)).toEqual([]);
  expect(errorsWith(8_000_001)).toMatchObject([
    {
      code: "invalid_config",
      nodeId: "fetch",
      path: "maxBytes",
      message: "Fetch: maxBytes: must be at most 8000000: the output of a step is at most 8 MB",
    },
  ]);
});
