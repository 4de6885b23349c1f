import { isIntegerText } from './exact-number.ts';
import { rewrittenNumbers } from './rewritten-numbers.ts';

/**
 * A value as an answer has it, for clients that read numbers as doubles: JSON in which an integer that a double would change is a string of
 * its digits. `4.0` stays as it is, and so does a fraction of many digits.
 */
export const answerJson = (value: unknown): string => withLongIntegersAsTexts(JSON.stringify(value));

/** The same of a JSON text. */
export const withLongIntegersAsTexts = (json: string): string => {
  const pieces: string[] = [];
  let from = 0;
  for (const { text, index } of rewrittenNumbers(json)) {
    if (!isIntegerText(text)) continue;
    pieces.push(json.slice(from, index), `"${text}"`);
    from = index + text.length;
  }
  return from === 0 ? json : pieces.join('') + json.slice(from);
};
