import { styleText } from 'node:util';

/** What a text means, which a terminal shows by a colour. */
export type Meaning = 'good' | 'bad' | 'warning' | 'going' | 'head';

const STYLES = {
  good: 'green',
  bad: 'red',
  warning: 'yellow',
  going: 'cyan',
  head: 'bold',
} as const satisfies Readonly<Record<Meaning, string>>;

export const coloured = (meaning: Meaning, text: string): string =>
  // Whether there are colours was decided before.
  styleText(STYLES[meaning], text, { validateStream: false });

/** Statuses and states of all kinds of records. Any other one has no colour. */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map([
  ['success', 'good'],
  ['ready', 'good'],
  ['failed', 'bad'],
  ['open', 'bad'],
  ['probing', 'warning'],
  ['timeout', 'bad'],
  ['refused', 'bad'],
  ['absent', 'bad'],
  ['unresponsive', 'bad'],
  ['cancelled', 'warning'],
  ['draining', 'warning'],
  ['deferred', 'warning'],
  ['skipped', 'warning'],
  ['missed', 'warning'],
  ['paused', 'warning'],
  ['started', 'going'],
  ['running', 'going'],
  ['uploading', 'going'],
]);

/** Of the first word of a text, such as `failed (workflow_error) after 1.6 s`. */
export const meaningOf = (text: string): Meaning | undefined => MEANINGS.get(/^[\w-]*/.exec(text)?.[0] ?? '');

interface Output {
  readonly isTTY?: boolean;
  readonly hasColors?: (env: object) => boolean;
}

/** NO_COLOR wins over a terminal, FORCE_COLOR over both, as in Node itself. */
export const hasColours = (
  { isTTY = false, hasColors }: Output,
  env: Readonly<Record<string, string | undefined>>,
): boolean => {
  const { FORCE_COLOR: forced, NO_COLOR: none } = env;
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  return isTTY && !none && (hasColors?.(env) ?? true);
};
