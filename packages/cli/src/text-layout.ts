/** Fits text into the width of a terminal. */

/** Matches characters that take two columns. An approximation: most emoji, and the scripts of East Asia. */
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;
const widthOf = (character: string): number => (WIDE.test(character) ? 2 : 1);

/** The number of terminal columns that the text takes. */
export const displayWidth = (text: string): number =>
  [...text].reduce((sum, character) => sum + widthOf(character), 0);

/** Replaces control characters: in untrusted text, they could change what a terminal shows. */
export const toPrintable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ");

/** Cuts the text to `width` columns. The last character of a cut text is an ellipsis. */
export function clip(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let clipped = "";
  let columns = 0;
  for (const character of text) {
    columns += widthOf(character);
    if (columns >= width) break;
    clipped += character;
  }
  return `${clipped}…`;
}

export const pad = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - displayWidth(text)));

/** Breaks paragraphs between words into lines of at most `width` columns. */
export const wrap = (text: string, width: number): string[] =>
  text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    let line = "";
    for (const word of paragraph.split(" ")) {
      const extended = line === "" ? word : `${line} ${word}`;
      if (line !== "" && displayWidth(extended) > width) {
        lines.push(line);
        line = word;
      } else line = extended;
    }
    return [...lines, line];
  });
