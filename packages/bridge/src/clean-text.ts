/**
 * Words of strangers, made fit to stand in a channel message. When this returns, the text is one
 * line, no longer than asked, without a character that hides or that could close or open the
 * channel's own markup, a code fence or a quotation.
 */
export function cleanText(text: string, most: number): string {
  // What lies far beyond the cap is not worth the work.
  const line = text
    .slice(0, most * 8)
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
    // A mark at the beginning would change what stands before the text.
    .replace(/^[\p{M} ]+/u, "")
    .trimEnd();
  return cap(line, most);
}

/** &lt; and &#60 would be tags again for whoever decodes them; some do so without the semicolon. */
function unlessEntity(_: string, at: number, line: string): string {
  const read = line.slice(at, at + 40).normalize("NFKC");
  return /^&(#|\w+;|lt|gt|amp|quot)/i.test(read) ? "+" : "&";
}

/**
 * Control and formatting characters (bidi, zero-width, the invisible "tag" letters), private and
 * lone surrogates, and all that shows nothing (fillers, the variation selectors), in which text
 * can be smuggled past the eye.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}\u{1D159}]/gu;

/** More marks on one letter than any language has: they would be drawn over what is around it. */
const MARKS = /([\p{Mn}\p{Me}]{3})[\p{Mn}\p{Me}]+/gu;

/** At most so many UTF-16 units, never half a character. */
export function cap(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
