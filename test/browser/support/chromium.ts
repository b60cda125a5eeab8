/** Starts a Chromium: one that is installed, else the one of the npm package. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const INSTALLED = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** `wrap` can name another program that starts the one that was found. */
export async function launchChromium(wrap = (path: string) => path): Promise<Browser> {
  const installed = INSTALLED.find((path) => path !== undefined && existsSync(path));
  const path = installed ?? (await packagedPath());
  return chromium.launch({
    executablePath: wrap(path),
    // The sandbox of Chromium does not work for root, which tests in containers are.
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
}

/** Its own arguments are for AWS Lambda: among others, one process, which ends with the first page. */
async function packagedPath(): Promise<string> {
  const { default: packaged } = await import("@sparticuz/chromium");
  return packaged.executablePath();
}
