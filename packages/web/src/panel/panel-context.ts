/** What the fields of a node's form need to know of the flow around the node. */
import { createContext, useContext } from "react";

export interface ReferenceRequest {
  /** The path of the field in the node's parameters. */
  at: string;
  /** Code has its own way to write references; undefined: a template. */
  language?: "javascript" | "jsonata" | undefined;
  insert: (reference: string) => void;
}

export interface PanelContext {
  /** Asks for a reference to insert; undefined in triggers, which have none. */
  onReference: ((request: ReferenceRequest) => void) | undefined;
  /** The messages about a parameter, by its path. */
  problems: ReadonlyMap<string, string>;
}

const Context = createContext<PanelContext>({ onReference: undefined, problems: new Map() });
export const PanelProvider = Context.Provider;
export const usePanel = () => useContext(Context);
