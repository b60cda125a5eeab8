/** The fenced code blocks and the links of the documentation. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

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

/** The links of a page to files of the repository that do not exist, or to headings that do not exist. */
export function brokenLinksOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)/g)].flatMap(
    ([, path = "", anchor = ""]) => {
      const target = path === "" ? page : join(dirname(page), path);
      const isFound =
        existsSync(join(ROOT, target)) && (anchor === "" || anchorsOf(target).includes(anchor));
      return isFound ? [] : [`${path}${anchor && `#${anchor}`}`];
    },
  );
}

/** The anchors that GitHub generates for the headings of a page. */
const anchorsOf = (page: string): string[] =>
  [...readFileSync(join(ROOT, page), "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/\]\([^)]*\)|[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
