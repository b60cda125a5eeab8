import { createElement, Fragment, type ReactNode } from "react";

/** Renders names in backticks as `<code>`. */
export function withCode(text: string): ReactNode {
  const parts = text
    .split(/`([^`]+)`/)
    .map((part, index) => (index % 2 === 1 ? createElement("code", null, part) : part));
  // Children need no keys if they are separate arguments.
  return createElement(Fragment, null, ...parts);
}
