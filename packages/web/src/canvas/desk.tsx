/** The canvas itself: xyflow over the graph. Edits leave it as actions. */
import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  type Connection,
  MiniMap,
  type NodeChange,
  ReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import "./canvas.css";
import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { canConnect, type EditAction } from "./edit-model.ts";
import type { FlowNode, Graph, Point } from "./graph.ts";
import { definitionOf } from "./node-kinds.ts";
import { Tile, type TileNode } from "./tile-node.tsx";
import { type TrackEdge, TrackLine } from "./track-edge.tsx";

const NODE_TYPES = { tile: Tile };
const EDGE_TYPES = { track: TrackLine };

export interface Selection {
  nodes: ReadonlySet<string>;
  edges: ReadonlySet<string>;
}

const toTile = (node: FlowNode, before: TileNode | undefined, selected: boolean): TileNode =>
  before && before.data.node === node && (before.selected ?? false) === selected
    ? before
    : {
        ...before,
        id: node.id,
        type: "tile",
        position: node.position,
        data: { node },
        selected,
        ariaLabel: `${node.name}, ${definitionOf(node)?.title ?? node.type}`,
      };

/** A drag changes tiles only; the graph gets the result, so that a drag is one edit. */
function useTiles(graph: Graph, selected: ReadonlySet<string>) {
  const [tiles, setTiles] = useState<TileNode[]>([]);
  useEffect(() => {
    setTiles((before) => {
      const old = new Map(before.map((tile) => [tile.id, tile]));
      return graph.nodes.map((node) => toTile(node, old.get(node.id), selected.has(node.id)));
    });
  }, [graph.nodes, selected]);
  return [tiles, setTiles] as const;
}

const toPort = (node: string | null, port: string | null | undefined, fallback: string) => ({
  node: node ?? "",
  port: port ?? fallback,
});

export function DeskView({
  graph,
  selection,
  onSelect,
  onEdit,
  onHover,
  onOpen,
  newId,
  children,
}: {
  graph: Graph;
  selection: Selection;
  onSelect: (change: (before: Selection) => Selection) => void;
  /** Undefined: the page only shows the flow. */
  onEdit?: ((action: EditAction) => void) | undefined;
  onHover: (node: string | undefined) => void;
  onOpen: (node: string) => void;
  newId: () => string;
  children?: ReactNode;
}) {
  const [tiles, setTiles] = useTiles(graph, selection.nodes);
  const edges = useMemo(
    (): TrackEdge[] =>
      graph.edges.map((edge) => ({
        ...edge,
        type: "track",
        data: {},
        selected: selection.edges.has(edge.id),
      })),
    [graph.edges, selection.edges],
  );
  const select = useCallback(
    (kind: keyof Selection, changes: readonly { id: string; selected: boolean }[]) => {
      if (changes.length === 0) return;
      onSelect((before) => {
        const next = new Set(before[kind]);
        for (const { id, selected } of changes) selected ? next.add(id) : next.delete(id);
        return { ...before, [kind]: next };
      });
    },
    [onSelect],
  );
  const onNodesChange = useCallback(
    (changes: NodeChange<TileNode>[]) => {
      setTiles((before) =>
        applyNodeChanges(
          changes.filter(({ type }) => type === "position" || type === "dimensions"),
          before,
        ),
      );
      select(
        "nodes",
        changes.filter((change) => change.type === "select"),
      );
      const to: Record<string, Point> = {};
      for (const change of changes)
        if (change.type === "position" && change.position && !change.dragging)
          to[change.id] = { x: Math.round(change.position.x), y: Math.round(change.position.y) };
      if (Object.keys(to).length > 0) onEdit?.({ do: "move", to, at: Date.now() });
    },
    [onEdit, select, setTiles],
  );
  const isValid = useCallback(
    ({ source, sourceHandle, target, targetHandle }: Connection | TrackEdge) =>
      canConnect(graph, toPort(source, sourceHandle, "out"), toPort(target, targetHandle, "in")),
    [graph],
  );
  return (
    <ReactFlow<TileNode, TrackEdge>
      nodes={tiles}
      edges={edges}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      onNodesChange={onNodesChange}
      onEdgesChange={(changes) =>
        select(
          "edges",
          changes.filter((change) => change.type === "select"),
        )
      }
      onConnect={({ source, sourceHandle, target, targetHandle }) =>
        onEdit?.({
          do: "connect",
          id: newId(),
          from: toPort(source, sourceHandle, "out"),
          to: toPort(target, targetHandle, "in"),
        })
      }
      isValidConnection={isValid}
      onNodeMouseEnter={(_, { id }) => onHover(id)}
      onNodeMouseLeave={() => onHover(undefined)}
      onNodeDoubleClick={(_, { id }) => onOpen(id)}
      nodesDraggable={onEdit !== undefined}
      nodesConnectable={onEdit !== undefined}
      deleteKeyCode={null}
      multiSelectionKeyCode={["Shift", "Meta", "Control"]}
      minZoom={0.15}
      maxZoom={2}
      snapToGrid
      snapGrid={SNAP}
      onlyRenderVisibleElements={graph.nodes.length > 100}
      zoomOnDoubleClick={false}
      aria-label="Flow canvas"
    >
      <Background variant={BackgroundVariant.Lines} gap={32} lineWidth={1} color="var(--seam)" />
      <MiniMap<TileNode>
        pannable
        zoomable
        position="bottom-right"
        ariaLabel="Map of the flow"
        style={MAP_SIZE}
        nodeColor={({ data }) =>
          definitionOf(data.node)?.kind === "trigger" ? "var(--blue)" : "var(--ink-3)"
        }
        nodeBorderRadius={8}
      />
      {children}
    </ReactFlow>
  );
}

const SNAP: [number, number] = [4, 4];
const MAP_SIZE = { width: 176, height: 96 };
