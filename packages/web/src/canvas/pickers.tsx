/** The lists of the canvas: what to add, which node to find, and where to connect to. */

import { canConnect } from "./edit-model.ts";
import { gistOf } from "./gist.ts";
import type { Graph, Port } from "./graph.ts";
import { NodeIcon } from "./node-icon.tsx";
import { definitionOf, inPortsOf, outPortsOf, registry } from "./node-kinds.ts";
import { type Pick, PickDialog } from "./pick-dialog.tsx";

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
    const picks = [...registry.values()]
      .filter(({ kind }) => !from || kind !== "trigger")
      .map(
        ({ type, title, description, kind }): Pick => ({
          key: type,
          label: title,
          note: description,
          icon: <NodeIcon type={type} />,
          group: GROUPS[kind],
          keywords: [type],
          onPick: () => onAdd(type, from),
        }),
      );
    const after = from && graph.nodes.find(({ id }) => id === from.node)?.name;
    return (
      <PickDialog
        title={after ? `Add a node after ${after}` : "Add a node"}
        placeholder="Search the library"
        hint={from && "A trigger cannot follow a node. Deselect the node to add one."}
        picks={picks}
        onClose={onClose}
      />
    );
  }
  if (picker.kind === "find")
    return (
      <PickDialog
        title="Find a node"
        placeholder="Names and parameters"
        picks={graph.nodes.map((node) => ({
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
      picks={connections(graph, picker.node, onConnect)}
      empty="No node can follow this one."
      onClose={onClose}
    />
  );
}

function connections(graph: Graph, id: string, onConnect: (from: Port, to: Port) => void): Pick[] {
  const source = graph.nodes.find((node) => node.id === id);
  if (!source) return [];
  return outPortsOf(source).flatMap((port, _, ports) =>
    graph.nodes.flatMap((target) =>
      inPortsOf(target).flatMap((into, __, inputs): Pick[] => {
        const from = { node: id, port };
        const to = { node: target.id, port: into };
        if (!canConnect(graph, from, to)) return [];
        return [
          {
            key: `${port} ${target.id} ${into}`,
            label: inputs.length > 1 ? `${target.name} (${into})` : target.name,
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
