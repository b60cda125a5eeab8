import type { Page, Route } from "playwright-core";
import { expect } from "vitest";

const PROBE = "/is-intercepted";

/**
 * Like `page.route`, for a page that has loaded. After `page.route`, such a page may still send requests that
 * are not intercepted. So this function sends requests until one is intercepted.
 */
export async function intercept(
  page: Page,
  url: string,
  handler: (route: Route) => unknown,
  options?: { times: number },
): Promise<void> {
  await page.route(url, handler, options);
  await page.route(`**${PROBE}`, (route) => route.fulfill({ body: "yes" }));
  const probe = () => page.evaluate(async (path) => (await fetch(path)).text(), PROBE);
  await expect.poll(probe).toBe("yes");
  await page.unroute(`**${PROBE}`);
}
