/** Where new tiles stand. */
import type { FlowNode, Graph, Point, Port } from "./graph.ts";

/** From one tile to the next. */
const STEP: Point = { x: 278, y: 118 };
const PASTE_STEP = 40;

type Placed = Pick<FlowNode, "id" | "position">;

const key = ({ x, y }: Point): string => `${x} ${y}`;

/** The wanted spot, or the next one below it that is free. */
function freeSpot(nodes: readonly Placed[], wanted: Point): Point {
  const spot = { ...wanted };
  const isTaken = () =>
    nodes.some(
      ({ position }) =>
        Math.abs(position.x - spot.x) < STEP.x - 40 && Math.abs(position.y - spot.y) < STEP.y - 20,
    );
  while (isTaken()) spot.y += STEP.y;
  return spot;
}

/** To the right of the node that it follows, or near `fallback`. */
export function newPosition(
  { nodes }: Pick<Graph, "nodes">,
  from: Port | undefined,
  fallback: Point,
): Point {
  const source = nodes.find(({ id }) => id === from?.node);
  return freeSpot(
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
  copied: readonly Placed[],
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

function stackedOf(nodes: readonly Placed[]): Placed[] {
  const taken = new Set<string>();
  return nodes.filter(({ position }) => {
    const isStacked = taken.has(key(position));
    taken.add(key(position));
    return isStacked;
  });
}

/** The hub puts nodes without a position on one spot. If most are there, the flow has no layout. */
export const needsLayout = ({ nodes }: { nodes: readonly Placed[] }): boolean =>
  nodes.length > 1 && stackedOf(nodes).length >= nodes.length / 2;

/** New spots for the few nodes that another one covers. */
export function unstack(nodes: readonly Placed[]): Record<string, Point> {
  const to: Record<string, Point> = {};
  const placed = [...nodes];
  for (const stacked of stackedOf(nodes)) {
    const position = freeSpot(placed, stacked.position);
    to[stacked.id] = position;
    placed.push({ id: stacked.id, position });
  }
  return to;
}
