/** The fenced code blocks of the documentation. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");

export interface Block {
  /** The path of the page in the repository. */
  page: string;
  /** The line of the opening fence. */
  line: number;
  language: string;
  text: string;
  /** The first line of the text. */
  title: string;
}

/** Every Markdown file of the repository, except the decisions, which describe the past. */
export function listPages(): string[] {
  const pagesIn = (folder: string) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name));
  const packages = readdirSync(join(ROOT, "packages")).map((name) => join("packages", name));
  return [".", "docs", "examples", ...packages].flatMap(pagesIn);
}

export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/^( *)```(\w*).*\n([\s\S]*?)^ *```$/gm)].map((match) => {
    const [, indent = "", language = "", indented = ""] = match;
    const content = indented.replaceAll(new RegExp(`^${indent}`, "gm"), "");
    return {
      page,
      line: text.slice(0, match.index).split("\n").length,
      language,
      text: content,
      title: content.split("\n", 1)[0] ?? "",
    };
  });
}
