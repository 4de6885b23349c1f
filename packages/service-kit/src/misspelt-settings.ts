import { distance } from 'fastest-levenshtein';
import type { Environment } from './config.ts';

/** A variable of the environment that is no setting, and almost has the name of one. */
interface MisspeltSetting {
  readonly variable: string;
  /** The setting that was probably meant. */
  readonly meant: string;
}

/** The names of other programs may differ in a letter, such as HTTP_PROXY and HTTPS_PROXY. */
const OF_RUNLEDGER = /^(?:RUNLEDGER|EXECUTOR)_/;
/** Two letters in the wrong order are two changes. */
const MAX_CHANGES = 2;

/** Variables that are set, and that nothing reads because of a slip: nobody would be told otherwise. */
export const misspeltSettings = (settings: readonly string[], env: Environment): MisspeltSetting[] => {
  const known = new Set(settings);
  const own = settings.filter((name) => OF_RUNLEDGER.test(name));
  return Object.keys(env)
    .filter((variable) => env[variable] !== undefined && !known.has(variable))
    .flatMap((variable) => {
      const meant = nearestOf(own, variable);
      return meant === undefined ? [] : [{ variable, meant }];
    })
    .toSorted((one, other) => one.variable.localeCompare(other.variable));
};

const nearestOf = (settings: readonly string[], variable: string): string | undefined => {
  let nearest: { readonly name: string; readonly changes: number } | undefined;
  for (const name of settings) {
    const changes = distance(name, variable);
    if (changes <= MAX_CHANGES && changes < (nearest?.changes ?? Infinity)) nearest = { name, changes };
  }
  return nearest?.name;
};

export const misspeltSentence = ({ variable, meant }: MisspeltSetting): string =>
  `${variable} is no setting, and nothing reads it. Is ${meant} meant?`;
