/** The state that tiles (nodes) and tracks (edges) show in addition to the graph. */
import { createContext, useContext } from "react";
import type { Diff } from "./diff.ts";
import type { Port } from "./graph.ts";
import { NO_ROUTE, type Route } from "./route.ts";
import type { NodeState } from "./run-states.ts";

export interface NodeProblem {
  message: string;
  /** The message without the name of the node. */
  text: string;
  isError: boolean;
}

export interface CanvasState {
  route: Route;
  problems: ReadonlyMap<string, readonly NodeProblem[]>;
  states: ReadonlyMap<string, NodeState>;
  diff: Diff | undefined;
  /** The ids of the nodes whose output is pinned. */
  pinned: ReadonlySet<string>;
  /** Opens the list of node types, to add a node after this output. Undefined on a read-only canvas. */
  onAdd: ((from: Port) => void) | undefined;
  /** Returns the display name of a source of events. Without it, the source itself is shown. */
  nameOf?: (source: string) => string;
}

export const CanvasContext = createContext<CanvasState>({
  route: NO_ROUTE,
  problems: new Map(),
  states: new Map(),
  diff: undefined,
  pinned: new Set(),
  onAdd: undefined,
});

export const useCanvasContext = () => useContext(CanvasContext);
