/**
 * Words of strangers, made fit to stand in a channel message. When this returns, the text is one
 * line, no longer than asked, without a character that hides or that could close or open the
 * channel's own markup, a code fence or a quotation.
 */
export function cleanText(text: string, most: number): string {
  // What lies far beyond the cap is not worth the work.
  const line = text
    .slice(0, most * 8)
    .replaceAll(/\s+/gu, " ")
    .replaceAll(HIDDEN, "")
    .replaceAll(/[<＜﹤《〈⟨]/gu, "‹")
    .replaceAll(/[>＞﹥》〉⟩]/gu, "›")
    .replaceAll(/[`"“”„＂´｀]/gu, "'")
    .replaceAll(/[[［]/gu, "(")
    .replaceAll(/[\]］]/gu, ")")
    // &lt; and &#60; would be tags again for whoever decodes them.
    .replaceAll(/&(?=#?\w+;)/gu, "+")
    .replaceAll("~~~", "---")
    .replaceAll(/ +/g, " ")
    .trim();
  return cap(line, most);
}

/**
 * Control and formatting characters (bidi, zero-width, the invisible "tag" letters), private and
 * lone surrogates, and the variation selectors, in which text can be smuggled past the eye.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Variation_Selector}]/gu;

/** At most so many UTF-16 units, never half a character. */
export function cap(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
