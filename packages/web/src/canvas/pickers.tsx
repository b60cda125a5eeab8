/** The dialogs of the canvas with a list: add a node, find a node, connect a node to another. */

import { canConnect } from "./edit-model.ts";
import { gistOf } from "./gist.ts";
import type { Graph, Port } from "./graph.ts";
import { NodeIcon } from "./node-icon.tsx";
import { definitionOf, inPortsOf, outPortsOf, registry } from "./node-kinds.ts";
import { PickDialog, type PickEntry } from "./pick-dialog.tsx";

export type PickerKind =
  | { kind: "add"; from?: Port | undefined }
  | { kind: "find" }
  | { kind: "connect"; node: string };

const GROUPS = {
  trigger: "Triggers",
  action: "Actions",
  logic: "Logic",
  data: "Data",
  result: "Result",
} as const;

export function Pickers({
  picker,
  graph,
  onClose,
  onAdd,
  onShow,
  onConnect,
}: {
  picker: PickerKind;
  graph: Graph;
  onClose: () => void;
  onAdd: (type: string, from?: Port) => void;
  onShow: (id: string) => void;
  onConnect: (from: Port, to: Port) => void;
}) {
  if (picker.kind === "add") {
    const { from } = picker;
    const entries = [...registry.values()]
      .filter(({ kind }) => !from || kind !== "trigger")
      .map(
        ({ type, title, description, kind }): PickEntry => ({
          key: type,
          label: title,
          note: description,
          icon: <NodeIcon type={type} />,
          group: GROUPS[kind],
          keywords: [type],
          onPick: () => onAdd(type, from),
        }),
      );
    const previousNode = from && graph.nodes.find(({ id }) => id === from.node)?.name;
    return (
      <PickDialog
        title={previousNode ? `Add a node after ${previousNode}` : "Add a node"}
        placeholder="Search the node types"
        hint={from && "A trigger cannot follow a node. Deselect the node to add a trigger."}
        entries={entries}
        onClose={onClose}
      />
    );
  }
  if (picker.kind === "find")
    return (
      <PickDialog
        title="Find a node"
        placeholder="Names and parameters"
        entries={graph.nodes.map((node) => ({
          key: node.id,
          label: node.name,
          note: gistOf(node) || definitionOf(node)?.title,
          icon: <NodeIcon type={node.type} />,
          keywords: [node.slug, node.type, JSON.stringify(node.parameters)],
          onPick: () => onShow(node.id),
        }))}
        empty="This flow has no nodes yet."
        onClose={onClose}
      />
    );
  return (
    <PickDialog
      title={`Connect ${graph.nodes.find(({ id }) => id === picker.node)?.name ?? ""} to`}
      placeholder="Search the nodes"
      entries={possibleEdges(graph, picker.node, onConnect)}
      empty="This node cannot be connected to any other node."
      onClose={onClose}
    />
  );
}

/** Returns one entry for each new edge that can start at the node. */
function possibleEdges(
  graph: Graph,
  id: string,
  onConnect: (from: Port, to: Port) => void,
): PickEntry[] {
  const source = graph.nodes.find((node) => node.id === id);
  if (!source) return [];
  return outPortsOf(source).flatMap((port, _, ports) =>
    graph.nodes.flatMap((target) =>
      inPortsOf(target).flatMap((input, __, inputs): PickEntry[] => {
        const from = { node: id, port };
        const to = { node: target.id, port: input };
        if (!canConnect(graph, from, to)) return [];
        return [
          {
            key: `${port} ${target.id} ${input}`,
            label: inputs.length > 1 ? `${target.name} (${input})` : target.name,
            note: definitionOf(target)?.title,
            icon: <NodeIcon type={target.type} />,
            ...(ports.length > 1 && { group: `From ${port}` }),
            onPick: () => onConnect(from, to),
          },
        ];
      }),
    ),
  );
}
