import { MIN_SECRET_LENGTH } from '@runledger/contracts/limits';
import type { MaskText } from '@runledger/contracts/logs/log-masks';

const MASK = '***';

/** Replaces these texts, each line of them, and their usual forms: in JSON, in a URL, and in base64. */
export const maskValues = (values: readonly string[]): MaskText => {
  const forms = values.flatMap((value) => [value, ...value.split(/\r?\n/)]).flatMap(formsOf);
  const long = forms.filter(({ length }) => length >= MIN_SECRET_LENGTH);
  // The longest first: one may be part of another.
  const hidden = [...new Set(long)].toSorted((a, b) => b.length - a.length);
  return (text) => hidden.reduce((rest, form) => rest.replaceAll(form, MASK), text);
};

const formsOf = (text: string): string[] => [
  text,
  JSON.stringify(text).slice(1, -1),
  encodeURIComponent(text.toWellFormed()),
  Buffer.from(text).toString('base64'),
  Buffer.from(text).toString('base64url'),
];
