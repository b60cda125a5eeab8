/** The notes of a release, from the subjects of its commits. Pure. */

const SECTIONS: readonly [title: string, types: readonly string[]][] = [
  ["New", ["feat"]],
  ["Fixed", ["fix"]],
  ["Faster", ["perf"]],
  ["Documentation", ["docs"]],
];

/** `feat(ingest)!: subject` is a breaking change. Tests, benchmarks and refactors are left out. */
const SUBJECT = /^(?<type>[a-z]+)(?:\((?<scope>[^)]+)\))?(?<breaking>!)?: (?<text>.+)$/;

export function releaseNotes(subjects: readonly string[]): string {
  const commits = subjects.flatMap((subject) => {
    const { type = "", scope, breaking, text = "" } = SUBJECT.exec(subject)?.groups ?? {};
    const line = `- ${scope ? `**${scope}**: ` : ""}${text}`;
    return text === "" ? [] : [{ type, line, isBreaking: breaking !== undefined }];
  });
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [`## ${title}\n\n${lines.join("\n")}\n`];
  const all = [
    ...section(
      "Breaking changes",
      commits.filter(({ isBreaking }) => isBreaking).map(({ line }) => line),
    ),
    ...SECTIONS.flatMap(([title, types]) =>
      section(
        title,
        commits
          .filter(({ type, isBreaking }) => types.includes(type) && !isBreaking)
          .map(({ line }) => line),
      ),
    ),
  ];
  return all.length === 0 ? "Internal changes only.\n" : all.join("\n");
}
