/** Nodes, edges and a sample flow in the format of the API. */
export const intent = (name: string, parameters: Record<string, unknown> = {}) => ({
  id: `intent ${name}`,
  type: "UserIntent",
  name,
  parameters: { toolDescription: `Does ${name}.`, ...parameters },
});

export const node = (id: string, type: string, parameters: Record<string, unknown> = {}) => ({
  id,
  type,
  name: id,
  parameters,
});

export const edge = (source: string, target: string, sourceHandle?: string) => ({
  source,
  target,
  ...(sourceHandle && { sourceHandle }),
});

/** A flow that greets a person by name. */
export const greeting = {
  name: "Greeting",
  nodes: [
    intent("Say hello", { parameters: [{ name: "who", type: "string" }] }),
    node("end", "Return", { value: { text: "Hello {{ trigger.who }}!" } }),
  ],
  edges: [edge("intent Say hello", "end")],
};
