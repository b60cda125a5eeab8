/** The canvas itself: xyflow over the graph. Edits leave it as actions. */
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

const NOTHING: ReadonlySet<string> = new Set();
const NO_DATA: Record<string, never> = {};

const REMOVED = {
  selectable: false,
  draggable: false,
  connectable: false,
  focusable: false,
  ariaRole: "group",
} as const;
const isRemovedTile = ({ selectable }: TileNode): boolean => selectable === false;

function toTile(
  node: FlowNode,
  former: TileNode | undefined,
  selected: boolean,
  isRemoved: boolean,
): TileNode {
  const before = former && isRemovedTile(former) === isRemoved ? former : undefined;
  if (before && before.data.node === node && (before.selected ?? false) === selected) return before;
  return {
    ...before,
    id: node.id,
    type: "tile",
    position: node.position,
    data: { node },
    selected,
    ariaLabel: `${node.name}, ${definitionOf(node)?.title ?? node.type}`,
    ...(isRemoved && REMOVED),
  };
}

/** A large flow is drawn over several frames, so that the page responds meanwhile. */
const TILES_PER_FRAME = 8;

function useShare(total: number): number {
  const [count, setCount] = useState(TILES_PER_FRAME);
  useEffect(() => {
    if (count >= total) return;
    const frame = requestAnimationFrame(() => setCount(count + TILES_PER_FRAME));
    return () => cancelAnimationFrame(frame);
  }, [count, total]);
  return Math.min(count, total);
}

/** A drag changes tiles only; the graph gets the result, so that a drag is one edit. */
function useTiles(
  graph: Graph,
  selected: ReadonlySet<string>,
  removed: ReadonlySet<string>,
  share: number,
  onDrawn: (() => void) | undefined,
) {
  const [tiles, setTiles] = useState<TileNode[]>([]);
  useEffect(() => {
    setTiles((before) => {
      const old = new Map(before.map((tile) => [tile.id, tile]));
      return graph.nodes
        .slice(0, share)
        .map((node) => toTile(node, old.get(node.id), selected.has(node.id), removed.has(node.id)));
    });
  }, [graph.nodes, selected, removed, share]);
  const isDrawn = share === graph.nodes.length;
  const wasDrawn = useRef(false);
  useEffect(() => {
    if (!isDrawn || wasDrawn.current) return;
    wasDrawn.current = true;
    onDrawn?.();
  }, [isDrawn, onDrawn]);
  return [tiles, setTiles] as const;
}

const GHOST = { selectable: false, focusable: false };

/** An edge that has not changed stays the same object, so that it is not drawn again. */
function useTracks(
  { nodes, edges }: Graph,
  selected: ReadonlySet<string>,
  share: number,
): TrackEdge[] {
  const drawn = useRef<ReadonlyMap<string, { edge: FlowEdge; track: TrackEdge }>>(new Map());
  return useMemo(() => {
    const names = new Map(nodes.slice(0, share).map(({ id, name }) => [id, name]));
    const joined = edges.filter(({ source, target }) => names.has(source) && names.has(target));
    const next = joined.map((edge) => {
      const ariaLabel = labelOf(edge, names);
      const isSelected = selected.has(edge.id);
      const before = drawn.current.get(edge.id);
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
        ...(isRemovedEdge(edge.id) && GHOST),
      };
      return { edge, track };
    });
    drawn.current = new Map(next.map((each) => [each.edge.id, each]));
    return next.map(({ track }) => track);
  }, [nodes, edges, selected, share]);
}

/** `Is it a bug? (true) to Add the label` */
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
  removed = NOTHING,
  selection,
  onSelect,
  onEdit,
  onHover,
  onOpen,
  onDrawn,
  newId,
  children,
}: {
  graph: Graph;
  /** Nodes that the draft no longer has: shown for comparison only. */
  removed?: ReadonlySet<string>;
  selection: Selection;
  onSelect: (change: (before: Selection) => Selection) => void;
  /** Undefined: the page only shows the flow. */
  onEdit?: ((action: EditAction) => void) | undefined;
  onHover: (node: string | undefined) => void;
  onOpen: (node: string) => void;
  /** All tiles are there for the first time: the view can be fitted. */
  onDrawn?: (() => void) | undefined;
  newId: () => string;
  children?: ReactNode;
}) {
  const share = useShare(graph.nodes.length);
  const [tiles, setTiles] = useTiles(graph, selection.nodes, removed, share, onDrawn);
  const edges = useTracks(graph, selection.edges, share);
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
  // The canvas draws every tile again if one of these functions is another one.
  const latest = useRef(graph);
  latest.current = graph;
  const isValid = useCallback(
    ({ source, sourceHandle, target, targetHandle }: Connection | TrackEdge) =>
      canConnect(
        latest.current,
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
  const onDouble = useCallback((_: unknown, { id }: TileNode) => onOpen(id), [onOpen]);
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
      onNodeDoubleClick={onDouble}
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
