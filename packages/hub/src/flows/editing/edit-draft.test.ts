import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { checkToolName } from "@signalbox/rules/flows/tool-name.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nameTools, renameTakenTools } from "./edit-draft.ts";

const intent = (id: string, name: string, toolName?: unknown): FlowNode => ({
  id,
  type: "UserIntent",
  name,
  slug: id,
  position: { x: 0, y: 0 },
  parameters: toolName === undefined ? {} : { toolName: toolName as string },
});
const namesOf = (nodes: FlowNode[], before: FlowNode[] = [], takenNames: string[] = []) =>
  nameTools(nodes, before, nodeTypes, new Set(takenNames)).toolNames.map(({ name }) => name);

describe("the name of a tool", () => {
  it("is derived from the node's name, with the lowest unused number", () => {
    const twins = [intent("a", "Go"), intent("b", "Go!")];
    expect(namesOf(twins, [], ["go_2"])).toEqual(["go", "go_3"]);
    expect(namesOf([{ ...intent("a", "Go"), type: "Return" }])).toEqual([]);
  });

  it("takes precedence over derived names if the author has set it", () => {
    const { nodes, toolNames } = nameTools(
      [intent("a", "Go"), intent("b", "Else", "go")],
      [],
      nodeTypes,
      new Set(),
    );
    expect(nodes.map(({ parameters }) => parameters.toolName)).toEqual(["go_2", "go"]);
    expect(toolNames).toContainEqual({ name: "go", node_id: "b" });
  });

  it("stays if the node is not renamed, even if the edit omits it, but not if the edit empties it", () => {
    const before = [intent("a", "Go", "go_7")];
    expect(namesOf(before, before)).toEqual(["go_7"]);
    expect(namesOf([intent("a", "Go")], before)).toEqual(["go_7"]);
    expect(namesOf([intent("a", "Go", null)], before)).toEqual(["go_7"]);
    expect(namesOf([intent("a", "Go", "")], before)).toEqual(["go"]);
  });

  it("stays if it violates the current rule, but such a name is rejected for new tools", () => {
    const before = [intent("a", "Go", "GoThere")];
    expect(namesOf(before, before)).toEqual(["GoThere"]);
    expect(() => namesOf(before)).toThrow(/A tool name starts with a letter/);
    expect(() => namesOf([intent("a", "Go", 5)])).toThrow(/A tool name starts with a letter/);
  });

  it("changes with the node's name, unless the same edit sets a tool name", () => {
    const before = [intent("a", "Go", "go")];
    expect(namesOf([intent("a", "Stay", "go")], before)).toEqual(["stay"]);
    expect(namesOf([intent("a", "Stay")], before)).toEqual(["stay"]);
    expect(namesOf([intent("a", "Stay", "mine")], before)).toEqual(["mine"]);
  });

  it("avoids the aliases of other triggers of the flow, unless it was assigned before", () => {
    const callable = new Map([["go", "a"]]);
    const namesWithAlias = (nodes: FlowNode[], before: FlowNode[] = []) =>
      nameTools(nodes, before, nodeTypes, new Set(), callable).toolNames.map(({ name }) => name);
    const renamed = intent("a", "Stay", "stay");
    expect(namesWithAlias([renamed, intent("b", "Go")], [renamed])).toEqual(["stay", "go_2"]);
    expect(() => namesWithAlias([renamed, intent("b", "B", "go")], [renamed])).toThrow(
      "Tool name 'go' is still an alias of Stay",
    );
    // The owner may use the name again, and an existing assignment stays.
    expect(namesWithAlias([intent("a", "Go")], [renamed])).toEqual(["go"]);
    expect(namesWithAlias([intent("b", "Go")], [renamed])).toEqual(["go"]);
    const before = [renamed, intent("b", "Go", "go")];
    expect(namesWithAlias(before, before)).toEqual(["stay", "go"]);
  });

  it("is rejected if the author has set it and the app already has it", () => {
    const message = "Tool name 'go' already exists in this app";
    expect(() => namesOf([intent("a", "Go", "go")], [], ["go"])).toThrow(message);
    expect(() => namesOf([intent("a", "A", "go"), intent("b", "B", "go")])).toThrow(message);
  });

  it("is valid and unique, for any node names", () => {
    const names = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constant("Go")), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(
        names,
        fc.array(fc.constantFrom("go", "go_2", "tool")),
        (nodeNames, takenNames) => {
          const nodes = nodeNames.map((name, index) => intent(String(index), name));
          const named = nameTools(nodes, [], nodeTypes, new Set(takenNames));
          const toolNames = named.toolNames.map(({ name }) => name);
          expect(new Set([...toolNames, ...takenNames]).size).toBe(
            toolNames.length + new Set(takenNames).size,
          );
          for (const name of toolNames) expect(checkToolName(name)).toBeUndefined();
          // Naming the named nodes again changes nothing.
          expect(nameTools(named.nodes, named.nodes, nodeTypes, new Set(takenNames)).nodes).toEqual(
            named.nodes,
          );
        },
      ),
    );
  });
});

describe("imported tool names", () => {
  it("are kept, but renamed with a note if they are taken", () => {
    const nodes = [intent("a", "A", "Get"), intent("b", "B", "Get"), intent("c", "C")];
    const { nodes: renamed, notes } = renameTakenTools(nodes, nodeTypes, new Set(["other"]));
    expect(renamed.map(({ parameters }) => parameters.toolName)).toEqual([
      "Get",
      "Get_2",
      undefined,
    ]);
    expect(notes).toEqual(["toolName: the app already has a tool Get; this one is now Get_2."]);
    expect(
      renameTakenTools([intent("a", "A", "x")], nodeTypes, new Set(["x", "x_2"])).nodes,
    ).toEqual([intent("a", "A", "x_3")]);
  });
});
