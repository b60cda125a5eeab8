/** The errors and warnings of a flow, by node. */
import { useMemo, useRef } from "react";
import type { Flow } from "../api/types.ts";
import type { Problem } from "./canvas-context.ts";
import { isEqual } from "./equal.ts";

type Findings = Pick<Flow, "errors" | "warnings">;

/** Every save returns them: if they are the same as before, no tile is drawn again. */
export function useProblems({ errors, warnings }: Findings): ReadonlyMap<string, Problem[]> {
  const known = useRef<Findings>({ errors, warnings });
  if (!isEqual(known.current, { errors, warnings })) known.current = { errors, warnings };
  const { current } = known;
  return useMemo(() => problemsOf(current), [current]);
}

function problemsOf({ errors, warnings }: Findings): Map<string, Problem[]> {
  const found = [
    ...errors.map((each) => ({ ...each, isError: true })),
    ...warnings.map((each) => ({ ...each, isError: false })),
  ];
  const problems = new Map<string, Problem[]>();
  for (const { nodeId, message, isError } of found)
    if (nodeId) problems.set(nodeId, [...(problems.get(nodeId) ?? []), { message, isError }]);
  return problems;
}
