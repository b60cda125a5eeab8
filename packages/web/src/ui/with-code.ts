import { createElement, Fragment, type ReactNode } from "react";

/** Renders names in backticks as `<code>`. */
export function withCode(text: string): ReactNode {
  const parts = text
    .split(/`([^`]+)`/)
    .map((part, nth) => (nth % 2 === 1 ? createElement("code", null, part) : part));
  // As arguments, the parts need no keys.
  return createElement(Fragment, null, ...parts);
}
