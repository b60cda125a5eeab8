/** Positions for new nodes. */
import type { FlowNode, Graph, Point, Port } from "./graph.ts";

/** The distance between neighbouring nodes. */
const STEP: Point = { x: 278, y: 118 };
const PASTE_STEP = 40;

type PositionedNode = Pick<FlowNode, "id" | "position">;

const key = ({ x, y }: Point): string => `${x} ${y}`;

/** Returns the wanted position, or the next free one below it. */
function freePosition(nodes: readonly PositionedNode[], wanted: Point): Point {
  const position = { ...wanted };
  const isTaken = () =>
    nodes.some(
      (node) =>
        Math.abs(node.position.x - position.x) < STEP.x - 40 &&
        Math.abs(node.position.y - position.y) < STEP.y - 20,
    );
  while (isTaken()) position.y += STEP.y;
  return position;
}

/** Returns a free position to the right of the node of `from`; without `from`, at or below `fallback`. */
export function newPosition(
  { nodes }: Pick<Graph, "nodes">,
  from: Port | undefined,
  fallback: Point,
): Point {
  const source = nodes.find(({ id }) => id === from?.node);
  return freePosition(
    nodes,
    source
      ? { x: source.position.x + STEP.x, y: source.position.y }
      : { x: Math.round(fallback.x), y: Math.round(fallback.y) },
  );
}

export interface Area {
  from: Point;
  to: Point;
}

/**
 * The offset of pasted nodes from the originals: a small step if the originals are visible; otherwise
 * it centers the copies in the visible area. No copy covers a node exactly.
 */
export function pasteOffset(
  { nodes }: Pick<Graph, "nodes">,
  copied: readonly PositionedNode[],
  visible: Area,
): Point {
  const xs = copied.map(({ position }) => position.x);
  const ys = copied.map(({ position }) => position.y);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const isVisible =
    left >= visible.from.x && left <= visible.to.x && top >= visible.from.y && top <= visible.to.y;
  const offset = isVisible
    ? { x: PASTE_STEP, y: PASTE_STEP }
    : {
        x: Math.round((visible.from.x + visible.to.x - left - Math.max(...xs) - STEP.x) / 2),
        y: Math.round((visible.from.y + visible.to.y - top - Math.max(...ys) - STEP.y) / 2),
      };
  const taken = new Set(nodes.map(({ position }) => key(position)));
  const covers = () =>
    copied.some(({ position: { x, y } }) => taken.has(key({ x: x + offset.x, y: y + offset.y })));
  while (covers()) {
    offset.x += PASTE_STEP;
    offset.y += PASTE_STEP;
  }
  return offset;
}

/** Returns the nodes that have the same position as a node before them. */
function stackedNodes(nodes: readonly PositionedNode[]): PositionedNode[] {
  const taken = new Set<string>();
  return nodes.filter(({ position }) => {
    const isStacked = taken.has(key(position));
    taken.add(key(position));
    return isStacked;
  });
}

/** The hub gives all nodes without a position the same one. If most nodes have it, the flow has no layout. */
export const needsLayout = ({ nodes }: { nodes: readonly PositionedNode[] }): boolean =>
  nodes.length > 1 && stackedNodes(nodes).length >= nodes.length / 2;

/** Returns new positions for the nodes that have the same position as another node. */
export function unstack(nodes: readonly PositionedNode[]): Record<string, Point> {
  const positions: Record<string, Point> = {};
  const placed = [...nodes];
  for (const stacked of stackedNodes(nodes)) {
    const position = freePosition(placed, stacked.position);
    positions[stacked.id] = position;
    placed.push({ id: stacked.id, position });
  }
  return positions;
}
