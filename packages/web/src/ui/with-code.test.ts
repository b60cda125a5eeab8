import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { withCode } from "./with-code.ts";

it.each([
  ["`queue`: it waits. `skip`: not", "<p><code>queue</code>: it waits. <code>skip</code>: not</p>"],
  ["no code, one ` only, <b>", "<p>no code, one ` only, &lt;b&gt;</p>"],
])("renders %s", (text, html) =>
  expect(renderToStaticMarkup(createElement("p", null, withCode(text)))).toBe(html),
);
