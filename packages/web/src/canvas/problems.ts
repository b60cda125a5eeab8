/** The errors and warnings of a flow, by node. */

import type { Flow } from "@signalbox/contract";
import { useMemo, useRef } from "react";
import type { NodeProblem } from "./canvas-context.ts";
import { isEqual } from "./equal.ts";

type Findings = Pick<Flow, "errors" | "warnings">;

/** Every save returns errors and warnings. If they are equal to the last ones, the result is the same object, so that no tile is rendered again. */
export function useProblems({ errors, warnings }: Findings): ReadonlyMap<string, NodeProblem[]> {
  const latest = useRef<Findings>({ errors, warnings });
  if (!isEqual(latest.current, { errors, warnings })) latest.current = { errors, warnings };
  const { current } = latest;
  return useMemo(() => problemsOf(current), [current]);
}

function problemsOf({ errors, warnings }: Findings): Map<string, NodeProblem[]> {
  const findings = [
    ...errors.map((each) => ({ ...each, isError: true })),
    ...warnings.map((each) => ({ ...each, isError: false })),
  ];
  const problems = new Map<string, NodeProblem[]>();
  for (const { node_id, message, problem = message, path, isError } of findings) {
    // The tile shows the name of the node already.
    const text = path === undefined ? problem : `${path}: ${problem}`;
    if (node_id)
      problems.set(node_id, [...(problems.get(node_id) ?? []), { message, text, isError }]);
  }
  return problems;
}
