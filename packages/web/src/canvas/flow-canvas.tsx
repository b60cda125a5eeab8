/** Renders the graph with xyflow: nodes as tiles, edges as tracks. Reports edits as actions. */
import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  type Connection,
  type EdgeChange,
  MiniMap,
  type NodeChange,
  ReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import "./canvas.css";
import { memo, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { isRemovedEdge } from "./diff.ts";
import { canConnect, type EditAction } from "./edit-model.ts";
import type { FlowEdge, FlowNode, Graph, Point } from "./graph.ts";
import { definitionOf } from "./node-kinds.ts";
import { Tile, type TileNode } from "./tile-node.tsx";
import { type TrackEdge, TrackLine } from "./track-edge.tsx";

const NODE_TYPES = { tile: Tile };
const EDGE_TYPES = { track: TrackLine };

export interface Selection {
  nodes: ReadonlySet<string>;
  edges: ReadonlySet<string>;
}

const NO_NODES: ReadonlySet<string> = new Set();
const NO_DATA: Record<string, never> = {};

const REMOVED_TILE = {
  selectable: false,
  draggable: false,
  connectable: false,
  focusable: false,
  ariaRole: "group",
} as const;
const isRemovedTile = ({ selectable }: TileNode): boolean => selectable === false;

/** Returns the former tile if nothing has changed, so that it is not rendered again. */
function toTile(
  node: FlowNode,
  former: TileNode | undefined,
  selected: boolean,
  isRemoved: boolean,
): TileNode {
  const reusable = former && isRemovedTile(former) === isRemoved ? former : undefined;
  if (reusable && reusable.data.node === node && (reusable.selected ?? false) === selected)
    return reusable;
  return {
    ...reusable,
    id: node.id,
    type: "tile",
    position: node.position,
    data: { node },
    selected,
    ariaLabel: `${node.name}, ${definitionOf(node)?.title ?? node.type}`,
    ...(isRemoved && REMOVED_TILE),
  };
}

/** A large flow is rendered over several frames, so that the page stays responsive. */
const TILES_PER_FRAME = 8;

/** Returns how many of the nodes are rendered in this frame. */
function useRenderedCount(total: number): number {
  const [count, setCount] = useState(TILES_PER_FRAME);
  useEffect(() => {
    if (count >= total) return;
    const frame = requestAnimationFrame(() => setCount(count + TILES_PER_FRAME));
    return () => cancelAnimationFrame(frame);
  }, [count, total]);
  return Math.min(count, total);
}

/** While a node is dragged, only its tile moves. The graph changes at the end, so that a drag is one edit. */
function useTiles(
  graph: Graph,
  selected: ReadonlySet<string>,
  removed: ReadonlySet<string>,
  renderedCount: number,
  onRendered: (() => void) | undefined,
) {
  const [tiles, setTiles] = useState<TileNode[]>([]);
  useEffect(() => {
    setTiles((before) => {
      const tilesById = new Map(before.map((tile) => [tile.id, tile]));
      return graph.nodes
        .slice(0, renderedCount)
        .map((node) =>
          toTile(node, tilesById.get(node.id), selected.has(node.id), removed.has(node.id)),
        );
    });
  }, [graph.nodes, selected, removed, renderedCount]);
  const isRendered = renderedCount === graph.nodes.length;
  const wasRendered = useRef(false);
  useEffect(() => {
    if (!isRendered || wasRendered.current) return;
    wasRendered.current = true;
    onRendered?.();
  }, [isRendered, onRendered]);
  return [tiles, setTiles] as const;
}

const REMOVED_TRACK = { selectable: false, focusable: false };

/** An unchanged edge keeps its track object, so that it is not rendered again. */
function useTracks(
  { nodes, edges }: Graph,
  selected: ReadonlySet<string>,
  renderedCount: number,
): TrackEdge[] {
  const previous = useRef<ReadonlyMap<string, { edge: FlowEdge; track: TrackEdge }>>(new Map());
  return useMemo(() => {
    const names = new Map(nodes.slice(0, renderedCount).map(({ id, name }) => [id, name]));
    const rendered = edges.filter(({ source, target }) => names.has(source) && names.has(target));
    const next = rendered.map((edge) => {
      const ariaLabel = labelOf(edge, names);
      const isSelected = selected.has(edge.id);
      const before = previous.current.get(edge.id);
      if (
        before?.edge === edge &&
        before.track.ariaLabel === ariaLabel &&
        before.track.selected === isSelected
      )
        return before;
      const track: TrackEdge = {
        ...edge,
        type: "track",
        data: NO_DATA,
        selected: isSelected,
        ariaLabel,
        ...(isRemovedEdge(edge.id) && REMOVED_TRACK),
      };
      return { edge, track };
    });
    previous.current = new Map(next.map((entry) => [entry.edge.id, entry]));
    return next.map(({ track }) => track);
  }, [nodes, edges, selected, renderedCount]);
}

/** Returns a label for screen readers, such as `Is it a bug? (true) to Add the label`. */
function labelOf({ source, sourceHandle, target }: FlowEdge, names: ReadonlyMap<string, string>) {
  const port = sourceHandle === "out" ? "" : ` (${sourceHandle})`;
  return `${names.get(source) ?? source}${port} to ${names.get(target) ?? target}`;
}

const toPort = (node: string | null, port: string | null | undefined, fallback: string) => ({
  node: node ?? "",
  port: port ?? fallback,
});

export const FlowCanvas = memo(function FlowCanvas({
  graph,
  removed = NO_NODES,
  selection,
  onSelect,
  onEdit,
  onHover,
  onOpen,
  onRendered,
  newId,
  children,
}: {
  graph: Graph;
  /** Ids of nodes that the draft no longer has, and that are shown only for comparison. */
  removed?: ReadonlySet<string>;
  selection: Selection;
  onSelect: (change: (before: Selection) => Selection) => void;
  /** Undefined if the canvas is read-only. */
  onEdit?: ((action: EditAction) => void) | undefined;
  onHover: (node: string | undefined) => void;
  onOpen: (node: string) => void;
  /** Called once, when all tiles are rendered: the view can be fitted then. */
  onRendered?: (() => void) | undefined;
  newId: () => string;
  children?: ReactNode;
}) {
  const renderedCount = useRenderedCount(graph.nodes.length);
  const [tiles, setTiles] = useTiles(graph, selection.nodes, removed, renderedCount, onRendered);
  const edges = useTracks(graph, selection.edges, renderedCount);
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
      const positions: Record<string, Point> = {};
      for (const change of changes)
        if (change.type === "position" && change.position && !change.dragging)
          positions[change.id] = {
            x: Math.round(change.position.x),
            y: Math.round(change.position.y),
          };
      if (Object.keys(positions).length > 0)
        onEdit?.({ do: "move", to: positions, at: Date.now() });
    },
    [onEdit, select, setTiles],
  );
  // The callbacks below keep their identity: xyflow renders every tile again if one of them changes.
  const latestGraph = useRef(graph);
  latestGraph.current = graph;
  const isValid = useCallback(
    ({ source, sourceHandle, target, targetHandle }: Connection | TrackEdge) =>
      canConnect(
        latestGraph.current,
        toPort(source, sourceHandle, "out"),
        toPort(target, targetHandle, "in"),
      ),
    [],
  );
  const onEdgesChange = useCallback(
    (changes: EdgeChange<TrackEdge>[]) =>
      select(
        "edges",
        changes.filter((change) => change.type === "select"),
      ),
    [select],
  );
  const onConnect = useCallback(
    ({ source, sourceHandle, target, targetHandle }: Connection) =>
      onEdit?.({
        do: "connect",
        id: newId(),
        from: toPort(source, sourceHandle, "out"),
        to: toPort(target, targetHandle, "in"),
      }),
    [onEdit, newId],
  );
  const onEnter = useCallback((_: unknown, { id }: TileNode) => onHover(id), [onHover]);
  const onLeave = useCallback(() => onHover(undefined), [onHover]);
  const onDoubleClick = useCallback((_: unknown, { id }: TileNode) => onOpen(id), [onOpen]);
  return (
    <ReactFlow<TileNode, TrackEdge>
      nodes={tiles}
      edges={edges}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      onNodesChange={onNodesChange}
      onEdgesChange={onEdgesChange}
      onConnect={onConnect}
      isValidConnection={isValid}
      onNodeMouseEnter={onEnter}
      onNodeMouseLeave={onLeave}
      onNodeDoubleClick={onDoubleClick}
      nodesDraggable={onEdit !== undefined}
      nodesConnectable={onEdit !== undefined}
      deleteKeyCode={null}
      multiSelectionKeyCode={MULTI_KEYS}
      minZoom={0.15}
      maxZoom={2}
      snapToGrid
      snapGrid={SNAP}
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
        nodeColor={colorOf}
        nodeBorderRadius={8}
      />
      {children}
    </ReactFlow>
  );
});

const colorOf = ({ data }: TileNode) =>
  definitionOf(data.node)?.kind === "trigger" ? "var(--blue)" : "var(--ink-3)";
const MULTI_KEYS = ["Shift", "Meta", "Control"];
const SNAP: [number, number] = [4, 4];
const MAP_SIZE = { width: 176, height: 96 };
