/**
 * A text without what a search ignores: upper and lower case, forms of one character (NFKC), and how it is spaced. Line ends and control
 * characters become spaces, so nothing in it ends a line. A final sigma is a sigma. At most `most` UTF-16 units of the text are read, and as many
 * are given: some characters become several.
 */
export const foldedText = (text: string, most: number): string => {
  const part = text.slice(0, most);
  // Most texts of a run are plain, and every write of a view folds them. The steps below change nothing else of these.
  if (PLAIN.test(part)) return part.toLowerCase();
  return part
    .toWellFormed()
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll(SPACES, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed();
};

/** Characters of ASCII, with one space between two others. */
const PLAIN = /^(?:[\x21-\x7e]+(?: [\x21-\x7e]+)*)?$/;

// Control characters are spaces here: NUL would end an expression of MongoDB.
// oxlint-disable-next-line no-control-regex
const SPACES = /[\s\u0000-\u001f\u007f-\u009f]+/gu;
