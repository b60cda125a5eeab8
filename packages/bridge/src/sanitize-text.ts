/**
 * Sanitizes untrusted text for a channel message. The result is one line of at most `maxLength`
 * characters, without invisible characters and without characters that could open or close markup, a
 * code fence or a quotation.
 */
export function sanitizeText(text: string, maxLength: number): string {
  // Text far beyond the limit is not processed.
  const line = text
    .slice(0, maxLength * 8)
    .replaceAll(/[\s\u2800]+/gu, " ")
    .replaceAll(HIDDEN, "")
    .replaceAll(/[<＜﹤≮《〈⟨\u2329⟪❬❮❰⦑⧼︽︿˂ᐸᚲ\u{1D236}]/gu, "‹")
    .replaceAll(/[>＞﹥≯》〉⟩\u232A⟫❭❯❱⦒⧽︾﹀˃ᐳ\u{16F3F}\u{1D237}]/gu, "›")
    .replaceAll(/[`"“”„‟″＂´｀ˋ\u1FEFʺˮ❝❞〝〞〟]/gu, "'")
    .replaceAll(/[[［﹇⟦〚❲]/gu, "(")
    .replaceAll(/[\]］﹈⟧〛❳]/gu, ")")
    .replaceAll(/[&＆﹠]/gu, unlessEntity)
    .replaceAll(/[~～]{3,}/gu, "---")
    .replaceAll(MARKS, "$1")
    .replaceAll(/ +/g, " ")
    // A combining mark at the start would change the character before the text.
    .replace(/^[\p{M} ]+/u, "")
    .trimEnd();
  return truncate(line, maxLength);
}

/** A decoder would turn &lt; and &#60 into tags; some do so without the semicolon. */
function unlessEntity(_: string, at: number, line: string): string {
  const decoded = line.slice(at, at + 40).normalize("NFKC");
  return /^&(#|\w+;|lt|gt|amp|quot)/i.test(decoded) ? "+" : "&";
}

/**
 * Characters that can hide text: control and format characters (bidi, zero-width, tags), private use,
 * lone surrogates, fillers and variation selectors.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}\u{1D159}]/gu;

/** More combining marks than any language uses: they would cover the surrounding text. */
const MARKS = /([\p{Mn}\p{Me}]{3})[\p{Mn}\p{Me}]+/gu;

/** Truncates to `maxLength` UTF-16 units without splitting a surrogate pair. */
export function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
