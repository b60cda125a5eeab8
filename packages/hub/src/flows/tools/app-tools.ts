/**
 * The tools of an app for `tools/list`. Pages are cached until the store announces that the app's tools
 * have changed: agents list tools far more often than people publish flows.
 */

import type { ListToolsResult, Tool } from "@modelcontextprotocol/server";
import type { Notice } from "../../kernel/store/sql.ts";
import type { Store } from "../../store.ts";
import type { StoredApp, StoredTrigger } from "../model.ts";

export interface AppToolsOptions {
  store: Pick<Store, "listTools" | "subscribe">;
  pageSize?: number;
  /** The maximum number of cached pages of all apps. */
  maxPages?: number;
}

export interface AppTools {
  /** Returns the page of tools whose names come after `after`. */
  list(app: StoredApp, after: string): Promise<ListToolsResult>;
  close(): void;
}

/** A page ends early if its tools exceed this size. */
const PAGE_BYTES = 1024 * 1024;
/** The number of tools that are loaded together. It is small, because each tool can be large. */
const BATCH_SIZE = 25;

export function createAppTools({
  store,
  // Large, because clients that read all pages stop after a few dozen pages.
  pageSize = 250,
  maxPages = 200,
}: AppToolsOptions): AppTools {
  /** The most recently used page comes last. */
  const pages = new Map<string, Promise<ListToolsResult>>();
  const keyOf = (tenant: string, slug: string) => `${tenant}\n${slug}\n`;

  const onNotice = (notice: Notice) => {
    if (notice.topic === "gap") pages.clear();
    if (notice.topic !== "tools") return;
    const key = keyOf(notice.tenant, notice.app);
    for (const page of pages.keys()) if (page.startsWith(key)) pages.delete(page);
  };
  const unsubscribe = store.subscribe(onNotice, ["tools", "gap"]);

  const read = async ({ tenant, slug }: StoredApp, after: string): Promise<ListToolsResult> => {
    const tools: Tool[] = [];
    let bytes = 0;
    let last = after;
    for (;;) {
      const limit = Math.min(BATCH_SIZE, pageSize - tools.length);
      const triggers = await store.listTools(tenant, slug, last, limit + 1);
      for (const tool of triggers.slice(0, limit).map(toTool)) {
        bytes += JSON.stringify(tool).length;
        if (bytes > PAGE_BYTES && tools.length > 0) return { tools, nextCursor: last };
        tools.push(tool);
        last = tool.name;
      }
      if (triggers.length <= limit) return { tools };
      if (tools.length === pageSize) return { tools, nextCursor: last };
    }
  };

  return {
    list(app, after) {
      const key = keyOf(app.tenant, app.slug) + after;
      // Cached before it is read, so that a change during the read invalidates it.
      const page = pages.get(key) ?? read(app, after);
      pages.delete(key);
      pages.set(key, page);
      page.catch(() => pages.get(key) === page && pages.delete(key));
      if (pages.size > maxPages) pages.delete(pages.keys().next().value as string);
      return page;
    },
    close: unsubscribe,
  };
}

/** The stored config was prepared when the flow was published. */
function toTool({ tool_name, config }: StoredTrigger): Tool {
  const { title, description, inputSchema, outputSchema, annotations } = config as unknown as Tool;
  return {
    name: tool_name as string,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema,
    ...(outputSchema && { outputSchema }),
    ...(annotations && { annotations }),
    execution: { taskSupport: "optional" },
  };
}
