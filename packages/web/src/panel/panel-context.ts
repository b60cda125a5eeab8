/** What the fields of a node's form need to know of the flow around the node. */
import { createContext, useContext } from "react";

export interface PanelContext {
  /** Asks for a reference to insert; undefined in triggers, which have none. */
  onReference: ((insert: (reference: string) => void) => void) | undefined;
  /** The messages about a parameter, by its path. */
  problems: ReadonlyMap<string, string>;
}

const Context = createContext<PanelContext>({ onReference: undefined, problems: new Map() });
export const PanelProvider = Context.Provider;
export const usePanel = () => useContext(Context);
