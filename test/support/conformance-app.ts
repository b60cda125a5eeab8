/** Creates an app with those tools of the MCP conformance suite that a flow can implement. */
import { createFlowMaker, intent, type Node, returns, waits } from "./flow-maker.ts";

const code = (id: string, text: string): Node => ({
  id,
  type: "Code",
  name: id,
  parameters: { code: text },
});

const flows: Node[][] = [
  [intent("go", "test_simple_text"), returns("end", "This is a simple text response for testing.")],
  [intent("go", "test_error_handling"), code("fail", "throw new Error('for testing')")],
  [intent("go", "test_tool_with_progress"), code("step", "return 1"), returns("end", "Done.")],
  [intent("go", "test_logging_tool"), returns("end", "Nothing was logged.")],
  [intent("go", "test_streaming_elicitation"), returns("end", "Nothing was asked.")],
  [intent("go", "greet", [{ name: "name" }]), returns("end", "Hello, {{ trigger.name }}!")],
  [
    intent("go", "slow_compute", [{ name: "seconds", type: "number" }, { name: "label" }]),
    waits("wait", "{{ trigger.seconds }}"),
    returns("end", "{{ trigger.label }}"),
  ],
  [intent("go", "failing_job"), waits("wait", 1), code("fail", "throw new Error('no')")],
];

/** Returns the URL of the app's MCP server. */
export async function createConformanceApp(hubUrl: string, token: string): Promise<string> {
  const make = createFlowMaker(hubUrl, token);
  const { mcp_path } = await make.app("conformance");
  for (const nodes of flows) {
    const ids = nodes.map(({ id }) => id);
    const edges = ids.slice(1).map((id, at): [string, string] => [ids[at] as string, id]);
    await make.flow("conformance", nodes[0]?.name as string, nodes, edges);
  }
  return `${hubUrl}${mcp_path}`;
}
