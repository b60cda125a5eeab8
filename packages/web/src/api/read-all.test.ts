import { afterEach, expect, it, vi } from "vitest";
import { readAll } from "./read-all.ts";

afterEach(() => void vi.unstubAllGlobals());

it("reads page after page, until a page has no next cursor", async () => {
  const urls: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    urls.push(url);
    const pageNumber = urls.length;
    return Response.json({
      items: [pageNumber],
      next_cursor: pageNumber < 3 ? `after ${pageNumber}` : null,
    });
  });
  expect(await readAll("/api/flows", { app: "desk" })).toEqual([1, 2, 3]);
  expect(urls).toEqual([
    "/api/flows?app=desk&limit=100",
    "/api/flows?app=desk&limit=100&cursor=after+1",
    "/api/flows?app=desk&limit=100&cursor=after+2",
  ]);
});
