/** What tiles and tracks show beyond the graph itself. */
import { createContext, useContext } from "react";
import type { Diff } from "./diff.ts";
import type { Port } from "./graph.ts";
import { NO_ROUTE, type Route } from "./route.ts";
import type { NodeState } from "./run-states.ts";

export interface Problem {
  message: string;
  isError: boolean;
}

export interface CanvasState {
  route: Route;
  problems: ReadonlyMap<string, readonly Problem[]>;
  states: ReadonlyMap<string, NodeState>;
  diff: Diff | undefined;
  /** Node ids whose output is pinned. */
  pinned: ReadonlySet<string>;
  /** Opens the library for what follows an output. Undefined on a page that only shows. */
  onAdd: ((from: Port) => void) | undefined;
  /** The name of a source of events; the source itself if it is not given. */
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
