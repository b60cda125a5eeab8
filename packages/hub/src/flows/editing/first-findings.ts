import { MAX_FINDINGS } from "../../kernel/lib/limits.ts";

/** The first findings about a flow; the last entry counts the others. */
export function firstFindings<Finding extends { message: string }>(
  findings: readonly Finding[],
): (Finding | { code: "more"; message: string })[] {
  const omitted = findings.length - MAX_FINDINGS;
  if (omitted <= 0) return [...findings];
  const message = `and ${omitted.toLocaleString("en")} more`;
  return [...findings.slice(0, MAX_FINDINGS), { code: "more", message }];
}
