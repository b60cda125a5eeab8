import { type Browser, chromium } from "playwright-core";
import { findChromium } from "./find-chromium.ts";

/** `wrap` can name another program that starts the one that was found. */
export async function launchChromium(wrap = (path: string) => path): Promise<Browser> {
  return chromium.launch({
    executablePath: wrap(process.env.CHROMIUM ?? findChromium()),
    // The sandbox of Chromium does not work for root, which tests in containers are.
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
}
