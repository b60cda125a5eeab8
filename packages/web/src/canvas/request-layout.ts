/** Computes the layout in a web worker, since it takes long for a large graph. */
import type { Graph, Point } from "./graph.ts";
import type { LayoutInput } from "./layout.ts";
import { outPortsOf } from "./node-kinds.ts";

/** Approximate heights in pixels; see canvas.css. */
const TILE_HEIGHT = 74;
const PORT_HEIGHT = 22;
const PLATE_HEIGHT = 36;

const heightOf = (node: Graph["nodes"][number], isTrigger: boolean): number => {
  const ports = outPortsOf(node).filter((port) => port !== "error").length;
  return TILE_HEIGHT + (ports > 1 ? ports * PORT_HEIGHT + 8 : 0) + (isTrigger ? PLATE_HEIGHT : 0);
};

export function requestLayout(
  graph: Pick<Graph, "nodes" | "edges">,
): Promise<Record<string, Point>> {
  const targets = new Set(graph.edges.map(({ target }) => target));
  const input: LayoutInput = {
    nodes: graph.nodes.map((node) => ({
      id: node.id,
      height: heightOf(node, !targets.has(node.id)),
    })),
    edges: graph.edges.map(({ source, target }) => ({ source, target })),
  };
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./layout-worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Record<string, Point>>) => {
      worker.terminate();
      resolve(data);
    };
    worker.onerror = (event) => {
      worker.terminate();
      reject(new Error(event.message || "The layout could not be computed."));
    };
    worker.postMessage(input);
  });
}

export { needsLayout } from "./node-positions.ts";
