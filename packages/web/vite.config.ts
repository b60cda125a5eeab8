import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type UserConfig } from "vite";
import { thirdPartyLicenses } from "../../scripts/build/third-party-licenses.ts";
import { compress } from "./compress.ts";

/** The hub that `npm run dev` proxies to. */
const HUB = process.env.SIGNALBOX_URL ?? "http://127.0.0.1:4747";
const PROXIED = ["/api", "/mcp", "/webhooks", "/events", "/healthz", "/readyz", "/metrics"];

const licenses = thirdPartyLicenses();

const config: UserConfig = {
  plugins: [react(), tailwindcss(), compress(), licenses],
  worker: { plugins: () => [licenses] },
  // The hub replaces the placeholder with a fresh nonce in every response.
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    // The hub serves these files, and its package contains them.
    outDir: "../hub/dist/web",
    emptyOutDir: true,
    target: "es2023",
    // Inlined assets would need `data:` in the CSP.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  server: {
    proxy: Object.fromEntries(
      PROXIED.map((path) => [path, { target: HUB, changeOrigin: true, ws: path === "/events" }]),
    ),
  },
};

export default defineConfig(({ command }) => {
  // Tests build with NODE_ENV=test, for which Vite would bundle the development build of React.
  if (command === "build") process.env.NODE_ENV = "production";
  return config;
});
