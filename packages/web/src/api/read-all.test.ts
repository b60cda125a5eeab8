import { afterEach, expect, it, vi } from "vitest";
import { readAll } from "./read-all.ts";

afterEach(() => void vi.unstubAllGlobals());

it("reads page after page, and ends", async () => {
  const urls: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    urls.push(url);
    const nth = urls.length;
    return Response.json({ items: [nth], next_cursor: nth < 3 ? `after ${nth}` : null });
  });
  expect(await readAll("/api/flows", { app: "desk" })).toEqual([1, 2, 3]);
  expect(urls).toEqual([
    "/api/flows?app=desk&limit=100",
    "/api/flows?app=desk&limit=100&cursor=after+1",
    "/api/flows?app=desk&limit=100&cursor=after+2",
  ]);
});
