/** Waits for every incoming branch that the run takes, and combines their outputs. */
import { z } from "zod";
import { type JsonObject, setOwn } from "../../json.ts";
import { defineNode } from "../node-type.ts";

const config = z.strictObject({
  combine: z
    .enum(["object", "list", "first"])
    .default("object")
    .describe(
      "`object`: the outputs by slug; `list`: the outputs in the order of the edges; `first`: the first output in this order.",
    ),
});

export const merge = defineNode({
  type: "Merge",
  title: "Merge",
  description: "Waits for several branches, and combines their outputs.",
  icon: "Merge",
  kind: "logic",
  isPure: true,
  config,
  ports: { in: ["in"], out: ["out"] },
  sample: {
    config: { combine: "object" },
    inputs: [
      { slug: "fetch", port: "in", output: { status: 200 } },
      { slug: "clean", port: "in", output: "ok" },
    ],
    result: { output: { fetch: { status: 200 }, clean: "ok" } },
    rejects: { config: { combine: "zip" }, path: "combine" },
  },
  run({ config: { combine }, inputs }) {
    const outputs = inputs.map(({ output }) => output);
    if (combine === "list") return { output: outputs };
    if (combine === "first") return { output: outputs[0] ?? null };
    const merged: JsonObject = {};
    for (const { slug, output } of inputs) setOwn(merged, slug, output);
    return { output: merged };
  },
});
