/** Styles text with colors if stdout is a terminal and NO_COLOR is not set. */
const isColored = process.stdout.isTTY === true && !process.env.NO_COLOR;
const paint = (code: number, end: number) => (text: string) =>
  isColored ? `\u001b[${code}m${text}\u001b[${end}m` : text;

export const bold = paint(1, 22);
export const dim = paint(2, 22);
export const green = paint(32, 39);
export const yellow = paint(33, 39);
export const red = paint(31, 39);
export const cyan = paint(36, 39);
