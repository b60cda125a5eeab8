import { expect, it } from "vitest";
import { toNewFlow } from "./flow-from-event.ts";

it("creates a trigger for the same source, type and action", () => {
  expect(toNewFlow({ source: "github", type: "issues", action: "opened" })).toEqual({
    name: "On issues opened",
    nodes: [
      {
        type: "Event",
        name: "Issues opened",
        parameters: { source: "github", type: "issues", params: { action: "opened" } },
      },
    ],
  });
});

it("does not repeat an action with which the type ends", () => {
  const { name, nodes } = toNewFlow({ source: "stripe", type: "invoice.paid", action: "paid" });
  expect([name, nodes[0]?.parameters]).toEqual([
    "On invoice paid",
    { source: "stripe", type: "invoice.paid" },
  ]);
});
