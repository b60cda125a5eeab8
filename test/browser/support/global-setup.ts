import { findChromium } from "./find-chromium.ts";

/** Unpacks or installs Chromium once, before several files need it. */
export default function setup(): void {
  process.env.CHROMIUM ??= findChromium();
}
