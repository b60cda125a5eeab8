import type { Locator, Page } from "playwright-core";

const MAX_TABS = 200;

const hasFocus = (locator: Locator): Promise<boolean> =>
  locator.evaluateAll((elements) => elements.some((element) => element === document.activeElement));

/** Presses Tab until the element has the focus. */
export async function tabTo(page: Page, locator: Locator): Promise<void> {
  await locator.first().waitFor();
  for (let step = 0; step < MAX_TABS; step += 1) {
    if (await hasFocus(locator)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${MAX_TABS} presses of Tab do not reach ${locator}`);
}

/** Replaces the text of the field that has the focus. */
export async function retype(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}
