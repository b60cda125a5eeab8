/** A React context for the fields of a node's form: the problems of parameters, and the reference dialog. */
import { createContext, useContext } from "react";

export interface ReferenceRequest {
  /** The path of the field in the node's parameters. */
  path: string;
  /** The language of the code in the field. If undefined, the reference is a template. */
  language?: "javascript" | "jsonata" | undefined;
  insert: (reference: string) => void;
}

export interface PanelContext {
  /** Opens the reference dialog. Undefined for triggers, because their parameters cannot have references. */
  onReference: ((request: ReferenceRequest) => void) | undefined;
  /** Error and warning messages, by the path of the parameter. */
  problems: ReadonlyMap<string, string>;
}

const Context = createContext<PanelContext>({ onReference: undefined, problems: new Map() });
export const PanelProvider = Context.Provider;
export const usePanel = () => useContext(Context);
