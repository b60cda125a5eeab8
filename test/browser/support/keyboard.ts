import type { Locator, Page } from "playwright-core";

const MAX_STEPS = 200;

const hasFocus = (locator: Locator): Promise<boolean> =>
  locator.evaluateAll((found) => found.some((each) => each === document.activeElement));

/** Moves the focus with Tab only, as a person without a mouse does. */
export async function tabTo(page: Page, locator: Locator): Promise<void> {
  await locator.first().waitFor();
  for (let step = 0; step < MAX_STEPS; step += 1) {
    if (await hasFocus(locator)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${locator}`);
}

/** Replaces the text of the field that has the focus. */
export async function retype(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}
