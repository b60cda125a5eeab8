import type { FlowItem } from "@signalbox/contract";
import { describe, expect, it } from "vitest";
import {
  attentionOf,
  draftStateOf,
  groupByApp,
  NO_TRIGGERS,
  selectFlows,
  signalOfFlow,
} from "./flow-list.ts";

const flow = (overrides: Partial<FlowItem>) =>
  ({
    id: "f",
    app: "desk",
    name: "Issue triage",
    description: "",
    version: 1,
    draft: "published",
    exposed_tools: [],
    has_triggers: true,
    warnings: [],
    errors: [],
    last_run: null,
    ...overrides,
  }) as unknown as FlowItem;

describe("attentionOf", () => {
  it("returns the exact label and tooltip for a flow without triggers", () => {
    expect(
      attentionOf(flow({ has_triggers: false, warnings: [{ code: "no_triggers", message: "x" }] })),
    ).toEqual({
      label: "No triggers",
      tooltip: "This flow has no trigger nodes and cannot be executed via MCP.",
    });
    expect(NO_TRIGGERS).toMatch(/via MCP\.$/);
  });

  it("returns inactive triggers first, then errors, then warnings", () => {
    const warnings = [{ code: "no_active_triggers", message: "No active triggers" }];
    expect(attentionOf(flow({ warnings }))?.label).toBe("No active triggers");
    expect(attentionOf(flow({ errors: [{ code: "cycle", message: "A cycle." }] }))?.label).toBe(
      "1 error",
    );
    expect(attentionOf(flow({ warnings: [{ code: "orphan_node", message: "x" }] }))?.label).toBe(
      "1 warning",
    );
    expect(attentionOf(flow({}))).toBeUndefined();
  });
});

it("describes how the draft differs from the published version, and the last run", () => {
  expect(draftStateOf(flow({ version: null, draft: "unpublished" })).text).toBe("never published");
  expect(draftStateOf(flow({ version: 7, draft: "changed" }))).toEqual({
    text: "draft differs from v7",
    tone: "amber",
  });
  expect(draftStateOf(flow({ version: 7 })).text).toBe("published v7");
});

it("shows a subscription that does not work, or else the last run", () => {
  expect(signalOfFlow(flow({})).aspect).toBe("none");
  const withWarning = (code: string) =>
    signalOfFlow(flow({ warnings: [{ code, message: "" }] } as Partial<FlowItem>));
  expect(withWarning("orphan_node").aspect).toBe("none");
  expect(withWarning("subscription_failed").aspect).toBe("red");
  expect(withWarning("subscription_unconfirmed").aspect).toBe("amber");
});

it("selects flows by name, tool name and state", () => {
  const flows = [
    flow({ id: "a", exposed_tools: [{ node_id: "n", name: "weekly_digest", description: "" }] }),
    flow({ id: "b", name: "Digest", version: null, draft: "unpublished" }),
    flow({ id: "c", name: "Other", has_triggers: false }),
  ];
  const idsOf = (...args: [Parameters<typeof selectFlows>[1], string]) =>
    selectFlows(flows, ...args).map(({ id }) => id);
  expect(idsOf("all", "DIGEST ")).toEqual(["a", "b"]);
  expect(idsOf("published", "")).toEqual(["a", "c"]);
  expect(idsOf("drafts", "")).toEqual(["b"]);
  expect(idsOf("attention", "")).toEqual(["c"]);
});

it("groups flows by app, and sorts apps and flows by name", () => {
  const flows = [
    flow({ id: "1", app: "z", name: "B" }),
    flow({ id: "2", app: "a", name: "X" }),
    flow({ id: "3", app: "z", name: "A" }),
  ];
  expect(
    groupByApp(flows, [{ slug: "z", name: "Alpha" }]).map(({ app, flows }) => [
      app.name,
      flows.map(({ id }) => id),
    ]),
  ).toEqual([
    ["a", ["2"]],
    ["Alpha", ["3", "1"]],
  ]);
});
