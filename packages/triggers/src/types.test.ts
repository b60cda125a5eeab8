/** Tests which calls the compiler accepts and rejects. The function `compile` is never called. */
import { McpServer } from "@modelcontextprotocol/server";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";
import { createTriggers, defineTrigger } from "./index.ts";

const push = defineTrigger({
  type: "push",
  description: "A push.",
  params: z.object({
    branch: z.string(),
    count: z.number().optional(),
    area: z.enum(["ui", "api"]).default("ui"),
  }),
  payload: z.object({ branch: z.string(), title: z.string().default("") }),
  sample: { branch: "main" },
  matches: (params, data) => params.branch === data.branch && data.title !== "",
  onSubscribe({ params, connectionId }) {
    expectTypeOf(params).toEqualTypeOf<{
      branch: string;
      count?: number | undefined;
      area?: "ui" | "api";
    }>();
    expectTypeOf(connectionId).toEqualTypeOf<string>();
  },
});

const compile = () => {
  const triggers = createTriggers({
    definitions: [
      {
        type: "issue.opened",
        description: "A new issue.",
        params: z.object({ repo: z.string() }),
        payload: z.object({ repo: z.string(), title: z.string().default("") }),
        onSubscribe: ({ params }) => console.log(params.repo),
      },
      { type: "tick", description: "Now and then." },
      push,
    ],
  });
  triggers.notify("c", "issue.opened", { repo: "a/b" });
  triggers.notify("c", "tick", { anything: true });
  triggers.notify("c", "push", { branch: "main" }, { id: "1" });
  // @ts-expect-error: an unknown type
  triggers.notify("c", "issue.closed", {});
  // @ts-expect-error: repo is missing
  triggers.notify("c", "issue.opened", { title: "x" });
  // @ts-expect-error: repo must be a string
  triggers.notify("c", "issue.opened", { repo: 1 });
  // @ts-expect-error: branch is missing
  triggers.notify("c", "push", {});
  // @ts-expect-error: data must be an object
  triggers.notify("c", "tick", "now");
  // @ts-expect-error: the sample does not match the payload
  defineTrigger({ type: "a", description: "", payload: z.object({ n: z.number() }), sample: {} });
  // test/stories/triggers-package.test.ts compiles this for version 1 too, with one copy of Zod.
  for (const { name, config, handler } of triggers.tools())
    new McpServer({ name: "test", version: "1.0.0" }).registerTool(name, config, handler);
};

it("infers the types of notify, hooks and tools from the definitions", () => {
  expectTypeOf(compile).toBeFunction();
});
