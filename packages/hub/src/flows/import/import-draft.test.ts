import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { Json } from "@signalbox/rules/json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { finishDraft } from "../editing/edit-draft.ts";
import { importDraft } from "./import-draft.ts";

const counter = () => {
  let count = 0;
  return () => `new-${++count}`;
};
const importInput = (input: Json, ...takenNames: string[]) =>
  importDraft(input, nodeTypes, new Set(takenNames), counter());

describe("an imported flow", () => {
  it("gets the node's name as the description of a tool without one", () => {
    const { draft, notes } = importInput({
      name: "Flow",
      nodes: [{ id: "a", type: "UserIntent", name: "Go", parameters: { toolDescription: " " } }],
    });
    expect(draft.nodes[0]?.parameters).toEqual({ toolDescription: "Go" });
    expect(notes).toEqual([
      'toolDescription: the tool "Go" had the description " "; its name is used instead.',
    ]);
  });

  it("in the legacy format gets another tool name if the app already has its name", () => {
    const legacy = { name: "Flow", toolName: "go", toolDescription: "Goes.", nodes: [] };
    const { draft, notes } = importInput(legacy, "go");
    expect(draft.nodes).toMatchObject([{ parameters: { toolName: "go_2" } }]);
    expect(notes.join()).toContain("go_2");
  });

  it("keeps the first of several equal edges, and reports the removed ones", () => {
    const nodes = [
      { id: "a", type: "UserIntent", name: "Go", parameters: { toolDescription: "Goes." } },
      { id: "b", type: "Return", name: "End" },
    ];
    const edge = { source: "a", target: "b" };
    const { draft, notes } = importInput({
      name: "Flow",
      nodes,
      edges: [edge, { ...edge, id: "x" }],
    });
    expect(draft.edges).toMatchObject([{ id: "new-1", ...edge }]);
    expect(notes).toEqual(["edges: Go was connected to End twice; the second edge is removed."]);
  });

  it("is rejected with an error that lists every problem", () => {
    expect(() => importInput([])).toThrow("must be an object with a flow");
    try {
      importInput({ nodes: [{ id: 1 }], edges: 5 });
      expect.unreachable();
    } catch (error) {
      expect((error as RequestError).errors.map(({ path }) => path)).toEqual(
        expect.arrayContaining(["name", "nodes[0].id", "edges"]),
      );
    }
  });

  it("becomes a draft that can be stored, or is rejected, for any input", () => {
    const node = fc.record(
      {
        id: fc.oneof(fc.constantFrom<Json>("a", "b", 1), fc.jsonValue()),
        type: fc.constantFrom("UserIntent", "Return", "Nonsense"),
        name: fc.string(),
        slug: fc.constantFrom("a", "trigger", "A!"),
        parameters: fc.dictionary(
          fc.constantFrom("toolName", "toolDescription", "x"),
          fc.oneof(fc.constantFrom("go", ""), fc.jsonValue()),
        ),
      },
      { requiredKeys: [] },
    );
    const flow = fc.record(
      {
        name: fc.string({ minLength: 1 }),
        toolName: fc.oneof(fc.constant("go"), fc.jsonValue()),
        nodes: fc.array(node, { maxLength: 4 }),
        edges: fc.array(fc.record({ source: fc.constant("a"), target: fc.constantFrom("a", "b") })),
      },
      { requiredKeys: ["name"] },
    );
    fc.assert(
      fc.property(flow, (input) => {
        try {
          const takenNames = new Set(["go"]);
          const { draft } = importDraft(input as Json, nodeTypes, takenNames, counter());
          const { toolNames } = finishDraft(draft, draft.nodes, takenNames, nodeTypes);
          const names = toolNames.map(({ name }) => name);
          expect(new Set([...names, "go"]).size).toBe(names.length + 1);
        } catch (error) {
          if (!(error instanceof RequestError)) throw error;
        }
      }),
    );
  });
});
