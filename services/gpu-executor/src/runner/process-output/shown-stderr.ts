import type { OperatorCommand } from '../operator-command.ts';

/** Bytes of standard error in the message of an error. With the sentence before it, it fits into an event. */
const MAX_SHOWN_BYTES = 1024;
/** A shorter value is no secret, and may be a part of any word. */
const MIN_HIDDEN_LENGTH = 6;

/** The folders of the executor, by the names that stand for them. */
export type NamedFolders = Readonly<Record<string, string>>;

/** Puts names in the place of the executor's folders, and of the values that its operator gave to the program. */
export const hidingValues = (
  { env }: Pick<OperatorCommand, 'env'>,
  folders: NamedFolders,
): ((text: string) => string) => {
  const hidden = [
    ...Object.entries(folders),
    ...Object.entries(env).filter(([, value]) => value.length >= MIN_HIDDEN_LENGTH),
  ].toSorted(([, a], [, b]) => b.length - a.length);
  return (text) => hidden.reduce((rest, [name, value]) => rest.replaceAll(value, `$${name}`), text);
};

/** The last lines that a program wrote, without empty ones. `tail` begins anywhere in a line. */
export const shownStderr = (tail: string): string =>
  lastLines(tail.split('\n').filter((line) => line.trim() !== ''));

/** As many as fit, or the end of a single line that does not fit. */
const lastLines = (lines: readonly string[]): string => {
  let room = MAX_SHOWN_BYTES;
  const tooMany = lines.findLastIndex((line) => (room -= Buffer.byteLength(line) + 1) < 0);
  const fitting = lines.slice(tooMany + 1);
  return fitting.length > 0 ? fitting.join('\n') : endOf(lines.at(-1) ?? '');
};

const endOf = (line: string): string => {
  let room = MAX_SHOWN_BYTES;
  const characters = Array.from(line);
  const over = characters.findLastIndex((character) => (room -= Buffer.byteLength(character)) < 0);
  return characters.slice(over + 1).join('');
};
