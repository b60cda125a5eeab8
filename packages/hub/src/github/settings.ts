/** The settings of GitHub and of the GitHub App. */
import { z } from "zod";
import { nonEmpty, setting, url } from "../kernel/settings.ts";

// biome-ignore format: a table
export const githubDefinitions = {
  githubApiUrl: setting({ env: "GITHUB_API_URL", flag: "github-api-url", help: "the URL of GitHub's API", schema: url.default("https://api.github.com") }),
  githubUrl: setting({ env: "GITHUB_URL", flag: "github-url", help: "the URL of GitHub's web site", schema: url.default("https://github.com") }),
  githubAppId: setting({ env: "GITHUB_APP_ID", flag: "github-app-id", help: "the id of your GitHub App", schema: z.preprocess((value) => (typeof value === "number" ? String(value) : value), z.string("must be a string").trim().regex(/^[\w.]+$/, "must be the App ID or the client ID of a GitHub App")).optional() }),
  githubAppPrivateKey: setting({ env: "GITHUB_APP_PRIVATE_KEY", secret: true, help: "the private key of the App: PEM, or the path of a PEM file", schema: nonEmpty.optional() }),
  githubAppSlug: setting({ env: "GITHUB_APP_SLUG", flag: "github-app-slug", help: "the name of the App in URLs, for the link that installs it", schema: z.string("must be a string").trim().regex(/^[a-z0-9-]+$/i, "must be the last part of https://github.com/apps/…").optional() }),
} as const;
