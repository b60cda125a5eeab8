/** Creates and reads apps, flows and runs over the API of a running hub. */
import { expect } from "vitest";

export interface Node {
  id: string;
  type: string;
  name: string;
  parameters: Record<string, unknown>;
}
type Edge = [source: string, target: string, port?: string];

export interface FlowResponse {
  id: string;
  exposedTools: { nodeId: string; name: string }[];
  hasTriggers: boolean;
  warnings: { code: string; message: string }[];
}

export const intent = (
  id: string,
  name: string,
  parameters: Record<string, unknown>[] = [],
  more: Record<string, unknown> = {},
): Node => ({
  id,
  type: "UserIntent",
  name,
  parameters: { toolDescription: `What ${name} does.`, parameters, ...more },
});
export const returns = (id: string, value: unknown): Node => ({
  id,
  type: "Return",
  name: `Return ${id}`,
  parameters: { value },
});
export const waits = (id: string, seconds: unknown): Node => ({
  id,
  type: "Wait",
  name: `Wait ${id}`,
  parameters: { seconds },
});

export function createFlowMaker(url: string, token: string) {
  const call = async <Result>(method: string, path: string, body?: unknown): Promise<Result> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.ok, `${method} ${path}: ${response.status} ${text}`).toBe(true);
    return (text ? JSON.parse(text) : undefined) as Result;
  };
  const graph = (nodes: Node[], edges: Edge[]) => ({
    nodes,
    edges: edges.map(([source, target, sourceHandle = "out"]) => ({
      source,
      sourceHandle,
      target,
      targetHandle: "in",
    })),
  });
  return {
    call,
    app: (slug: string, more: object = {}) =>
      call<{ mcp_path: string }>("POST", "/api/apps", { slug, name: slug, ...more }),
    draft: (app: string, name: string, nodes: Node[], edges: Edge[] = []) =>
      call<FlowResponse>("POST", `/api/apps/${app}/flows`, { name, ...graph(nodes, edges) }),
    publish: (id: string) => call<FlowResponse>("POST", `/api/flows/${id}/publish`, {}),
    /** Creates and publishes a flow. */
    async flow(
      app: string,
      name: string,
      nodes: Node[],
      edges: Edge[] = [],
    ): Promise<FlowResponse> {
      return this.publish((await this.draft(app, name, nodes, edges)).id);
    },
    changeNode: (flow: string, node: string, change: object) =>
      call<FlowResponse>("PATCH", `/api/flows/${flow}/nodes/${node}`, change),
    getRun: (id: string) =>
      call<{ status: string; steps: { node_id: string; status: string }[] }>(
        "GET",
        `/api/runs/${id}`,
      ),
    listRuns: (app: string) =>
      call<{ items: { id: string; status: string }[] }>("GET", `/api/runs?app=${app}`),
  };
}
