import { type Browser, chromium } from "playwright-core";
import { findChromium } from "./find-chromium.ts";

/** Starts Chromium. `wrap` can return the path of another program that starts the Chromium at `path`. */
export async function launchChromium(wrap = (path: string) => path): Promise<Browser> {
  return chromium.launch({
    executablePath: wrap(process.env.CHROMIUM ?? findChromium()),
    // The sandbox of Chromium does not work for root, as which tests in containers run.
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
}
