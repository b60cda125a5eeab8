import type { Json } from "@signalbox/rules/json.ts";
import { expect, it } from "vitest";
import { findFirstTools } from "./first-tools.ts";

const intent = (id: string, parameters: Json = {}) => ({ id, type: "UserIntent", parameters });

it.each<Json>([false, 0, "0", "false"])("ignores a tool whose isActive is %j", (isActive) => {
  const nodes = [intent("off", { isActive }), intent("first"), intent("second")];
  expect([...findFirstTools([{ id: 7, nodes }])]).toEqual([["7", "first"]]);
  expect(findFirstTools([{ id: 7, nodes: nodes.slice(0, 2) }]).size).toBe(0);
});
