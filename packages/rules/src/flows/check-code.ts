/** Warns of code that refers to nodes that do not exist. */
import { codeReferences } from "./code-references.ts";
import { type Finding, fieldFinding, type WarningCode } from "./finding.ts";
import type { ResolvedFlow } from "./resolved-flow.ts";

export function checkCode({
  flow,
  definition,
  findAnalysis,
}: ResolvedFlow): Finding<WarningCode>[] {
  const existingSlugs = new Set(flow.nodes.map(({ slug }) => slug));
  return flow.nodes.flatMap((node) => {
    const { field = "", slugs = [] } = codeReferences(node, definition(node), findAnalysis) ?? {};
    return slugs
      .filter((slug) => !existingSlugs.has(slug))
      .map((slug) =>
        fieldFinding(
          "unknown_node_in_code",
          node,
          field,
          `nodes.${slug} refers to an unknown node. If the node was renamed, change the code too`,
        ),
      );
  });
}
