import { CommandError } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['s', 1],
  ['m', 60],
  ['h', 3_600],
  ['d', 86_400],
]);

/** The seconds of `90`, `90s`, `15m`, `2h` or `30d`; undefined for a missing option. @throws CommandError */
export const secondsOf = (option: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const [, number = '', unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?)([smhd]?)$/.exec(text) ?? [];
  if (number !== '') return Number(number) * (UNITS.get(unit) ?? 1);
  throw new CommandError(
    `${option} ${plain(text)} is not a time. Write seconds, or a number with s, m, h or d, such as 15m.`,
  );
};

/** Undefined for a missing option. @throws CommandError */
export const wholeNumber = (option: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new CommandError(`${option} ${plain(text)} is not a whole number.`);
};

/** Undefined for a missing option. @throws CommandError */
export const decimalNumber = (option: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (/^-?\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Number(text);
  throw new CommandError(`${option} ${plain(text)} is not a number.`);
};

/** @throws CommandError */
export const wholeNumberIn = (
  option: string,
  text: string,
  { least, most }: { readonly least: number; readonly most: number },
): number => {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (number >= least && number <= most) return number;
  throw new CommandError(`${option} ${plain(text)} is not a whole number from ${least} to ${most}.`);
};
