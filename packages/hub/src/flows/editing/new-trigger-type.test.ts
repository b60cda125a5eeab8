/** To add a trigger type, its definition in the registry is enough: no other code depends on the type. */
import { checkReferences } from "@signalbox/rules/flows/check-references.ts";
import { createRegistry, defineNode } from "@signalbox/rules/flows/node-type.ts";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { renameNode } from "@signalbox/rules/flows/rename-node.ts";
import { resolveFlow } from "@signalbox/rules/flows/resolved-flow.ts";
import { testFlow, testNode } from "@signalbox/rules/flows/test-flow.ts";
import { toolFields } from "@signalbox/rules/flows/tool-fields.ts";
import { describeFlow } from "@signalbox/rules/flows/validate.ts";
import { expect, it } from "vitest";
import { z } from "zod";
import { importDraft } from "../import/import-draft.ts";
import { finishDraft } from "./edit-draft.ts";
import { triggersOf } from "./publication.ts";

const base = {
  description: "Starts a run.",
  icon: "X",
  kind: "trigger" as const,
  ports: { in: [], out: ["out"] },
  sample: { config: {}, rejects: { config: {}, path: "x" } },
};
const slashCommand = defineNode({
  ...base,
  type: "SlashCommand",
  title: "Slash command",
  config: z.strictObject({ ...toolFields, isActive: z.boolean().default(true) }),
  tool: ({ toolDescription }) => ({
    description: `/ ${toolDescription}`,
    parameters: [{ name: "text", type: "string", description: "" }],
  }),
});
const newIssue = defineNode({
  ...base,
  type: "NewIssue",
  title: "New issue",
  config: z.strictObject({ repository: z.string() }),
  listensTo: ({ repository }) => ({
    source: "github",
    type: "issues",
    params: { action: "opened", "repository.full_name": repository },
  }),
});
const manual = defineNode({ ...base, type: "Manual", title: "Manual", config: z.strictObject({}) });
const registry = createRegistry([...nodeTypes.values(), slashCommand, newIssue, manual]);

const command = testNode("SlashCommand", "Deploy", {
  toolName: "deploy",
  toolDescription: "Deploys it.",
});
const issue = testNode("NewIssue", "Issue", { repository: "acme/app" });
const button = testNode("Manual", "Button");
const end = testNode("Return", "End", { value: { text: "{{ trigger.text? }}" } });
const flow = testFlow(
  [command, issue, button, end],
  ["deploy → end", "issue → end", "button → end"],
);

it("a new trigger type is validated, exposes its tool, and makes the nodes after it reachable", () => {
  expect(describeFlow(flow, registry)).toEqual({
    exposedTools: [{ nodeId: "deploy", name: "deploy", description: "Deploys it." }],
    listensTo: [{ nodeId: "issue", source: "github", type: "issues" }],
    hasTriggers: true,
    errors: [],
    warnings: [],
  });
  const wrong = testFlow([{ ...issue, parameters: {} }, end], ["issue → end", "end → issue"]);
  expect(describeFlow(wrong, registry).errors.map(({ code }) => code)).toEqual(
    expect.arrayContaining(["invalid_config", "trigger_with_input"]),
  );
});

it("tools of a new trigger type need unique names and a description; missing names are derived", () => {
  const twin = { ...command, id: "twin", slug: "twin" };
  expect(describeFlow(testFlow([command, twin]), registry).errors).toMatchObject([
    { code: "duplicate_tool_name", nodeId: "twin" },
  ]);
  const unnamed = { ...command, parameters: { toolDescription: "Deploys it." } };
  const { toolNames } = finishDraft(testFlow([unnamed]), [], new Set(["deploy"]), registry);
  expect(toolNames).toEqual([{ name: "deploy_2", node_id: "deploy" }]);
  const undescribed = { ...command, parameters: {} };
  expect(() => finishDraft(testFlow([undescribed]), [], new Set(), registry)).toThrow(
    "agents choose a tool by its description",
  );
});

it("the tool of a new trigger type is renamed with its node, and if an imported name is taken", () => {
  expect(renameNode(flow, "deploy", "Ship it", registry, new Set(), () => undefined)?.tool).toEqual(
    {
      from: "deploy",
      to: "ship_it",
    },
  );
  const { draft } = importDraft(flow, registry, new Set(["deploy"]), () => "id");
  expect(draft.nodes[0]?.parameters.toolName).toBe("deploy_2");
});

it("each new trigger type gets a trigger row of the right kind", () => {
  expect(triggersOf(flow, registry, 0)).toMatchObject([
    {
      node_id: "deploy",
      kind: "intent",
      tool_name: "deploy",
      config: {
        title: "Deploy",
        description: "/ Deploys it.",
        inputSchema: { required: ["text"] },
        outputSchema: { type: "object" },
      },
    },
    {
      node_id: "issue",
      kind: "event",
      source: "github",
      type: "issues",
      config: { params: { action: "opened", "repository.full_name": "acme/app" } },
    },
    { node_id: "button", kind: "other", tool_name: null, source: null },
  ]);
});

it("templates may use any `trigger` field if the output of a new trigger type is unknown", () => {
  const { warnings } = checkReferences(resolveFlow(flow, registry));
  expect(warnings).toEqual([]);
});
